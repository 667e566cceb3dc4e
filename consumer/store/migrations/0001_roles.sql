-- Roles, schemas and the two ways a table is protected. Everything fails closed: a role has no right it is not given
-- here, and without a tenant in the transaction every policy is false.
--
-- A migration runs as an administrator. It makes a table, then calls one of
--     SELECT planner.private_table('graph.requirement');   rows of one tenant, seen by that tenant alone
--     SELECT planner.shared_table('market.award');         public rows beside private ones, see below
-- which give it to planner_owner, force row security on it and add the policies. Then it grants what each role needs.
--
-- Public market data carry the nil UUID as tenant_id, so keys and indexes lead with a tenant_id that is never null, and
-- one policy covers both: a row is seen by its tenant, and by everybody where it is public. A loader writes public rows
-- only with the tenant set to the nil UUID.

DO $$
DECLARE
    role text;
BEGIN
    -- Roles belong to the cluster, which may hold several databases of ours.
    PERFORM pg_advisory_xact_lock(hashtext('planner roles'));
    IF to_regrole('planner_owner') IS NULL THEN
        CREATE ROLE planner_owner NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION;
    END IF;
    FOREACH role IN ARRAY ARRAY['planner_worker', 'planner_sink', 'planner_publisher', 'planner_loader', 'planner_auditor'] LOOP
        IF to_regrole(role) IS NULL THEN
            EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOBYPASSRLS NOINHERIT NOCREATEDB NOCREATEROLE NOREPLICATION', role);
            EXECUTE format('ALTER ROLE %I SET search_path = pg_catalog', role);
            EXECUTE format('ALTER ROLE %I SET row_security = on', role);
            EXECUTE format('ALTER ROLE %I SET timezone = ''UTC''', role);
            EXECUTE format('ALTER ROLE %I SET log_parameter_max_length_on_error = 0', role);
            EXECUTE format('ALTER ROLE %I SET lock_timeout = ''5s''', role);
        END IF;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
        -- The administrator acts as these roles with SET ROLE, to load, publish and audit.
        EXECUTE format('GRANT %I TO CURRENT_USER', role);
    END LOOP;
    GRANT planner_owner TO CURRENT_USER;
    ALTER ROLE planner_worker SET default_transaction_read_only = on;
    ALTER ROLE planner_worker SET default_transaction_isolation = 'repeatable read';
    ALTER ROLE planner_worker SET statement_timeout = '3s';
    ALTER ROLE planner_worker SET lock_timeout = '500ms';
    ALTER ROLE planner_worker SET idle_in_transaction_session_timeout = '10s';
    BEGIN
        ALTER ROLE planner_worker SET temp_file_limit = '256MB';
    EXCEPTION WHEN insufficient_privilege THEN
        RAISE NOTICE 'temp_file_limit is for a superuser to set; a managed Postgres has a limit of its own';
    END;
    -- One plan for all values is the wrong one for half of the questions: a statement serves an agency, a code or both.
    -- Measured on 100,000 awards: 48 ms with the kept plan against 1.6 ms, for 1 ms of planning.
    ALTER ROLE planner_worker SET plan_cache_mode = force_custom_plan;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
END $$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;

-- What a READ ONLY transaction does not stop: large objects, notifications, sleeps, advisory locks, other sessions. On
-- a managed Postgres, whose administrator owns no built in function, this only warns, and the preflight knows.
DO $$
DECLARE f regprocedure;
BEGIN
    FOR f IN
        SELECT p.oid::regprocedure FROM pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND has_function_privilege('public', p.oid, 'EXECUTE')
          AND (p.proname ~ '^(lo_|lowrite|loread)'
               OR p.proname IN ('pg_notify', 'pg_sleep', 'pg_sleep_for', 'pg_sleep_until', 'pg_terminate_backend',
                                'pg_cancel_backend', 'pg_export_snapshot', 'pg_logical_emit_message')
               OR p.proname ~ '^(query|table|cursor|schema|database)_to_xml'
               OR p.proname ~ '^pg_(try_)?advisory_(xact_)?lock')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
    END LOOP;
END $$;

ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE planner_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

CREATE SCHEMA market AUTHORIZATION planner_owner;
CREATE SCHEMA graph  AUTHORIZATION planner_owner;
CREATE SCHEMA bench  AUTHORIZATION planner_owner;
CREATE SCHEMA docs   AUTHORIZATION planner_owner;
CREATE SCHEMA audit  AUTHORIZATION planner_owner;

GRANT USAGE ON SCHEMA market, graph, bench, docs TO planner_worker, planner_loader;
GRANT USAGE ON SCHEMA bench TO planner_publisher;
-- audit grants its own usage in its own migration

CREATE FUNCTION planner.protect(target regclass, rows_seen text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s OWNER TO planner_owner', target);
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', target);
    EXECUTE format('CREATE POLICY reads ON %s AS PERMISSIVE FOR SELECT TO PUBLIC USING (true)', target);
    EXECUTE format('CREATE POLICY writes ON %s AS PERMISSIVE FOR ALL TO planner_loader, planner_publisher USING (true) WITH CHECK (true)', target);
    -- Restrictive: another permissive policy, added by mistake, can't widen it. The sub-select is evaluated once a
    -- statement instead of once a row. nullif: a setting that was once local reads '' and not null afterwards.
    EXECUTE format(
        'CREATE POLICY tenant ON %s AS RESTRICTIVE FOR ALL TO PUBLIC USING (%s) '
        'WITH CHECK (tenant_id = (SELECT nullif(current_setting(''app.tenant_id'', true), '''')::uuid))',
        target, rows_seen);
END $$;

CREATE FUNCTION planner.private_table(target regclass) RETURNS void LANGUAGE sql AS $$
    SELECT planner.protect(target, 'tenant_id = (SELECT nullif(current_setting(''app.tenant_id'', true), '''')::uuid)')
$$;

-- An absent tenant must hide public rows too, hence the AND: fail closed means no rows, not the public ones.
CREATE FUNCTION planner.shared_table(target regclass) RETURNS void LANGUAGE sql AS $$
    SELECT planner.protect(target,
        'tenant_id = ANY ((SELECT CASE WHEN nullif(current_setting(''app.tenant_id'', true), '''') IS NULL THEN ''{}''::uuid[] '
        'ELSE ARRAY[current_setting(''app.tenant_id'', true)::uuid, ''00000000-0000-0000-0000-000000000000''::uuid] END)::uuid[])')
$$;
