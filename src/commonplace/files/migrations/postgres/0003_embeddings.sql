-- The vectors of docs/reference/contracts/files.md. The length follows the configured model: `commonplace migrate` sets it. The partition (tenant and project, as in
-- search) stands beside each vector, so that neither the exact path nor an approximate index ever looks at another tenant's rows.
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE mcp_file_chunk_embeddings (
    chunk_id        BIGINT        PRIMARY KEY REFERENCES mcp_file_chunks (id) ON DELETE CASCADE,
    embedding       VECTOR(1536)  NOT NULL,
    model           VARCHAR(128)  NOT NULL,
    created_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    partition_id    BIGINT        NOT NULL
);

CREATE INDEX idx_mcp_file_chunk_embeddings_partition ON mcp_file_chunk_embeddings (partition_id, model, chunk_id);
