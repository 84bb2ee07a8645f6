-- The tables of docs/reference/contracts/files.md, section 10, in SQLite's dialect: same names, same meaning. Times are microseconds since the epoch, booleans 0 and 1.
-- Content stands last, so that reading the other columns never walks its overflow pages.
CREATE TABLE mcp_files (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash   TEXT    NOT NULL,
    project       TEXT    NOT NULL,
    path          TEXT    NOT NULL,
    size          INTEGER NOT NULL DEFAULT 0,
    content_hash  TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    deleted       INTEGER NOT NULL DEFAULT 0,
    deleted_at    INTEGER,
    content       BLOB    NOT NULL
);

-- Also serves prefix scans: SQLite compares text as bytes, so a prefix is a range.
CREATE UNIQUE INDEX uq_mcp_files_active ON mcp_files (apikey_hash, project, path) WHERE deleted = 0;
CREATE INDEX idx_mcp_files_deleted ON mcp_files (apikey_hash, project, path, deleted_at) WHERE deleted = 1;
CREATE INDEX idx_mcp_files_deleted_at ON mcp_files (deleted_at) WHERE deleted = 1;

-- An index from directories to the live files below them, not a table of directories: a directory is there while it has a row here,
-- and its newest row is its update time. Listings stay cheap however many files are below.
CREATE TABLE mcp_file_ancestors (
    apikey_hash   TEXT    NOT NULL,
    project       TEXT    NOT NULL,
    directory     TEXT    NOT NULL,
    updated_at    INTEGER NOT NULL,
    file_id       INTEGER NOT NULL,
    PRIMARY KEY (apikey_hash, project, directory, updated_at, file_id)
) WITHOUT ROWID;

-- Counters of live files, for quotas.
CREATE TABLE mcp_file_projects (
    apikey_hash   TEXT    NOT NULL,
    project       TEXT    NOT NULL,
    files         INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    PRIMARY KEY (apikey_hash, project)
) WITHOUT ROWID;

CREATE TABLE mcp_file_chunks (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash     TEXT    NOT NULL,
    project         TEXT    NOT NULL,
    file_path       TEXT    NOT NULL,
    chunk_index     INTEGER NOT NULL,
    start_byte      INTEGER NOT NULL,
    end_byte        INTEGER NOT NULL,
    chunk_content   TEXT    NOT NULL,
    content_hash    TEXT    NOT NULL,
    context         TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    last_served_at  INTEGER,
    UNIQUE (apikey_hash, project, file_path, chunk_index)
);

-- The terms of a chunk live with its search document; here they are under the contract's name.
CREATE VIEW mcp_file_chunk_bm25 AS
SELECT c.id AS chunk_id,
       d.terms AS tokens,
       (SELECT sum(f.value) FROM json_each(d.terms, '$.text') AS f) AS token_count,
       'commonplace-text-1' AS tokenizer,
       c.created_at,
       c.updated_at
FROM mcp_file_chunks c
JOIN search_partition p ON p.tenant = c.apikey_hash AND p.collection = 'files' AND p.scope = c.project
JOIN search_document d ON d.partition_id = p.id AND d.document = c.file_path || '#' || c.id;

CREATE TABLE mcp_file_index_jobs (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash     TEXT    NOT NULL,
    project         TEXT    NOT NULL,
    file_path       TEXT    NOT NULL,
    operation       TEXT    NOT NULL,
    file_updated_at INTEGER,
    status          TEXT    NOT NULL DEFAULT 'pending',
    retry_count     INTEGER NOT NULL DEFAULT 0,
    available_at    INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    generation      INTEGER NOT NULL DEFAULT 1,
    lease_owner     TEXT,
    lease_until     INTEGER,
    last_error      TEXT,
    UNIQUE (apikey_hash, project, file_path)
);

CREATE INDEX idx_mcp_file_index_jobs_pending ON mcp_file_index_jobs (status, available_at, id);
