-- Entries, their use, links, suggestions and history, in the shape they have in SQLite. Names compare as bytes (COLLATE "C"): a prefix of
-- an id is a range, whatever the database's locale.
CREATE TABLE memory_entries (
    tenant        TEXT        COLLATE "C" NOT NULL,
    id            TEXT        COLLATE "C" NOT NULL,
    type          TEXT        NOT NULL,
    title         TEXT        NOT NULL,
    content       TEXT        NOT NULL,
    tags          JSONB       NOT NULL,
    context       TEXT        NOT NULL,
    project       TEXT        COLLATE "C",
    confidence    SMALLINT    NOT NULL CHECK (confidence BETWEEN 0 AND 5),
    status        TEXT        NOT NULL CHECK (status IN ('active', 'obsolete')),
    memory_type   TEXT        NOT NULL,
    superseded_by TEXT        COLLATE "C",
    digest        BYTEA       NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    deleted_at    TIMESTAMPTZ,
    PRIMARY KEY (tenant, id)
);
-- One active entry for one text.
CREATE UNIQUE INDEX memory_entries_text ON memory_entries (tenant, digest) WHERE status = 'active' AND deleted_at IS NULL;
CREATE INDEX memory_entries_digest ON memory_entries (tenant, digest);
CREATE INDEX memory_entries_project ON memory_entries (tenant, project, id);

CREATE TABLE memory_tags (
    tenant   TEXT COLLATE "C" NOT NULL,
    tag      TEXT COLLATE "C" NOT NULL,
    entry_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, tag, entry_id)
);
CREATE INDEX memory_tags_entry ON memory_tags (tenant, entry_id);

-- Apart from the entries, so that being read rewrites a few bytes and never a text.
CREATE TABLE memory_usage (
    tenant        TEXT        COLLATE "C" NOT NULL,
    entry_id      TEXT        COLLATE "C" NOT NULL,
    access_count  BIGINT      NOT NULL,
    last_accessed TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant, entry_id)
) WITH (fillfactor = 70);

CREATE TABLE memory_links (
    tenant     TEXT        COLLATE "C" NOT NULL,
    id         TEXT        COLLATE "C" NOT NULL,
    source_id  TEXT        COLLATE "C" NOT NULL,
    target_id  TEXT        COLLATE "C" NOT NULL CHECK (target_id <> source_id),
    relation   TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant, source_id, target_id, relation)
);
CREATE INDEX memory_links_target ON memory_links (tenant, target_id);

CREATE TABLE memory_suggestions (
    tenant      TEXT             COLLATE "C" NOT NULL,
    id          TEXT             COLLATE "C" NOT NULL,
    type        TEXT             NOT NULL,
    key         TEXT             COLLATE "C" NOT NULL,  -- sorted ids: a pair or a cluster is suggested once, whatever became of it
    entry_ids   JSONB            NOT NULL,
    score       DOUBLE PRECISION NOT NULL CHECK (score BETWEEN 0 AND 1),
    reason      TEXT             NOT NULL,
    decision    TEXT             NOT NULL CHECK (decision IN ('pending', 'accepted', 'rejected')),
    created_at  TIMESTAMPTZ      NOT NULL,
    resolved_at TIMESTAMPTZ,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, key)
);
CREATE INDEX memory_suggestions_pending ON memory_suggestions (tenant, type, score) WHERE decision = 'pending';

CREATE TABLE memory_suggestion_entries (
    tenant        TEXT COLLATE "C" NOT NULL,
    entry_id      TEXT COLLATE "C" NOT NULL,
    suggestion_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, entry_id, suggestion_id)
);

CREATE TABLE memory_history (
    tenant     TEXT        COLLATE "C" NOT NULL,
    entry_id   TEXT        COLLATE "C" NOT NULL,
    revision   INTEGER     NOT NULL,
    action     TEXT        NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL,
    before     JSONB       NOT NULL,  -- the fields as they were
    PRIMARY KEY (tenant, entry_id, revision)
);

-- Vectors of entries (`summary`) and of the conversations they came from (`context`), by the entry's key in the search engine, which begins
-- with project and type. Derived: made anew by `commonplace memory reindex`. Vectors of two models are never compared.
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE memory_vectors (
    tenant    TEXT    COLLATE "C" NOT NULL,
    field     TEXT    COLLATE "C" NOT NULL,
    document  TEXT    COLLATE "C" NOT NULL,
    model     TEXT    NOT NULL,
    digest    TEXT    NOT NULL,
    embedding HALFVEC NOT NULL,
    PRIMARY KEY (tenant, field, document)
);
