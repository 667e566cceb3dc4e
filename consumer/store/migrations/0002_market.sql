-- The public market: awards, their actions, subawards, notices. Public rows carry the nil UUID as tenant_id.
--
-- USAspending gives the same contract in two shapes, and both load:
--   an action (PrimeTransactions) is one signed change, with its own date and its own money, often negative;
--   a summary (PrimeAwardSummaries) is one award, with its total and the date of its latest action, and no history.
-- market.action keeps the actions; market.award keeps one row an award: the summary where there is one, else what its
-- known actions say, latest first. No dollar is counted twice: of an award with both, the actions up to the day of the
-- summary are taken off its total (`explained`), the rest of the total counts on the day of the summary
-- (`summary_date`), and later actions count by themselves. So any order of loading gives the same rows.
--
-- The view market.obligation is every dollar on its day; sums are read from it by month (0007), lists from
-- market.known_award and market.known_action. A vehicle (an indefinite
-- delivery contract, schedule or agreement) is not spending: its orders are. So vehicles stand in lists, marked, and
-- never in sums.
--
-- `agency` is the department (USAspending's top tier), `subagency` the office of it that awards (the subtier, such as
-- the Department of the Navy). A question may name either, so both have a key in upper case to compare with.

CREATE TABLE market.award (
    tenant_id       uuid NOT NULL,
    award_key       text NOT NULL,
    piid            text,
    parent_piid     text,
    award_type      text,
    agency          text,
    subagency       text,
    office          text,
    vendor          text,
    uei             text,
    parent_uei      text,
    parent_vendor   text,
    naics           text,
    psc             text,
    pricing         text,
    set_aside       text,
    extent_competed text,
    offers          integer,
    business_size   text,
    state           text,
    solicitation    text,
    description     text,
    obligated       numeric(24, 2),
    potential_value numeric(24, 2),
    base_date       date,
    start_date      date,
    current_end     date,
    potential_end   date,
    closed          boolean NOT NULL DEFAULT false,
    last_action     date,
    summary_date    date,
    explained       numeric(24, 2) NOT NULL DEFAULT 0,
    latest_date     date GENERATED ALWAYS AS (greatest(summary_date, last_action)) STORED,
    first_date      date GENERATED ALWAYS AS (coalesce(base_date, least(start_date, greatest(summary_date, last_action)))) STORED,
    last_end        date GENERATED ALWAYS AS (greatest(current_end, potential_end)) STORED,
    competed        boolean GENERATED ALWAYS AS (CASE
        WHEN extent_competed IN ('Not competed', 'Not available for competition', 'Not competed under simplified acquisition',
                                 'Noncompetitive delivery order') THEN false
        WHEN extent_competed IS NOT NULL THEN true END) STORED,
    kind            text NOT NULL GENERATED ALWAYS AS (CASE WHEN starts_with(award_key, 'CONT_IDV_') THEN 'vehicle' ELSE 'contract' END) STORED,
    agency_key      text GENERATED ALWAYS AS (upper(agency)) STORED,
    subagency_key   text GENERATED ALWAYS AS (upper(subagency)) STORED,
    solicitation_key text GENERATED ALWAYS AS (upper(replace(replace(solicitation, '-', ''), ' ', ''))) STORED,
    vendor_key      text GENERATED ALWAYS AS (coalesce(uei, upper(vendor))) STORED,
    PRIMARY KEY (tenant_id, award_key)
);
COMMENT ON COLUMN market.award.current_end IS 'End of the period of performance as exercised; of a vehicle, the end of its ordering period.';
COMMENT ON COLUMN market.award.potential_end IS 'End when every option is exercised.';
COMMENT ON COLUMN market.award.obligated IS 'Total of the award as last reported.';
COMMENT ON COLUMN market.award.closed IS 'An action closed it out, cancelled or terminated it.';
COMMENT ON COLUMN market.award.first_date IS 'Day of the base action; where that is not known, the start of performance or the latest action, whichever is first.';
COMMENT ON COLUMN market.award.last_action IS 'Latest action that stands in market.action.';
COMMENT ON COLUMN market.award.competed IS 'False for the four ways of FPDS not to compete; null where it is not reported.';
COMMENT ON COLUMN market.award.summary_date IS 'Latest action of the summary that this row comes from; null when only actions are known.';
COMMENT ON COLUMN market.award.explained IS 'Part of the summary''s total that stands in market.action with its own date.';
COMMENT ON COLUMN market.award.vendor_key IS 'Who a vendor is: the UEI, and the name where a file has none.';

