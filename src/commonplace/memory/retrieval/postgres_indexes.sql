-- Named queries of memory/retrieval/postgres_indexes.py. A word in braces is put in by the program, as a quoted literal: neither the
-- condition of an index nor its type can be a parameter, and the planner recognises the index by the same literals.

-- name: large
-- The vectors of one field and model of a tenant, where there are many. Keys are counted first: their index is read alone.
WITH counted AS (SELECT tenant, field FROM memory_vectors GROUP BY tenant, field HAVING count(*) > :least::bigint)
SELECT v.tenant, v.field, v.model, max(vector_dims(v.embedding)), count(*)
FROM counted JOIN memory_vectors v ON v.tenant = counted.tenant AND v.field = counted.field
GROUP BY v.tenant, v.field, v.model
HAVING count(*) > :least::bigint AND min(vector_dims(v.embedding)) = max(vector_dims(v.embedding));

-- name: names
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = 'memory_vectors'::regclass AND starts_with(c.relname, :prefix::text);

-- name: build
CREATE INDEX CONCURRENTLY {name} ON memory_vectors USING hnsw ((embedding::halfvec({dimensions})) halfvec_ip_ops)
WHERE tenant = {tenant} AND field = {field} AND model = {model};

-- name: analyze
-- The planner prefers a partial index if it knows how many rows the condition leaves.
ANALYZE memory_vectors (tenant, field, document, passage, model);

-- name: effort
-- The index is asked for more until enough pass the filters. The planner thinks that comparing all vectors costs a quarter of what it does, so it
-- must not sort them.
SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', :effort::text, true),
       set_config('enable_sort', 'off', true);

-- name: nearest
-- Nearest first; equally near ones in any order.
SELECT document, -(embedding <#> (SELECT :vector::halfvec)) FROM memory_vectors
WHERE tenant = {tenant} AND field = {field} AND model = {model}
ORDER BY (embedding::halfvec({dimensions})) <#> (SELECT :vector::halfvec({dimensions})) LIMIT :limit;

-- name: nearest_beginnings
-- The same among the first passages.
SELECT document, -(embedding <#> (SELECT :vector::halfvec)) FROM memory_vectors
WHERE tenant = {tenant} AND field = {field} AND model = {model} AND passage = 0
ORDER BY (embedding::halfvec({dimensions})) <#> (SELECT :vector::halfvec({dimensions})) LIMIT :limit;
