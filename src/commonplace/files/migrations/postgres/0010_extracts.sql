-- What other domains find inside files, such as the operations of an API description. Its words are in the search tables.
CREATE TABLE mcp_file_extracts (
    id              BIGSERIAL PRIMARY KEY,
    apikey_hash     CHAR(64)      NOT NULL,
    project         VARCHAR(128)  COLLATE "C" NOT NULL,
    file_path       VARCHAR(1024) COLLATE "C" NOT NULL,
    position        INT           NOT NULL,
    extract_key     TEXT          COLLATE "C" NOT NULL,
    content_hash    CHAR(64)      NOT NULL,
    title           TEXT          NOT NULL,
    summary         TEXT          NOT NULL,
    content         TEXT          NOT NULL,
    facts           TEXT          NOT NULL,
    start_line      INT           NOT NULL,
    end_line        INT           NOT NULL
);

CREATE INDEX idx_mcp_file_extracts_file ON mcp_file_extracts (apikey_hash, project, file_path, position);
CREATE INDEX idx_mcp_file_extracts_twins ON mcp_file_extracts (apikey_hash, content_hash, project);

-- Their vectors have the length that those of chunks have.
CREATE TABLE mcp_file_extract_embeddings (LIKE mcp_file_chunk_embeddings INCLUDING DEFAULTS INCLUDING STORAGE);
ALTER TABLE mcp_file_extract_embeddings ADD PRIMARY KEY (chunk_id);
ALTER TABLE mcp_file_extract_embeddings ADD FOREIGN KEY (chunk_id) REFERENCES mcp_file_extracts (id) ON DELETE CASCADE;
CREATE INDEX idx_mcp_file_extract_embeddings_partition ON mcp_file_extract_embeddings (partition_id, model, chunk_id);

-- The version that found the extracts of a file, 0 if it has none, 1 if nobody looked yet; and why some are missing.
ALTER TABLE mcp_file_index_records ADD COLUMN extracts INT NOT NULL DEFAULT 0;
ALTER TABLE mcp_file_index_records ADD COLUMN extracts_note TEXT NOT NULL DEFAULT '';

CREATE INDEX idx_mcp_file_index_records_extracts ON mcp_file_index_records (project_id, extracts) WHERE extracts > 0;

-- Descriptions are JSON or YAML; code and prose need not be read again.
UPDATE mcp_file_index_records SET extracts = 1 WHERE language IN ('', 'json', 'yaml');