CREATE TABLE market.action (
    tenant_id          uuid NOT NULL,
    transaction_key    text NOT NULL,
    award_key          text NOT NULL,
    modification       text,
    transaction_number text,
    action_date        date NOT NULL,
    action_type        text,
    obligated          numeric(24, 2) NOT NULL,
    total_obligated    numeric(24, 2),
    potential_value    numeric(24, 2),
    piid               text,
    parent_piid        text,
    award_type         text,
    agency             text,
    subagency          text,
    office             text,
    vendor             text,
    uei                text,
    parent_uei         text,
    parent_vendor      text,
    naics              text,
    psc                text,
    pricing            text,
    set_aside          text,
    extent_competed    text,
    offers             integer,
    business_size      text,
    state              text,
    solicitation       text,
    description        text,
    start_date         date,
    current_end        date,
    potential_end      date,
    modified_date      date,
    competed           boolean GENERATED ALWAYS AS (CASE
        WHEN extent_competed IN ('Not competed', 'Not available for competition', 'Not competed under simplified acquisition',
                                 'Noncompetitive delivery order') THEN false
        WHEN extent_competed IS NOT NULL THEN true END) STORED,
    kind               text NOT NULL GENERATED ALWAYS AS (CASE WHEN starts_with(award_key, 'CONT_IDV_') THEN 'vehicle' ELSE 'contract' END) STORED,
    agency_key         text GENERATED ALWAYS AS (upper(agency)) STORED,
    subagency_key      text GENERATED ALWAYS AS (upper(subagency)) STORED,
    vendor_key         text GENERATED ALWAYS AS (coalesce(uei, upper(vendor))) STORED,
    PRIMARY KEY (tenant_id, transaction_key)
);

CREATE TABLE market.subaward (
    tenant_id       uuid NOT NULL,
    prime_award_key text NOT NULL,
    subaward_number text NOT NULL,
    report_id       text NOT NULL DEFAULT '',
    action_date     date NOT NULL,
    amount          numeric(24, 2) NOT NULL,
    prime_piid      text,
    agency          text,
    subagency       text,
    prime_vendor    text,
    prime_uei       text,
    naics           text,
    sub_vendor      text NOT NULL,
    sub_uei         text,
    sub_parent      text,
    description     text,
    agency_key      text GENERATED ALWAYS AS (upper(agency)) STORED,
    subagency_key   text GENERATED ALWAYS AS (upper(subagency)) STORED,
    PRIMARY KEY (tenant_id, prime_award_key, subaward_number, report_id, action_date, sub_vendor)
);
COMMENT ON TABLE market.subaward IS 'First tier subawards as primes report them.';

CREATE TABLE market.opportunity (
    tenant_id       uuid NOT NULL,
    opportunity_id  uuid NOT NULL,
    notice_id       text NOT NULL,
    title           text NOT NULL,
    solicitation    text,
    agency          text,
    subagency       text,
    office          text,
    notice_type     text,
    set_aside       text,
    naics           text,
    psc             text,
    posted_date     date,
    response_due    timestamptz,
    due_date        date,
    archive_date    date,
    active          boolean,
    place           text,
    award_number    text,
    awardee         text,
    award_amount    numeric(24, 2),
    award_date      date,
    description     text,
    link            text,
    agency_key      text GENERATED ALWAYS AS (upper(agency)) STORED,
    subagency_key   text GENERATED ALWAYS AS (upper(subagency)) STORED,
    solicitation_key text GENERATED ALWAYS AS (upper(replace(replace(solicitation, '-', ''), ' ', ''))) STORED,
    PRIMARY KEY (tenant_id, opportunity_id)
);
COMMENT ON COLUMN market.opportunity.due_date IS 'The day responses are due, as the office writes it (its own time zone).';

-- The two levels of agency each have an index that ends in a day, so that `agency_key = x OR subagency_key = x` is a
-- union of two short scans. Operators are = and < on uuid, text and date: those are leakproof, so they reach an index
-- under row level security; && and @> would not. What ends from today on is a small part of all awards and asked for
-- most; of the actions only those below zero are listed.
CREATE INDEX award_by_agency        ON market.award (tenant_id, agency_key, naics, latest_date);
CREATE INDEX award_by_subagency     ON market.award (tenant_id, subagency_key, naics, latest_date);
CREATE INDEX award_by_agency_end    ON market.award (tenant_id, agency_key, naics, last_end);
CREATE INDEX award_by_subagency_end ON market.award (tenant_id, subagency_key, naics, last_end);
CREATE INDEX award_by_naics         ON market.award (tenant_id, naics, latest_date);
CREATE INDEX award_by_vendor        ON market.award (tenant_id, vendor_key, latest_date);
CREATE INDEX award_by_parent        ON market.award (tenant_id, parent_uei) WHERE parent_uei IS NOT NULL;
CREATE INDEX award_by_notice        ON market.award (tenant_id, solicitation_key) WHERE solicitation_key IS NOT NULL;
CREATE INDEX award_by_piid          ON market.award (tenant_id, piid);

