-- Every way in which this database would let one tenant see another's rows, one row each; no row means none is known.
--
-- $1 the role that the service connects as    $2 the schemas that tenants' questions read
--
-- Reads catalogs alone, so any role may run it. Rights are asked with has_*_privilege, which counts what PUBLIC was
-- granted and what a role inherits.
WITH service AS (
    SELECT r.* FROM pg_catalog.pg_roles r
    WHERE r.rolname IN ('planner_worker', 'planner_sink', 'planner_publisher', 'planner_loader', 'planner_auditor', $1)
), worker AS (
    SELECT r.oid, r.rolname FROM pg_catalog.pg_roles r WHERE r.rolname = $1
), space AS (
    SELECT n.oid, n.nspname, n.nspowner, n.nspname = ANY ($2::text[]) AS ours
    FROM pg_catalog.pg_namespace n
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
), relation AS (
    SELECT c.*, s.nspname, s.ours, format('%I.%I', s.nspname, c.relname) AS named
    FROM pg_catalog.pg_class c JOIN space s ON s.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
), held AS (  -- which service role has which right on which relation, on the whole or on a column of it
    SELECT r.rolname, c.oid, c.named, c.relkind, p.privilege
    FROM service r CROSS JOIN relation c
    CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE'), ('REFERENCES'), ('TRIGGER')) AS p (privilege)
    WHERE c.relkind <> 'S'
      AND (has_table_privilege(r.oid, c.oid, p.privilege)
           OR (p.privilege IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES') AND has_any_column_privilege(r.oid, c.oid, p.privilege)))
), read AS (
    -- The tables of tenants: what questions read, what is loaded, what is counted. bench.roster alone is read across
    -- tenants, to go through them; it holds how many rows of each have changed, and the worker has no right on it.
    SELECT c.* FROM relation c
    WHERE c.relkind IN ('r', 'p') AND c.nspname <> 'audit'
      AND EXISTS (SELECT FROM held h WHERE h.oid = c.oid AND h.privilege = 'SELECT'
                    AND (h.rolname = $1 OR (h.rolname IN ('planner_loader', 'planner_publisher') AND c.named <> 'bench.roster')))
), secured AS (
    SELECT c.* FROM relation c
    WHERE c.relkind IN ('r', 'p')
      AND (c.ours OR c.nspname = 'audit' OR EXISTS (SELECT FROM held h WHERE h.oid = c.oid))
), tenant_column AS (
    SELECT a.attrelid, a.attnum, a.attnotnull, a.atttypid FROM pg_catalog.pg_attribute a
    WHERE a.attname = 'tenant_id' AND a.attnum > 0 AND NOT a.attisdropped
), policy AS (
    SELECT p.polrelid, p.polname, pg_get_expr(p.polqual, p.polrelid) AS seen, pg_get_expr(p.polwithcheck, p.polrelid) AS written
    FROM pg_catalog.pg_policy p
    WHERE NOT p.polpermissive AND p.polcmd = '*' AND p.polroles = '{0}'
), tenant_policy AS (
    -- Read back as the server prints it. An OR would widen it, so a policy with one is none.
    SELECT polrelid FROM policy
    WHERE seen ~ '^\(tenant_id = (ANY \()?\( SELECT\s' AND seen LIKE '%current_setting(''app.tenant_id''%' AND seen !~ '\mOR\M'
      AND written LIKE '(tenant_id = ( SELECT %current_setting(''app.tenant_id''%' AND written !~ '\mOR\M'
), tenant_index AS (
    SELECT i.indexrelid, i.indisunique OR i.indisexclusion AS excludes, i.indkey[0] = t.attnum AS led,
           t.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]) AS holds, c.named, x.relname
    FROM pg_catalog.pg_index i
    JOIN read c ON c.oid = i.indrelid
    JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    JOIN tenant_column t ON t.attrelid = c.oid
), append_only AS (
    SELECT c.* FROM relation c
    WHERE c.nspname = 'audit' AND c.relkind IN ('r', 'p') AND c.relname <> 'head'
), fault (check_name, object, rule) AS (
    -- who
    SELECT 'connected_role', current_user::text, 'the service must connect as ' || $1 WHERE current_user <> $1 OR session_user <> $1
    UNION ALL SELECT 'missing_role', $1, 'the role does not exist' WHERE NOT EXISTS (SELECT FROM worker)
    UNION ALL SELECT 'superuser', rolname, 'a superuser is above row security' FROM service WHERE rolsuper
    UNION ALL SELECT 'bypass_row_security', rolname, 'BYPASSRLS is above row security' FROM service WHERE rolbypassrls
    UNION ALL SELECT 'powerful_role', rolname, 'a service role must not make databases or roles, nor replicate'
        FROM service WHERE rolcreatedb OR rolcreaterole OR rolreplication
    UNION ALL SELECT 'member_of', format('%I', r.rolname), format('a service role must be no member of another role (%I)', g.rolname)
        FROM pg_catalog.pg_auth_members m JOIN service r ON r.oid = m.member JOIN pg_catalog.pg_roles g ON g.oid = m.roleid
    UNION ALL SELECT 'owner', c.named, format('an owner may switch row security off (%I)', r.rolname)
        FROM relation c JOIN service r ON r.oid = c.relowner
    UNION ALL SELECT 'owner', format('schema %I', s.nspname), format('an owner may add and drop what is in it (%I)', r.rolname)
        FROM space s JOIN service r ON r.oid = s.nspowner
    UNION ALL SELECT 'owner', format('function %s', p.oid::regprocedure), format('an owner may replace it (%I)', r.rolname)
        FROM pg_catalog.pg_proc p JOIN service r ON r.oid = p.proowner
    UNION ALL SELECT 'owner', format('database %I', d.datname), format('an owner may change its settings (%I)', r.rolname)
        FROM pg_catalog.pg_database d JOIN service r ON r.oid = d.datdba WHERE d.datname = current_database()
    UNION ALL SELECT 'read_only_default', $1, 'the role must have default_transaction_read_only = on'
        FROM worker w WHERE $1 = 'planner_worker' AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_db_role_setting s
            WHERE s.setrole = w.oid AND 'default_transaction_read_only=on' = ANY (s.setconfig))
    UNION ALL SELECT 'row_security_off', $1, 'the session must have row_security = on' WHERE current_setting('row_security') <> 'on'

    -- tables
    UNION ALL SELECT 'row_security', named, 'row security is not enabled' FROM secured WHERE NOT relrowsecurity
    UNION ALL SELECT 'not_forced', named, 'row security must be forced, or its owner is above it' FROM secured WHERE NOT relforcerowsecurity
    UNION ALL SELECT 'no_tenant', c.named, 'it has no column tenant_id uuid NOT NULL' FROM read c
        WHERE NOT EXISTS (SELECT FROM tenant_column t WHERE t.attrelid = c.oid AND t.attnotnull AND t.atttypid = 'uuid'::regtype)
    UNION ALL SELECT 'no_tenant_policy', c.named,
            'it needs a RESTRICTIVE policy for all commands and PUBLIC, true only for the tenant of app.tenant_id' FROM read c
        WHERE NOT EXISTS (SELECT FROM tenant_policy t WHERE t.polrelid = c.oid)
    UNION ALL SELECT 'partition_granted', h.named, format('the policies of its parent do not apply when it is named (%s to %I)', h.privilege, h.rolname)
        FROM held h WHERE EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = h.oid)
    UNION ALL SELECT 'index_not_led', format('%s on %s', relname, named), 'an index must lead with tenant_id: other tenants'' rows cost time otherwise'
        FROM tenant_index WHERE NOT led AND (holds OR NOT excludes)
    UNION ALL SELECT 'unique_across_tenants', format('%s on %s', relname, named), 'a unique key without tenant_id tells that another tenant has a value'
        FROM tenant_index WHERE excludes AND NOT holds
    UNION ALL SELECT 'foreign_key_across_tenants', format('%s on %s', k.conname, c.named), 'a foreign key is checked without row security: it must hold tenant_id'
        FROM pg_catalog.pg_constraint k JOIN read c ON c.oid = k.conrelid JOIN tenant_column t ON t.attrelid = c.oid
        WHERE k.contype = 'f' AND NOT t.attnum = ANY (k.conkey)

    -- ways around a table's policies
    UNION ALL SELECT 'view_of_owner', h.named, format('a view without security_invoker reads as its owner (%I)', h.rolname)
        FROM held h JOIN relation c USING (oid)
        WHERE h.relkind = 'v' AND h.privilege = 'SELECT'
          AND NOT coalesce((SELECT option_value::boolean FROM pg_options_to_table(c.reloptions) WHERE option_name = 'security_invoker'), false)
    UNION ALL SELECT 'materialized_view', h.named, format('a materialized view has no row security (%I)', h.rolname)
        FROM held h WHERE h.relkind = 'm' AND h.privilege = 'SELECT'
    UNION ALL SELECT 'foreign_table', h.named, format('a foreign table has no row security (%I)', h.rolname)
        FROM held h WHERE h.relkind = 'f' AND h.privilege = 'SELECT'
    UNION ALL SELECT 'security_definer', p.oid::regprocedure::text, format('it runs with its owner''s rights (%I may call it)', r.rolname)
        FROM pg_catalog.pg_proc p CROSS JOIN service r
        WHERE p.prosecdef AND has_function_privilege(r.oid, p.oid, 'EXECUTE') AND has_schema_privilege(r.oid, p.pronamespace, 'USAGE')
    UNION ALL SELECT 'leakproof', p.oid::regprocedure::text, 'it may run before the policy and see every row'
        FROM pg_catalog.pg_proc p WHERE p.proleakproof AND p.pronamespace <> 'pg_catalog'::regnamespace

    -- rights beyond need
    UNION ALL SELECT 'writes', h.named, format('%I must read only (%s)', h.rolname, h.privilege)
        FROM held h WHERE h.rolname = $1 AND $1 = 'planner_worker' AND h.privilege <> 'SELECT'
    UNION ALL SELECT 'sequence', c.named, format('%I must not advance a sequence', w.rolname)
        FROM relation c CROSS JOIN worker w
        WHERE c.relkind = 'S' AND $1 = 'planner_worker' AND (has_sequence_privilege(w.oid, c.oid, 'USAGE') OR has_sequence_privilege(w.oid, c.oid, 'UPDATE'))
    UNION ALL SELECT 'roster', h.named, 'people are counted by the publisher alone'
        FROM held h WHERE h.rolname = $1 AND $1 = 'planner_worker' AND h.named = 'bench.person'
    UNION ALL SELECT 'foreign_schema', format('schema %I', s.nspname), format('%I may use a schema that no question reads', w.rolname)
        FROM space s CROSS JOIN worker w
        WHERE $1 = 'planner_worker' AND NOT s.ours AND has_schema_privilege(w.oid, s.oid, 'USAGE')
    UNION ALL SELECT 'eeo', format('schema %I', s.nspname), format('protected data must be out of reach (%I)', r.rolname)
        FROM space s CROSS JOIN service r WHERE lower(s.nspname) LIKE 'eeo%' AND has_schema_privilege(r.oid, s.oid, 'USAGE')
    UNION ALL SELECT 'eeo', h.named, format('protected data must be out of reach (%s to %I)', h.privilege, h.rolname)
        FROM held h JOIN relation c USING (oid) WHERE lower(c.nspname) LIKE 'eeo%'
    UNION ALL SELECT 'creates', format('schema %I', s.nspname), format('%I may make objects in it', r.rolname)
        FROM space s CROSS JOIN service r WHERE has_schema_privilege(r.oid, s.oid, 'CREATE')
    UNION ALL SELECT 'creates', format('database %I', current_database()), format('%I may make schemas in it', r.rolname)
        FROM service r WHERE has_database_privilege(r.oid, current_database(), 'CREATE')
    UNION ALL SELECT 'temporary', format('database %I', current_database()), format('%I may leave temporary tables for the next tenant', r.rolname)
        FROM service r WHERE r.rolname <> 'planner_loader' AND has_database_privilege(r.oid, current_database(), 'TEMPORARY')
    -- Only a superuser could have revoked these; on a managed Postgres the lint of the Registry stands alone here.
    UNION ALL SELECT 'builtin', p.oid::regprocedure::text, format('a read only transaction does not stop it (%I may call it)', w.rolname)
        FROM pg_catalog.pg_proc p CROSS JOIN worker w
        WHERE p.pronamespace = 'pg_catalog'::regnamespace
          AND (p.proname ~ '^(lo_|lowrite|loread)'
               OR p.proname ~ '^(query|table|cursor|schema|database)_to_xml'
               OR p.proname ~ '^pg_(try_)?advisory_(xact_)?lock'
               OR p.proname ~ '^pg_(read_|ls_|stat_file|file_|promote|reload_conf|rotate_logfile|switch_wal)'
               OR p.proname IN ('pg_notify', 'pg_sleep', 'pg_sleep_for', 'pg_sleep_until', 'pg_terminate_backend',
                                'pg_cancel_backend', 'pg_export_snapshot', 'pg_logical_emit_message'))
          AND has_function_privilege(w.oid, p.oid, 'EXECUTE')
          AND EXISTS (SELECT FROM space s JOIN pg_catalog.pg_roles r ON r.oid = s.nspowner WHERE s.nspname = 'planner' AND r.rolsuper)

    -- the audit trail
    UNION ALL SELECT 'audit_writes', h.named, format('the audit trail is append only (%s to %I)', h.privilege, h.rolname)
        FROM held h JOIN append_only c USING (oid) WHERE h.privilege IN ('UPDATE', 'DELETE', 'TRUNCATE')
    UNION ALL SELECT 'audit_trigger', c.named, 'both triggers that refuse a change must be ENABLE ALWAYS'
        FROM append_only c
        WHERE 2 > (SELECT count(*) FROM pg_catalog.pg_trigger t
                   WHERE t.tgrelid = c.oid AND t.tgenabled = 'A' AND t.tgname IN ('no_change', 'no_truncate'))
    UNION ALL SELECT 'audit_hash', c.named, 'the constraint row_hash_is_recomputed is missing or not validated'
        FROM append_only c
        WHERE c.relname = 'plan_answered' AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.conname = 'row_hash_is_recomputed' AND k.convalidated)
)
SELECT DISTINCT check_name, object, rule FROM fault ORDER BY check_name, object, rule
