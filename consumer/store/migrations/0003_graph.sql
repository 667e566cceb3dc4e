-- The tenant's own picture of its opportunities: what they require, who could help. Every row belongs to one tenant.

CREATE TABLE graph.requirement (
    tenant_id      uuid NOT NULL,
    requirement_id uuid NOT NULL,
    opportunity_id uuid NOT NULL,
    parent_id      uuid,
    title          text NOT NULL,
    clearance      text CHECK (clearance IN ('NONE', 'PUBLIC_TRUST', 'CONFIDENTIAL', 'SECRET', 'TS', 'TS_SCI', 'DOE_L', 'DOE_Q')),
    skills         text[] NOT NULL DEFAULT '{}',
    headcount      integer CHECK (headcount >= 0),
    PRIMARY KEY (tenant_id, requirement_id)
);
COMMENT ON COLUMN graph.requirement.parent_id IS 'The requirement that this one is part of; no foreign key, for files come in any order.';
CREATE INDEX requirement_by_opportunity ON graph.requirement (tenant_id, opportunity_id);
CREATE INDEX requirement_by_parent ON graph.requirement (tenant_id, parent_id);

CREATE TABLE graph.partner (
    tenant_id    uuid NOT NULL,
    uei          text NOT NULL,
    name         text NOT NULL,
    capabilities text[] NOT NULL DEFAULT '{}',
    set_asides   text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, uei)
);

SELECT planner.private_table('graph.requirement');
SELECT planner.private_table('graph.partner');

-- What the graph plane may see of the market: the notice that requirements hang on, and who owns whom.
CREATE VIEW graph.opportunity WITH (security_invoker = true) AS
SELECT tenant_id, opportunity_id, title, solicitation, agency, subagency, office, notice_type, set_aside, naics,
       posted_date, response_due, due_date, active, place
FROM market.opportunity;

-- One row an award, not a vendor: a DISTINCT here would keep an index on the parent from being used.
CREATE VIEW graph.vendor_parent WITH (security_invoker = true) AS
SELECT tenant_id, vendor_key, uei, vendor, parent_uei, parent_vendor
FROM market.award
WHERE parent_uei IS NOT NULL AND uei IS NOT NULL;

ALTER VIEW graph.opportunity OWNER TO planner_owner;
ALTER VIEW graph.vendor_parent OWNER TO planner_owner;

GRANT SELECT ON graph.requirement, graph.partner, graph.opportunity, graph.vendor_parent TO planner_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON graph.requirement, graph.partner TO planner_loader;