CREATE INDEX action_by_award         ON market.action (tenant_id, award_key, action_date);
CREATE INDEX taken_back_by_agency    ON market.action (tenant_id, agency_key, naics, action_date) WHERE obligated < 0;
CREATE INDEX taken_back_by_subagency ON market.action (tenant_id, subagency_key, naics, action_date) WHERE obligated < 0;
CREATE INDEX taken_back_by_naics     ON market.action (tenant_id, naics, action_date) WHERE obligated < 0;

CREATE INDEX subaward_by_agency    ON market.subaward (tenant_id, agency_key, naics, action_date);
CREATE INDEX subaward_by_subagency ON market.subaward (tenant_id, subagency_key, naics, action_date);
CREATE INDEX subaward_by_naics     ON market.subaward (tenant_id, naics, action_date);
CREATE INDEX opportunity_by_solicitation ON market.opportunity (tenant_id, solicitation_key);

SELECT planner.shared_table('market.award');
SELECT planner.shared_table('market.action');
SELECT planner.shared_table('market.subaward');
SELECT planner.shared_table('market.opportunity');

-- Where a tenant loaded an award of its own that is public as well, its own row stands for both. The list of own keys
-- is read once a statement and is empty for most tenants.
CREATE VIEW market.known_award WITH (security_invoker = true) AS
SELECT a.tenant_id, a.award_key, a.piid, a.parent_piid, a.kind, a.award_type,
       a.agency, a.subagency, a.office, a.agency_key, a.subagency_key,
       a.vendor, a.uei, a.vendor_key, a.parent_uei, a.parent_vendor, a.naics, a.psc, a.pricing,
       a.set_aside, a.extent_competed, a.competed, a.offers, a.business_size, a.state, a.solicitation, a.solicitation_key, a.description,
       a.obligated, a.potential_value, a.base_date, a.latest_date, a.first_date, a.start_date, a.current_end, a.potential_end, a.last_end, a.closed,
       a.last_action, a.summary_date, a.explained
FROM market.award a
WHERE a.tenant_id <> '00000000-0000-0000-0000-000000000000'
   OR a.award_key NOT IN (
        SELECT own.award_key FROM market.award own
        WHERE own.tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid
          AND own.tenant_id <> '00000000-0000-0000-0000-000000000000');
COMMENT ON VIEW market.known_award IS 'One row an award: the tenant''s own before the public one.';

CREATE VIEW market.known_action WITH (security_invoker = true) AS
SELECT t.tenant_id, t.transaction_key, t.award_key, t.kind, t.modification, t.action_date, t.action_type, t.obligated,
       t.piid, t.agency, t.subagency, t.agency_key, t.subagency_key, t.vendor, t.uei, t.vendor_key, t.naics,
       t.set_aside, t.extent_competed, t.competed, t.offers, t.business_size
FROM market.action t
WHERE t.tenant_id <> '00000000-0000-0000-0000-000000000000'
   OR t.award_key NOT IN (
        SELECT own.award_key FROM market.award own
        WHERE own.tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid
          AND own.tenant_id <> '00000000-0000-0000-0000-000000000000');
COMMENT ON VIEW market.known_action IS 'One row an action: of an award that the tenant loaded itself, its own actions alone.';

CREATE VIEW market.obligation WITH (security_invoker = true) AS
SELECT a.tenant_id, a.award_key, a.summary_date AS action_date, a.obligated - a.explained AS obligated,
       a.agency, a.subagency, a.agency_key, a.subagency_key, a.vendor, a.uei, a.vendor_key, a.naics, a.set_aside,
       a.extent_competed, a.competed, a.offers, a.business_size
FROM market.known_award a
WHERE a.kind = 'contract' AND a.summary_date IS NOT NULL
UNION ALL
SELECT t.tenant_id, t.award_key, t.action_date, t.obligated,
       t.agency, t.subagency, t.agency_key, t.subagency_key, t.vendor, t.uei, t.vendor_key, t.naics, t.set_aside,
       t.extent_competed, t.competed, t.offers, t.business_size
FROM market.known_action t
WHERE t.kind = 'contract';
COMMENT ON VIEW market.obligation IS 'Money of contracts and orders on the day it was obligated, taken back included; never of vehicles.';

ALTER VIEW market.known_award OWNER TO planner_owner;
ALTER VIEW market.known_action OWNER TO planner_owner;
ALTER VIEW market.obligation OWNER TO planner_owner;

GRANT SELECT ON market.award, market.action, market.subaward, market.opportunity, market.known_award, market.known_action,
    market.obligation
    TO planner_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON market.award, market.action, market.subaward, market.opportunity
    TO planner_loader;

-- A load stages its rows in a temporary table.
DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO planner_loader', current_database()); END $$;
