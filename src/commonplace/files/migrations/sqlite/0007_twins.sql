-- Chunks of a tenant with the same text share one embedding.
CREATE INDEX idx_mcp_file_chunks_twins ON mcp_file_chunks (apikey_hash, content_hash, project);
