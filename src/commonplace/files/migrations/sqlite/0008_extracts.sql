-- What other domains find inside files, such as the operations of an API description. Its words are in the search tables.
CREATE TABLE mcp_file_extracts (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash     TEXT    NOT NULL,
    project         TEXT    NOT NULL,
    file_path       TEXT    NOT NULL,
    position        INTEGER NOT NULL,
    extract_key     TEXT    NOT NULL,
    content_hash    TEXT    NOT NULL,
    title           TEXT    NOT NULL,
    summary         TEXT    NOT NULL,
    content         TEXT    NOT NULL,
    facts           TEXT    NOT NULL,
    start_line      INTEGER NOT NULL,
    end_line        INTEGER NOT NULL
);

CREATE INDEX idx_mcp_file_extracts_file ON mcp_file_extracts (apikey_hash, project, file_path, position);
CREATE INDEX idx_mcp_file_extracts_twins ON mcp_file_extracts (apikey_hash, content_hash, project);

-- The version that found the extracts of a file, 0 if it has none, 1 if nobody looked yet; and why some are missing.
ALTER TABLE mcp_file_index_records ADD COLUMN extracts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mcp_file_index_records ADD COLUMN extracts_note TEXT NOT NULL DEFAULT '';

CREATE INDEX idx_mcp_file_index_records_extracts ON mcp_file_index_records (project_id, extracts) WHERE extracts > 0;

-- Descriptions are JSON or YAML; code and prose need not be read again.
UPDATE mcp_file_index_records SET extracts = 1 WHERE language IN ('', 'json', 'yaml');
