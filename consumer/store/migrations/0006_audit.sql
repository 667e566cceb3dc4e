-- The audit trail: append only, one hash chain per partition of the audit topic.
--
-- Rows are partitioned by sequence number, so that retention detaches whole ranges and never deletes. What must be
-- unique across ranges (the event id) lives in audit.event; what fences a second writer is the one row per chain in
-- audit.head, locked and advanced in the transaction that adds the rows. The exact bytes consumed are stored, not
-- jsonb: jsonb reorders keys and drops duplicates, so a hash over it would prove nothing about the event.

CREATE TABLE audit.plan_answered (
    chain_id    integer NOT NULL CHECK (chain_id >= 0),
    seq         bigint  NOT NULL CHECK (seq >= 0),
    event_id    uuid    NOT NULL,
    tenant_id   uuid    NOT NULL,
    src_offset  bigint  NOT NULL CHECK (src_offset >= 0),
    body        bytea   NOT NULL CHECK (octet_length(body) <= 4096),
    body_hash   bytea   NOT NULL GENERATED ALWAYS AS (sha256(body)) STORED,
    prev_hash   bytea   NOT NULL CHECK (octet_length(prev_hash) = 32),
    row_hash    bytea   NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (chain_id, seq),
    CONSTRAINT row_hash_is_recomputed CHECK (
        row_hash = sha256(prev_hash || int4send(chain_id) || int8send(seq) || uuid_send(event_id)
                          || uuid_send(tenant_id) || int8send(src_offset) || sha256(body)))
) PARTITION BY RANGE (seq);

CREATE TABLE audit.event (
    event_id  uuid PRIMARY KEY,
    chain_id  integer NOT NULL,
    seq       bigint  NOT NULL,
    body_hash bytea   NOT NULL
);
COMMENT ON TABLE audit.event IS 'Every event id ever stored: the same id with another body is a conflict, never a second row.';

CREATE TABLE audit.head (
    chain_id    integer PRIMARY KEY,
    size        bigint NOT NULL,
    head_hash   bytea  NOT NULL,
    next_offset bigint NOT NULL,
    frontier    bytea  NOT NULL
);
COMMENT ON TABLE audit.head IS 'The end of each chain, and the next offset of its topic partition to consume.';

CREATE TABLE audit.rejected (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source_topic  text    NOT NULL,
    chain_id      integer NOT NULL,
    src_offset    bigint  NOT NULL,
    reason        text    NOT NULL CHECK (reason IN ('undecodable', 'too_large', 'conflict', 'unstorable')),
    body          bytea,
    body_hash     bytea   NOT NULL,
    recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (source_topic, chain_id, src_offset)
);

CREATE TABLE audit.checkpoint (
    chain_id    integer NOT NULL,
    size        bigint  NOT NULL,
    root        bytea   NOT NULL CHECK (octet_length(root) = 32),
    note        text    NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (chain_id, size)
);

CREATE TABLE audit.retired (
    chain_id  integer NOT NULL,
    size      bigint  NOT NULL,
    head_hash bytea   NOT NULL,
    frontier  bytea   NOT NULL,
    note      text    NOT NULL,
    retired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (chain_id, size)
);
COMMENT ON TABLE audit.retired IS 'Where a chain starts once retention has detached the rows before it.';

-- One range holds this many rows of every chain. A range must exist before its first row: `planner migrate` and
-- `planner audit retain` keep some ahead.
CREATE FUNCTION audit.make_ranges(ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    width  constant bigint := 1000000;
    newest bigint;
    made   integer := 0;
BEGIN
    SELECT coalesce(max(size), 0) / width INTO newest FROM audit.head;
    FOR n IN newest .. newest + ahead LOOP
        IF to_regclass(format('audit.plan_answered_%s', n)) IS NULL THEN
            EXECUTE format('CREATE TABLE audit.plan_answered_%s PARTITION OF audit.plan_answered FOR VALUES FROM (%s) TO (%s)',
                           n, n * width, (n + 1) * width);
            EXECUTE format('ALTER TABLE audit.plan_answered_%s ENABLE ROW LEVEL SECURITY', n);
            EXECUTE format('ALTER TABLE audit.plan_answered_%s FORCE ROW LEVEL SECURITY', n);
            EXECUTE format('ALTER TABLE audit.plan_answered_%s ENABLE ALWAYS TRIGGER no_change', n);
            EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON audit.plan_answered_%s '
                           'FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change()', n);
            EXECUTE format('ALTER TABLE audit.plan_answered_%s ENABLE ALWAYS TRIGGER no_truncate', n);
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END $$;

CREATE FUNCTION audit.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on %.% is refused: the audit trail is append only', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;

