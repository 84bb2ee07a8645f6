-- Named queries of postgres_embeddings.py. `DIMENSIONS` is the length of the vectors, `PARTITION` a partition's number: both are
-- whole numbers put in by the program, because a type and an index's condition cannot be parameters. Answers are binary: a vector
-- travels as half as many bytes as its row holds. `(SELECT :query...)` is read once; a bare parameter would be read again for every row
-- as soon as PostgreSQL keeps the plan.

-- name: embedding_state
-- The partition, how many of its vectors are of this model (counted up to a limit), which other model made others (two seeks: unequal
-- would read them all), and its approximate index.
SELECT p.id,
       (SELECT count(*) FROM (SELECT 1 FROM mcp_file_chunk_embeddings e
                              WHERE e.partition_id = p.id AND e.model = :model LIMIT :limit) AS sample),
       coalesce((SELECT e.model FROM mcp_file_chunk_embeddings e WHERE e.partition_id = p.id AND e.model < :model
                 ORDER BY e.model DESC LIMIT 1),
                (SELECT e.model FROM mcp_file_chunk_embeddings e WHERE e.partition_id = p.id AND e.model > :model
                 ORDER BY e.model LIMIT 1)),
       EXISTS (SELECT 1 FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
               WHERE c.relname = 'idx_mcp_file_embeddings_hnsw_' || p.id AND i.indisvalid),
       coalesce((SELECT max(f.documents) FROM search_field f WHERE f.partition_id = p.id), 0)
FROM search_partition p WHERE p.tenant = :tenant AND p.collection = :collection AND p.scope = :scope;

