-- The tables of docs/reference/contracts/files.md, section 10, and what its rules need beside them. Names compare as bytes (COLLATE "C"): a prefix is a range, and the order
-- is the one the contract means, whatever the database's locale.
CREATE TABLE mcp_files (
    id            BIGSERIAL PRIMARY KEY,
    apikey_hash   CHAR(64)      NOT NULL,
    project       VARCHAR(128)  COLLATE "C" NOT NULL,
    path          VARCHAR(1024) COLLATE "C" NOT NULL,
    content       BYTEA         NOT NULL,
    size          BIGINT        NOT NULL DEFAULT 0,
    created_at    TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at    TIMESTAMPTZ   NOT NULL DEFAULT now(),
    deleted       BOOLEAN       NOT NULL DEFAULT FALSE,
    deleted_at    TIMESTAMPTZ,
    content_hash  CHAR(64)      NOT NULL
);

-- A part of a file is read without the rest: uncompressed values can be sliced.
ALTER TABLE mcp_files ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE UNIQUE INDEX uq_mcp_files_active ON mcp_files (apikey_hash, project, path) WHERE deleted = FALSE;
CREATE INDEX idx_mcp_files_prefix ON mcp_files (apikey_hash, project, path text_pattern_ops) WHERE deleted = FALSE;
CREATE INDEX idx_mcp_files_deleted ON mcp_files (apikey_hash, project, path, deleted_at) WHERE deleted = TRUE;
CREATE INDEX idx_mcp_files_deleted_at ON mcp_files (deleted_at) WHERE deleted = TRUE;

-- An index from directories to the live files below them, not a table of directories: a directory is there while it has a row here,
-- and its newest row is its update time.
CREATE TABLE mcp_file_ancestors (
    apikey_hash   CHAR(64)      NOT NULL,
    project       VARCHAR(128)  COLLATE "C" NOT NULL,
    directory     VARCHAR(1024) COLLATE "C" NOT NULL,
    updated_at    TIMESTAMPTZ   NOT NULL,
    file_id       BIGINT        NOT NULL,
    PRIMARY KEY (apikey_hash, project, directory, updated_at, file_id)
);

-- Counters of live files, for quotas.
CREATE TABLE mcp_file_projects (
    apikey_hash   CHAR(64)      NOT NULL,
    project       VARCHAR(128)  COLLATE "C" NOT NULL,
    files         BIGINT        NOT NULL,
    bytes         BIGINT        NOT NULL,
    PRIMARY KEY (apikey_hash, project)
) WITH (fillfactor = 50);

CREATE TABLE mcp_file_chunks (
    id              BIGSERIAL PRIMARY KEY,
    apikey_hash     CHAR(64)      NOT NULL,
    project         VARCHAR(128)  COLLATE "C" NOT NULL,
    file_path       VARCHAR(1024) COLLATE "C" NOT NULL,
    chunk_index     INT           NOT NULL,
    start_byte      BIGINT        NOT NULL,
    end_byte        BIGINT        NOT NULL,
    chunk_content   TEXT          NOT NULL,
    content_hash    CHAR(64)      NOT NULL,
    created_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    last_served_at  TIMESTAMPTZ,
    context         TEXT          NOT NULL,
    UNIQUE (apikey_hash, project, file_path, chunk_index)
);

CREATE INDEX idx_mcp_file_chunks_prefix ON mcp_file_chunks (apikey_hash, project, file_path text_pattern_ops);

-- The terms of a chunk, {field: {term: frequency}}: the posting tables of search are fed from here.
CREATE TABLE mcp_file_chunk_bm25 (
    chunk_id        BIGINT        PRIMARY KEY REFERENCES mcp_file_chunks (id) ON DELETE CASCADE,
    tokens          JSONB         NOT NULL,
    token_count     INT           NOT NULL,
    tokenizer       VARCHAR(64)   NOT NULL,
    created_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ   NOT NULL DEFAULT now()
);

CREATE TABLE mcp_file_index_jobs (
    id              BIGSERIAL PRIMARY KEY,
    apikey_hash     CHAR(64)      NOT NULL,
    project         VARCHAR(128)  COLLATE "C" NOT NULL,
    file_path       VARCHAR(1024) COLLATE "C" NOT NULL,
    operation       VARCHAR(16)   NOT NULL, -- UPSERT / DELETE
    file_updated_at TIMESTAMPTZ,
    status          VARCHAR(16)   NOT NULL DEFAULT 'pending',
    retry_count     INT           NOT NULL DEFAULT 0,
    available_at    TIMESTAMPTZ   NOT NULL DEFAULT now(),
    created_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    generation      BIGINT        NOT NULL DEFAULT 1,
    lease_owner     TEXT,
    lease_until     TIMESTAMPTZ,
    last_error      TEXT,
    UNIQUE (apikey_hash, project, file_path)
);

CREATE INDEX idx_mcp_file_index_jobs_pending ON mcp_file_index_jobs (status, available_at, id);
