-- Named queries of postgres_index.py for the token table of docs/reference/contracts/files.md, section 10. SQLite shows the same as a view.

-- name: chunk_tokens_add
INSERT INTO mcp_file_chunk_bm25 (chunk_id, tokens, token_count, tokenizer, created_at, updated_at)
VALUES (:id, :tokens::jsonb, :count, :tokenizer, moment_of(:now), moment_of(:now))
ON CONFLICT (chunk_id) DO UPDATE SET
    tokens = excluded.tokens, token_count = excluded.token_count, tokenizer = excluded.tokenizer, updated_at = excluded.updated_at;

-- name: chunk_tokens
SELECT b.chunk_id, b.tokens FROM mcp_file_chunks c JOIN mcp_file_chunk_bm25 b ON b.chunk_id = c.id
WHERE c.id = ANY (:ids) AND c.apikey_hash = :tenant;
