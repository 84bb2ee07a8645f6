-- Vectors of the model on this machine have a queue of their own, like those of an external model: words never wait for them.
-- credential_ref stays empty: this model needs no key.
CREATE TABLE mcp_file_local_vector_jobs (
    id              BIGSERIAL PRIMARY KEY,
    apikey_hash     CHAR(64)      NOT NULL,
    project         VARCHAR(128)  COLLATE "C" NOT NULL,
    file_path       VARCHAR(1024) COLLATE "C" NOT NULL,
    status          VARCHAR(32)   NOT NULL,
    credential_ref  TEXT,
    retry_count     INT           NOT NULL DEFAULT 0,
    available_at    TIMESTAMPTZ   NOT NULL,
    created_at      TIMESTAMPTZ   NOT NULL,
    updated_at      TIMESTAMPTZ   NOT NULL,
    generation      BIGINT        NOT NULL DEFAULT 1,
    lease_owner     TEXT,
    lease_until     TIMESTAMPTZ,
    last_error      TEXT,
    refused_key     TEXT,
    UNIQUE (apikey_hash, project, file_path)
);

CREATE INDEX idx_mcp_file_local_vector_jobs_pending ON mcp_file_local_vector_jobs (status, available_at, id);

-- Claims go from project to project (round robin), and in each take the oldest.
CREATE INDEX idx_mcp_file_index_jobs_places ON mcp_file_index_jobs (status, apikey_hash, project, available_at, id);
CREATE INDEX idx_mcp_file_vector_jobs_places ON mcp_file_vector_jobs (status, apikey_hash, project, available_at, id);
CREATE INDEX idx_mcp_file_local_vector_jobs_places ON mcp_file_local_vector_jobs (status, apikey_hash, project, available_at, id);

-- Which key the model refused last, as a keyed fingerprint: another key is tried at once.
ALTER TABLE mcp_file_vector_jobs ADD COLUMN refused_key TEXT;