-- name: nearest_exact
SELECT c.file_path || '#' || c.id, n.similarity, v.embedding::halfvec FROM (
    SELECT e.chunk_id, -(e.embedding <#> (SELECT :query::text::vector)) AS similarity FROM mcp_file_chunk_embeddings e
    WHERE e.partition_id = :partition AND e.model = :model ORDER BY e.embedding <#> (SELECT :query::text::vector), e.chunk_id LIMIT :limit
) AS n JOIN mcp_file_chunks c ON c.id = n.chunk_id JOIN mcp_file_chunk_embeddings v ON v.chunk_id = n.chunk_id ORDER BY n.similarity DESC, c.id;

-- name: nearest_below
-- Exact among the files below a path prefix.
SELECT c.file_path || '#' || c.id, -(e.embedding <#> (SELECT :query::text::vector)) AS similarity, e.embedding::halfvec
FROM mcp_file_chunks c JOIN mcp_file_chunk_embeddings e ON e.chunk_id = c.id AND e.model = :model
WHERE c.apikey_hash = :tenant AND c.project = :project AND c.file_path >= :prefix AND c.file_path < :upper
ORDER BY e.embedding <#> (SELECT :query::text::vector), c.id LIMIT :limit;

-- name: below_count
SELECT count(*) FROM (SELECT 1 FROM mcp_file_chunks
                      WHERE apikey_hash = :tenant AND project = :project AND file_path >= :prefix AND file_path < :upper LIMIT :limit) AS sample;

-- name: nearest_scanning
-- An approximate index is asked for more until enough pass the filters.
SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', :effort, true);

-- name: nearest_approximate
SELECT c.file_path || '#' || c.id, -(e.embedding <#> (SELECT :query::text::vector)) AS similarity, e.embedding::halfvec
FROM (SELECT chunk_id, embedding FROM mcp_file_chunk_embeddings
      WHERE partition_id = PARTITION AND model = :model
      ORDER BY (embedding::halfvec(DIMENSIONS)) <#> (SELECT :query::text::halfvec(DIMENSIONS)) LIMIT :limit) AS e
JOIN mcp_file_chunks c ON c.id = e.chunk_id ORDER BY similarity DESC, c.id;

-- name: nearest_approximate_below
SELECT c.file_path || '#' || c.id, -(e.embedding <#> (SELECT :query::text::vector)) AS similarity, e.embedding::halfvec
FROM mcp_file_chunk_embeddings e JOIN mcp_file_chunks c ON c.id = e.chunk_id
WHERE e.partition_id = PARTITION AND e.model = :model AND c.file_path >= :prefix AND c.file_path < :upper
ORDER BY (e.embedding::halfvec(DIMENSIONS)) <#> (SELECT :query::text::halfvec(DIMENSIONS)) LIMIT :limit;

-- name: similarities
SELECT c.file_path || '#' || c.id, -(e.embedding <#> (SELECT :query::text::vector)), e.embedding::halfvec
FROM mcp_file_chunk_embeddings e JOIN mcp_file_chunks c ON c.id = e.chunk_id
WHERE e.chunk_id = ANY (:ids) AND e.partition_id = :partition AND e.model = :model;

-- name: embedding_missing
SELECT c.id FROM mcp_file_chunks c
WHERE c.id = ANY (:ids) AND c.apikey_hash = :tenant AND c.project = :project
  AND NOT EXISTS (SELECT 1 FROM mcp_file_chunk_embeddings e WHERE e.chunk_id = c.id AND e.model = :model);

-- name: embedding_copy
-- Equal texts of one tenant share their vectors, over its projects. A few copies are looked at: the first ones have a vector soon.
INSERT INTO mcp_file_chunk_embeddings (chunk_id, embedding, model, partition_id)
SELECT c.id, twin.embedding, :model, p.id FROM mcp_file_chunks c
JOIN search_partition p ON p.tenant = c.apikey_hash AND p.collection = :collection AND p.scope = c.project
CROSS JOIN LATERAL (
    SELECT e.embedding FROM (SELECT o.id FROM mcp_file_chunks o
                             WHERE o.apikey_hash = :tenant AND o.content_hash = c.content_hash AND o.id <> c.id LIMIT 64) AS copies
    JOIN mcp_file_chunk_embeddings e ON e.chunk_id = copies.id AND e.model = :model LIMIT 1
) AS twin
WHERE c.id = ANY (:ids) AND c.apikey_hash = :tenant AND c.project = :project FOR KEY SHARE OF c
ON CONFLICT (chunk_id) DO UPDATE SET embedding = excluded.embedding, model = excluded.model, updated_at = now()
RETURNING chunk_id;

-- name: embedding_add
-- A chunk that went meanwhile takes no vector.
INSERT INTO mcp_file_chunk_embeddings (chunk_id, embedding, model, partition_id)
SELECT c.id, :embedding::text::vector, :model, p.id FROM mcp_file_chunks c
JOIN search_partition p ON p.tenant = c.apikey_hash AND p.collection = :collection AND p.scope = c.project
WHERE c.id = :id AND c.apikey_hash = :tenant AND c.project = :project FOR KEY SHARE OF c
ON CONFLICT (chunk_id) DO UPDATE SET embedding = excluded.embedding, model = excluded.model, updated_at = now();

-- name: embedding_length
-- The length of the vectors that the table holds.
SELECT atttypmod FROM pg_attribute WHERE attrelid = 'mcp_file_chunk_embeddings'::regclass AND attname = 'embedding';

-- name: embedding_indexes
SELECT c.relname, i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
WHERE i.indrelid = 'mcp_file_chunk_embeddings'::regclass AND c.relname LIKE 'idx\_mcp\_file\_embeddings\_hnsw\_%';

-- name: index_build
CREATE INDEX CONCURRENTLY IF NOT EXISTS idx_mcp_file_embeddings_hnsw_PARTITION ON mcp_file_chunk_embeddings
USING hnsw ((embedding::halfvec(DIMENSIONS)) halfvec_ip_ops) WHERE partition_id = PARTITION;

-- name: embedding_clear
TRUNCATE mcp_file_chunk_embeddings;

-- name: embedding_resize
ALTER TABLE mcp_file_chunk_embeddings ALTER COLUMN embedding TYPE VECTOR(DIMENSIONS);

-- name: embedding_in_place
-- Short vectors stay in their row: an exact search then reads one page after the other.
ALTER TABLE mcp_file_chunk_embeddings ALTER COLUMN embedding SET STORAGE PLAIN;

-- name: embedding_aside
ALTER TABLE mcp_file_chunk_embeddings ALTER COLUMN embedding SET STORAGE EXTERNAL;

-- name: embed_all_again
-- Every live file of every tenant is queued: the worker makes the vectors that are missing, and goes on after a stop.
WITH queued AS (
    INSERT INTO mcp_file_index_jobs AS j (apikey_hash, project, file_path, operation, file_updated_at)
    SELECT apikey_hash, project, path, 'UPSERT', updated_at FROM mcp_files WHERE deleted = FALSE
    ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET status = 'pending', available_at = now(), generation = j.generation + 1,
        retry_count = 0, lease_owner = NULL, lease_until = NULL, last_error = NULL
    RETURNING 1
)
SELECT count(*) FROM queued;
