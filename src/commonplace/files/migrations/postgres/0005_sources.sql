-- Where a stored file came from. source_path: the original path of a file whose name is outside the contract's alphabet.
-- origin: the folder an import took it from.
CREATE TABLE mcp_file_sources (
    file_id      BIGINT PRIMARY KEY REFERENCES mcp_files (id) ON DELETE CASCADE,
    source_path  TEXT,
    origin       TEXT
);
