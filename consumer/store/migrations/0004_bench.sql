-- Staff: a roster that only loader and publisher reach, and the published counts that the worker may look up.
--
-- The worker has no grant on bench.person, so no statement of the Registry can count people by itself: what was not
-- published can't be asked. Every cell of the lattice is there for every tenant, published or not, so that the shape
-- of an answer says nothing of the people behind it.

CREATE TABLE bench.person (
    tenant_id      uuid NOT NULL,
    person_ref     text NOT NULL,
    labor_category text,
    clearance      text NOT NULL CHECK (clearance IN ('NONE', 'PUBLIC_TRUST', 'CONFIDENTIAL', 'SECRET', 'TS', 'TS_SCI', 'DOE_L', 'DOE_Q')),
    compartments   text[] NOT NULL,
    skills         text[] NOT NULL,
    available_from date NOT NULL,
    PRIMARY KEY (tenant_id, person_ref)
);
SELECT planner.private_table('bench.person');
GRANT SELECT, INSERT, UPDATE, DELETE ON bench.person TO planner_loader;
-- All that counting needs: not the reference of a person, not the skills.
GRANT SELECT (tenant_id, labor_category, clearance, compartments, available_from) ON bench.person TO planner_publisher;

CREATE TABLE bench.cell (
    tenant_id      uuid     NOT NULL,
    clearance      text     NOT NULL,  -- ANY or a level
    compartments   text     NOT NULL,  -- names in alphabetical order with a slash between, or empty
    within_months  smallint NOT NULL,  -- 0: whenever available
    labor_category text     NOT NULL,  -- empty: any
    holders        integer,            -- with exactly this clearance; null: withheld, whatever the reason
    or_above       integer,            -- with this clearance or a higher one
    wider_group    text     NOT NULL,  -- the smallest published group around this one, in words
    wider_count    integer,
    snapshot       date     NOT NULL,
    rule           text     NOT NULL,
    PRIMARY KEY (tenant_id, clearance, compartments, within_months, labor_category)
);
COMMENT ON COLUMN bench.cell.holders IS 'Null for zero, for fewer than the threshold and for overlap alike.';
SELECT planner.private_table('bench.cell');
GRANT SELECT ON bench.cell TO planner_worker;
GRANT SELECT, INSERT, DELETE ON bench.cell TO planner_publisher;

-- Which tenants have a roster and how many of its rows changed since the counts were published. The publisher goes
-- through all tenants, so it reads this table whole; it says nothing of anybody. Its row is also the lock under which
-- one tenant's counts are published by one process at a time.
CREATE TABLE bench.roster (
    tenant_id uuid    PRIMARY KEY,
    changed   integer NOT NULL CHECK (changed >= 0),
    snapshot  date
);
ALTER TABLE bench.roster OWNER TO planner_owner;
ALTER TABLE bench.roster ENABLE ROW LEVEL SECURITY;
ALTER TABLE bench.roster FORCE ROW LEVEL SECURITY;
CREATE POLICY publisher_reads ON bench.roster FOR SELECT TO planner_publisher USING (true);
CREATE POLICY publisher_marks ON bench.roster FOR UPDATE TO planner_publisher USING (true) WITH CHECK (true);
CREATE POLICY loader ON bench.roster FOR ALL TO planner_loader
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant_id', true), '')::uuid))
    WITH CHECK (tenant_id = (SELECT nullif(current_setting('app.tenant_id', true), '')::uuid));
GRANT SELECT, UPDATE (changed, snapshot) ON bench.roster TO planner_publisher;
GRANT SELECT, INSERT, UPDATE ON bench.roster TO planner_loader;

-- Whatever changes a roster is counted, so that the publisher knows how far the published counts are behind.
CREATE FUNCTION bench.count_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bench.roster AS known (tenant_id, changed)
    SELECT tenant_id, count(*) FROM touched GROUP BY tenant_id
    ON CONFLICT (tenant_id) DO UPDATE SET changed = known.changed + excluded.changed;
    RETURN NULL;
END $$;
ALTER FUNCTION bench.count_changes() OWNER TO planner_owner;
CREATE TRIGGER added   AFTER INSERT ON bench.person REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION bench.count_changes();
CREATE TRIGGER changed AFTER UPDATE ON bench.person REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION bench.count_changes();
CREATE TRIGGER left_us AFTER DELETE ON bench.person REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION bench.count_changes();
