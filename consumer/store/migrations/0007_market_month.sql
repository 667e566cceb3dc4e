-- The market by month: what a sum over a window reads, so that its cost follows the vendors and months of a market and
-- not its awards. Triggers keep it right in the transaction that changes an award or an action; every number in it can
-- be added and taken away again, so nothing is ever recomputed.
--
-- An award counts in the month of its latest action: in a window that ends today it is then counted if and only if it
-- had an action in the window.

CREATE TABLE market.month (
    tenant_id       uuid NOT NULL,
    month           date NOT NULL,
    agency          text,
    subagency       text,
    vendor          text,
    uei             text,
    naics           text,
    set_aside       text,
    extent_competed text,
    obligated       numeric(24, 2) NOT NULL,
    awards          bigint NOT NULL,
    single_offers   bigint NOT NULL,
    several_offers  bigint NOT NULL,
    agency_key      text GENERATED ALWAYS AS (upper(agency)) STORED,
    subagency_key   text GENERATED ALWAYS AS (upper(subagency)) STORED,
    vendor_key      text GENERATED ALWAYS AS (coalesce(uei, upper(vendor))) STORED,
    UNIQUE NULLS NOT DISTINCT (tenant_id, month, subagency, naics, uei, vendor, agency, set_aside, extent_competed)
);
COMMENT ON TABLE market.month IS 'Contracts and orders by month, agency, vendor, code, set aside and competition; kept by triggers.';

CREATE INDEX month_by_agency    ON market.month (tenant_id, agency_key, naics, month);
CREATE INDEX month_by_subagency ON market.month (tenant_id, subagency_key, naics, month);
CREATE INDEX month_by_naics     ON market.month (tenant_id, naics, month);
CREATE INDEX month_by_vendor    ON market.month (tenant_id, vendor_key, month);

SELECT planner.shared_table('market.month');
GRANT SELECT ON market.month TO planner_worker;
GRANT SELECT, INSERT, UPDATE ON market.month TO planner_loader;

CREATE FUNCTION market.parts(kind text, summary_date date, unexplained numeric, latest_date date, offers integer)
RETURNS TABLE (day date, obligated numeric, awards integer, single_offers integer, several_offers integer)
LANGUAGE sql IMMUTABLE AS $$
    SELECT part.day, part.obligated, part.awards, part.single_offers, part.several_offers
    FROM (VALUES (summary_date, unexplained, 0, 0, 0),
                 (latest_date, 0, 1, CASE WHEN offers = 1 THEN 1 ELSE 0 END, CASE WHEN offers > 1 THEN 1 ELSE 0 END)
         ) part (day, obligated, awards, single_offers, several_offers)
    WHERE kind = 'contract' AND part.day IS NOT NULL
$$;
COMMENT ON FUNCTION market.parts IS 'What one award adds to which months.';

-- `come` and `gone` are the rows of the statement as they are and as they were.
CREATE FUNCTION market.keep_months() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    rows text := CASE TG_OP
        WHEN 'INSERT' THEN 'SELECT 1 AS sign, * FROM come'
        WHEN 'DELETE' THEN 'SELECT -1 AS sign, * FROM gone'
        ELSE 'SELECT 1 AS sign, * FROM come UNION ALL SELECT -1, * FROM gone' END;
    parts text := CASE TG_TABLE_NAME
        WHEN 'award' THEN 'market.parts(r.kind, r.summary_date, r.obligated - r.explained, r.latest_date, r.offers)'
        ELSE '(SELECT r.action_date AS day, r.obligated, 0 AS awards, 0 AS single_offers, 0 AS several_offers'
             ' WHERE r.kind = ''contract'')' END;
