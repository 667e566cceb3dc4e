-- The part of each staged summary's total that its known actions already date.
WITH dated AS (
    SELECT s.award_key, sum(a.obligated) FILTER (WHERE a.action_date <= w.summary_date) AS total
    FROM (SELECT DISTINCT award_key FROM stage) s
    CROSS JOIN LATERAL (
        SELECT obligated, action_date FROM market.action x WHERE x.tenant_id = $1 AND x.award_key = s.award_key OFFSET 0
    ) a
    CROSS JOIN LATERAL (
        SELECT summary_date FROM market.award x WHERE x.tenant_id = $1 AND x.award_key = s.award_key OFFSET 0
    ) w
    GROUP BY s.award_key
)
INSERT INTO market.award AS w (tenant_id, award_key, explained)
SELECT $1, award_key, coalesce(total, 0) FROM dated
ON CONFLICT (tenant_id, award_key) DO UPDATE SET explained = excluded.explained
WHERE w.explained <> excluded.explained
