-- What `files sync` brought from a folder, and the content it brought: only that may it replace or delete. `origin` names the folder on
-- its machine. Kept beside the files, so that a lost folder cannot take the knowledge with it.
CREATE TABLE mcp_file_sync_entries (
    apikey_hash   CHAR(64)      NOT NULL,
    project       VARCHAR(128)  COLLATE "C" NOT NULL,
    origin        VARCHAR(64)   COLLATE "C" NOT NULL,
    path          VARCHAR(1024) COLLATE "C" NOT NULL,
    content_hash  CHAR(64)      NOT NULL,
    PRIMARY KEY (apikey_hash, project, origin, path)
);

-- Files that nobody asks for by meaning (lock files, catalogues of translations) are embedded after the others of their project.
ALTER TABLE mcp_file_vector_jobs ADD COLUMN late SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE mcp_file_local_vector_jobs ADD COLUMN late SMALLINT NOT NULL DEFAULT 0;
DROP INDEX idx_mcp_file_vector_jobs_places;
DROP INDEX idx_mcp_file_local_vector_jobs_places;
CREATE INDEX idx_mcp_file_vector_jobs_places ON mcp_file_vector_jobs (status, apikey_hash, project, late, available_at, id);
CREATE INDEX idx_mcp_file_local_vector_jobs_places ON mcp_file_local_vector_jobs (status, apikey_hash, project, late, available_at, id);

-- Chunks of a tenant with the same text share one embedding.
CREATE INDEX idx_mcp_file_chunks_content ON mcp_file_chunks (apikey_hash, content_hash);