BEGIN
    EXECUTE format($query$
        INSERT INTO market.month AS m
            (tenant_id, month, agency, subagency, vendor, uei, naics, set_aside, extent_competed,
             obligated, awards, single_offers, several_offers)
        SELECT r.tenant_id, date_trunc('month', p.day::timestamp)::date, r.agency, r.subagency, r.vendor, r.uei, r.naics,
               r.set_aside, r.extent_competed, sum(r.sign * p.obligated), sum(r.sign * p.awards),
               sum(r.sign * p.single_offers), sum(r.sign * p.several_offers)
        FROM (%s) r CROSS JOIN LATERAL %s p
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
        HAVING sum(r.sign * p.obligated) <> 0 OR sum(r.sign * p.awards) <> 0
            OR sum(r.sign * p.single_offers) <> 0 OR sum(r.sign * p.several_offers) <> 0
        ON CONFLICT (tenant_id, month, subagency, naics, uei, vendor, agency, set_aside, extent_competed) DO UPDATE SET
            obligated = m.obligated + excluded.obligated,
            awards = m.awards + excluded.awards,
            single_offers = m.single_offers + excluded.single_offers,
            several_offers = m.several_offers + excluded.several_offers
    $query$, rows, parts);
    RETURN NULL;
END $$;

ALTER FUNCTION market.parts(text, date, numeric, date, integer) OWNER TO planner_owner;
ALTER FUNCTION market.keep_months() OWNER TO planner_owner;
GRANT EXECUTE ON FUNCTION market.parts(text, date, numeric, date, integer) TO planner_worker, planner_loader;
GRANT EXECUTE ON FUNCTION market.keep_months() TO planner_loader;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['award', 'action'] LOOP
        EXECUTE format('CREATE TRIGGER months_of_new AFTER INSERT ON market.%I REFERENCING NEW TABLE AS come '
                       'FOR EACH STATEMENT EXECUTE FUNCTION market.keep_months()', name);
        EXECUTE format('CREATE TRIGGER months_of_changed AFTER UPDATE ON market.%I REFERENCING OLD TABLE AS gone NEW TABLE AS come '
                       'FOR EACH STATEMENT EXECUTE FUNCTION market.keep_months()', name);
        EXECUTE format('CREATE TRIGGER months_of_removed AFTER DELETE ON market.%I REFERENCING OLD TABLE AS gone '
                       'FOR EACH STATEMENT EXECUTE FUNCTION market.keep_months()', name);
    END LOOP;
END $$;

-- What a tenant sees of it: where it loaded an award of its own that is public as well, the public one's parts are taken
-- off again. The list of own keys is empty for most tenants.
CREATE VIEW market.monthly WITH (security_invoker = true) AS
SELECT tenant_id, month, agency, subagency, agency_key, subagency_key, vendor, uei, vendor_key, naics, set_aside,
       extent_competed, obligated, awards, single_offers, several_offers
FROM market.month
UNION ALL
SELECT a.tenant_id, date_trunc('month', p.day::timestamp)::date, a.agency, a.subagency, a.agency_key, a.subagency_key,
       a.vendor, a.uei, a.vendor_key, a.naics, a.set_aside, a.extent_competed,
       0 - p.obligated, 0 - p.awards, 0 - p.single_offers, 0 - p.several_offers
FROM market.award own
JOIN market.award a ON a.tenant_id = '00000000-0000-0000-0000-000000000000' AND a.award_key = own.award_key
CROSS JOIN LATERAL market.parts(a.kind, a.summary_date, a.obligated - a.explained, a.latest_date, a.offers) p
WHERE own.tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid
  AND own.tenant_id <> '00000000-0000-0000-0000-000000000000'
UNION ALL
SELECT t.tenant_id, date_trunc('month', t.action_date::timestamp)::date, t.agency, t.subagency, t.agency_key, t.subagency_key,
       t.vendor, t.uei, t.vendor_key, t.naics, t.set_aside, t.extent_competed, 0 - t.obligated, 0, 0, 0
FROM market.award own
JOIN market.action t ON t.tenant_id = '00000000-0000-0000-0000-000000000000' AND t.award_key = own.award_key
WHERE own.tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid
  AND own.tenant_id <> '00000000-0000-0000-0000-000000000000'
  AND t.kind = 'contract';
COMMENT ON VIEW market.monthly IS 'The market by month as the tenant sees it.';
ALTER VIEW market.monthly OWNER TO planner_owner;
GRANT SELECT ON market.monthly TO planner_worker;
