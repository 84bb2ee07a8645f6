-- Where a stored file came from. A table of its own: in mcp_files a column behind `content` would be read through its overflow pages.
-- source_path: the original path of a file whose name is outside the contract's alphabet. origin: the folder an import took it from.
CREATE TABLE mcp_file_sources (
    file_id      INTEGER PRIMARY KEY,
    source_path  TEXT,
    origin       TEXT
);

CREATE TRIGGER mcp_file_sources_purge AFTER DELETE ON mcp_files BEGIN
    DELETE FROM mcp_file_sources WHERE file_id = old.id;
END;