-- ENABLE ALWAYS: an ordinary trigger is skipped under session_replication_role = replica.
CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON audit.plan_answered
    FOR EACH ROW EXECUTE FUNCTION audit.refuse_change();
ALTER TABLE audit.plan_answered ENABLE ALWAYS TRIGGER no_change;
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON audit.plan_answered
    FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change();
ALTER TABLE audit.plan_answered ENABLE ALWAYS TRIGGER no_truncate;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['event', 'checkpoint', 'rejected', 'retired'] LOOP
        EXECUTE format('CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON audit.%s FOR EACH ROW EXECUTE FUNCTION audit.refuse_change()', name);
        EXECUTE format('ALTER TABLE audit.%s ENABLE ALWAYS TRIGGER no_change', name);
        EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON audit.%s FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change()', name);
        EXECUTE format('ALTER TABLE audit.%s ENABLE ALWAYS TRIGGER no_truncate', name);
    END LOOP;
    -- The trail is read whole or not at all: the sink writes it, the auditor proves it, no tenant role reaches it.
    FOREACH name IN ARRAY ARRAY['plan_answered', 'event', 'head', 'checkpoint', 'rejected', 'retired'] LOOP
        EXECUTE format('ALTER TABLE audit.%s OWNER TO planner_owner', name);
        EXECUTE format('ALTER TABLE audit.%s ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE audit.%s FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY sink_reads ON audit.%s FOR SELECT TO planner_sink USING (true)', name);
        EXECUTE format('CREATE POLICY auditor_reads ON audit.%s FOR SELECT TO planner_auditor, planner_owner USING (true)', name);
        EXECUTE format('GRANT SELECT ON audit.%s TO planner_auditor', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['plan_answered', 'event', 'head', 'checkpoint', 'rejected'] LOOP
        EXECUTE format('CREATE POLICY sink_writes ON audit.%s FOR INSERT TO planner_sink WITH CHECK (true)', name);
    END LOOP;
END $$;
CREATE POLICY sink_advances ON audit.head FOR UPDATE TO planner_sink USING (true) WITH CHECK (true);
CREATE POLICY owner_retires ON audit.retired FOR INSERT TO planner_owner WITH CHECK (true);

GRANT USAGE ON SCHEMA audit TO planner_sink, planner_auditor;
-- Named columns: the sink can choose neither `recorded_at` nor `body_hash`.
GRANT INSERT (chain_id, seq, event_id, tenant_id, src_offset, body, prev_hash, row_hash) ON audit.plan_answered TO planner_sink;
GRANT SELECT (chain_id, seq, event_id, row_hash, body_hash, src_offset) ON audit.plan_answered TO planner_sink;
GRANT INSERT, SELECT ON audit.event TO planner_sink;
GRANT SELECT, INSERT, UPDATE ON audit.head TO planner_sink;
GRANT INSERT (source_topic, chain_id, src_offset, reason, body, body_hash) ON audit.rejected TO planner_sink;
GRANT SELECT (source_topic, chain_id, src_offset) ON audit.rejected TO planner_sink;
GRANT INSERT (chain_id, size, root, note), SELECT ON audit.checkpoint TO planner_sink;

ALTER FUNCTION audit.make_ranges(integer) OWNER TO planner_owner;
ALTER FUNCTION audit.refuse_change() OWNER TO planner_owner;
REVOKE EXECUTE ON FUNCTION audit.make_ranges(integer) FROM PUBLIC;
SELECT audit.make_ranges(8);

-- What a person reads: the counts of each event beside its place in the chain.
CREATE VIEW audit.trail WITH (security_invoker = true) AS
SELECT chain_id, seq, event_id, tenant_id, recorded_at,
       e.body ->> 'occurred_at'                              AS occurred_at,
       ARRAY(SELECT jsonb_array_elements_text(e.body -> 'intents'))     AS intents,
       ARRAY(SELECT jsonb_array_elements_text(e.body -> 'param_kinds')) AS param_kinds,
       (e.body ->> 'node_count')::integer                    AS node_count,
       (e.body ->> 'suppressed_cells')::integer              AS suppressed_cells,
       e.body ->> 'faithfulness'                             AS faithfulness,
       e.body -> 'self_consistency' ->> 'outcome'            AS outcome,
       e.body ->> 'registry_digest'                          AS registry_digest
FROM audit.plan_answered, LATERAL (SELECT convert_from(plan_answered.body, 'UTF8')::jsonb AS body) AS e;
ALTER VIEW audit.trail OWNER TO planner_owner;
GRANT SELECT ON audit.trail TO planner_auditor;
