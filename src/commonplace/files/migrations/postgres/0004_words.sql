-- The transitional lexical mode of docs/reference/contracts/files.md (settings.mcp.files.search.lexical: tsvector): the words of a chunk for PostgreSQL's own text
-- search. Empty in mode bm25. The lexeme `#N`, which no text yields, names the partition: the index itself keeps to one tenant's project.
CREATE TABLE mcp_file_chunk_words (
    chunk_id        BIGINT        PRIMARY KEY REFERENCES mcp_file_chunks (id) ON DELETE CASCADE,
    words           TSVECTOR      NOT NULL
);

CREATE INDEX idx_mcp_file_chunk_words ON mcp_file_chunk_words USING gin (words) WITH (gin_pending_list_limit = 256);

-- Which mode the rows are complete for: no row is bm25. `commonplace migrate` changes it.
CREATE TABLE mcp_file_lexical_mode (
    mode            VARCHAR(16)   PRIMARY KEY
);
