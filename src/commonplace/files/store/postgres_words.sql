-- Named queries of postgres_words.py: words as PostgreSQL's own text search has them (docs/reference/contracts/files.md, section 7.3).

-- name: mode
SELECT mode FROM mcp_file_lexical_mode;

-- name: mode_forget
DELETE FROM mcp_file_lexical_mode;

-- name: mode_set
INSERT INTO mcp_file_lexical_mode (mode) VALUES (:mode);

-- name: chunk_words_add
-- A chunk that went meanwhile takes no words.
INSERT INTO mcp_file_chunk_words (chunk_id, words)
SELECT id, :words::text::tsvector FROM mcp_file_chunks WHERE id = :id AND apikey_hash = :tenant FOR KEY SHARE
ON CONFLICT (chunk_id) DO UPDATE SET words = excluded.words;

-- name: words_partition
SELECT id FROM search_partition WHERE tenant = :tenant AND collection = :collection AND scope = :scope;

-- name: words_documents
-- Chunks of a project, counted up to a limit.
SELECT count(*) FROM (SELECT 1 FROM mcp_file_chunks WHERE apikey_hash = :tenant AND project = :project LIMIT :limit) AS sample;

-- name: words_holders
-- How many chunks of the partition hold each term. :terms is a JSON array of tsqueries, each bound to the partition.
SELECT q.number, (SELECT count(*) FROM mcp_file_chunk_words w WHERE w.words @@ q.term::tsquery)
FROM jsonb_array_elements_text(:terms::jsonb) WITH ORDINALITY AS q (term, number);

-- name: words_rank
-- The best chunks by what each term they hold tells, times its ts_rank. :terms is a JSON array of
-- [tsquery bound to the partition, tsquery of the term alone, what it tells].
-- :ids bounds the answer to these chunks, unless it is null; a prefix bounds it to the files below.
WITH query AS MATERIALIZED (
    SELECT (value ->> 0)::tsquery AS bound, (value ->> 1)::tsquery AS term, (value ->> 2)::float8 AS tells, number::int AS number
    FROM jsonb_array_elements(:terms::jsonb) WITH ORDINALITY AS q (value, number)
), held AS (
    SELECT w.chunk_id, q.number, q.tells * ts_rank((SELECT :weights::float4[]), w.words, q.term)::float8 AS score
    FROM query q CROSS JOIN LATERAL (SELECT chunk_id, words FROM mcp_file_chunk_words WHERE words @@ q.bound) AS w
), ranked AS (
    SELECT chunk_id, sum(score) AS score, array_agg(number) AS numbers FROM held
    WHERE (:ids::bigint[] IS NULL OR chunk_id = ANY ((SELECT :ids::bigint[])::bigint[]))
      AND (:prefix::text = '' OR chunk_id IN (SELECT id FROM mcp_file_chunks WHERE apikey_hash = :tenant AND project = :project
                                              AND file_path >= :prefix AND file_path < :upper))
    GROUP BY chunk_id ORDER BY score DESC, chunk_id LIMIT :limit
)
SELECT c.file_path || '#' || c.id, r.score, r.numbers FROM ranked r
JOIN mcp_file_chunks c ON c.id = r.chunk_id AND c.apikey_hash = :tenant AND c.project = :project ORDER BY r.score DESC, c.id;

-- name: words_missing
-- Chunks without words, for `commonplace migrate`: partition, tenant, and what they hold.
SELECT c.id, p.id, c.apikey_hash, b.tokens FROM mcp_file_chunks c
JOIN mcp_file_chunk_bm25 b ON b.chunk_id = c.id
JOIN search_partition p ON p.tenant = c.apikey_hash AND p.collection = :collection AND p.scope = c.project
WHERE c.id > :after AND NOT EXISTS (SELECT 1 FROM mcp_file_chunk_words w WHERE w.chunk_id = c.id) ORDER BY c.id LIMIT :limit;

-- name: postings_missing
-- Chunks without postings, the other way round.
SELECT c.id, c.apikey_hash, c.project, c.file_path, b.tokens FROM mcp_file_chunks c
JOIN mcp_file_chunk_bm25 b ON b.chunk_id = c.id
JOIN search_partition p ON p.tenant = c.apikey_hash AND p.collection = :collection AND p.scope = c.project
WHERE c.id > :after AND NOT EXISTS (SELECT 1 FROM search_document d WHERE d.partition_id = p.id AND d.document = c.file_path || '#' || c.id)
ORDER BY c.id LIMIT :limit FOR KEY SHARE OF c;
