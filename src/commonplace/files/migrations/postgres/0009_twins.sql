-- Which projects of a tenant hold a text is found by one seek, however many copies there are.
DROP INDEX idx_mcp_file_chunks_content;
CREATE INDEX idx_mcp_file_chunks_twins ON mcp_file_chunks (apikey_hash, content_hash, project);
