-- The tenant's own documents as passages, and an index of their words that row level security can use.
--
-- A GIN index on a tsvector is out of reach under row level security: @@ is not leakproof, so every row of the table is
-- read and filtered by tenant first (12,000 passages of a tenant beside two others, five words: 150 ms in the median,
-- 36 ms here). So the words are rows, led by tenant_id, and found with = on text, which is leakproof.

CREATE TABLE docs.document (
    tenant_id   uuid  NOT NULL,
    document_id uuid  NOT NULL,
    name        text  NOT NULL,
    sha256      bytea NOT NULL,
    PRIMARY KEY (tenant_id, document_id),
    UNIQUE (tenant_id, name)
);

CREATE TABLE docs.chunk (
    tenant_id   uuid    NOT NULL,
    document_id uuid    NOT NULL,
    place       integer NOT NULL,
    section     text    NOT NULL,  -- as a person would cite it
    headings    text    NOT NULL,  -- all of them, outermost first
    sentences   text[]  NOT NULL,
    words       integer NOT NULL,
    PRIMARY KEY (tenant_id, document_id, place),
    FOREIGN KEY (tenant_id, document_id) REFERENCES docs.document ON DELETE CASCADE
);

-- One row a word and document: the passages that hold it, how often each does and how many words each has, which is
-- what ranking needs, so that it reads this table alone.
CREATE TABLE docs.word (
    tenant_id   uuid       NOT NULL,
    word        text       NOT NULL,
    document_id uuid       NOT NULL,
    places      integer[]  NOT NULL,
    times       smallint[] NOT NULL,
    words       smallint[] NOT NULL,
    PRIMARY KEY (tenant_id, word, document_id)
);
CREATE INDEX word_by_document ON docs.word (tenant_id, document_id);

CREATE TABLE docs.corpus (
    tenant_id uuid   PRIMARY KEY,
    passages  bigint NOT NULL,
    words     bigint NOT NULL
);
COMMENT ON TABLE docs.corpus IS 'How many passages and words a tenant has: what makes a word rare.';

SELECT planner.private_table('docs.document');
SELECT planner.private_table('docs.chunk');
SELECT planner.private_table('docs.word');
SELECT planner.private_table('docs.corpus');
GRANT SELECT ON docs.document, docs.chunk, docs.word, docs.corpus TO planner_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON docs.document, docs.chunk, docs.word, docs.corpus TO planner_loader;
