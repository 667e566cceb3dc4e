-- The part of each staged summary's total that its known actions already date.
UPDATE market.award w SET explained = coalesce(dated.total, 0)
FROM (
    SELECT a.award_key, sum(a.obligated) FILTER (WHERE a.action_date <= s.summary_date) AS total
    FROM (SELECT award_key, max(summary_date) AS summary_date FROM stage GROUP BY award_key) s
    JOIN market.action a ON a.tenant_id = $1 AND a.award_key = s.award_key
    GROUP BY a.award_key
) dated
WHERE w.tenant_id = $1 AND w.award_key = dated.award_key
  AND w.explained IS DISTINCT FROM coalesce(dated.total, 0)
