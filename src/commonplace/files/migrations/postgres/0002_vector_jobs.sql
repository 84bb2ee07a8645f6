-- Vectors of an external model are a second step with a queue of its own: words never wait for a model, nor for a caller's key.
-- status: held (its file is not indexed by words yet), pending, processing, waiting_credential, dead.
-- credential_ref names a sealed envelope in the cache; a key itself is never here.
CREATE TABLE mcp_file_vector_jobs (
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
    UNIQUE (apikey_hash, project, file_path)
);

CREATE INDEX idx_mcp_file_vector_jobs_pending ON mcp_file_vector_jobs (status, available_at, id);
CREATE INDEX idx_mcp_file_vector_jobs_without_key ON mcp_file_vector_jobs (apikey_hash) WHERE credential_ref IS NULL;
