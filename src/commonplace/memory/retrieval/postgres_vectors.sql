-- Named queries of memory/retrieval/postgres_vectors.py. A vector travels as pgvector's text, a list as a JSON array.

-- name: nearest
-- Exact: reads the vectors of one tenant in key order. `:upper` is the least string above the prefix.
SELECT document, 1 - (embedding <=> :vector::halfvec) AS cosine FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND model = :model AND document >= :prefix AND document < :upper
ORDER BY embedding <=> :vector::halfvec, document LIMIT :limit;

-- name: among
SELECT document, 1 - (embedding <=> :vector::halfvec) FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND model = :model
  AND document = ANY (ARRAY(SELECT jsonb_array_elements_text(:documents::jsonb)));

-- name: present
SELECT document, digest FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND model = :model
  AND document = ANY (ARRAY(SELECT jsonb_array_elements_text(:documents::jsonb)));

-- name: other
-- Another model that made vectors of a tenant.
SELECT model FROM memory_vectors WHERE tenant = :tenant AND field = :field AND model <> :model LIMIT 1;

-- name: put
INSERT INTO memory_vectors (tenant, field, document, model, digest, embedding)
VALUES (:tenant, :field, :document, :model, :digest, :vector::halfvec)
ON CONFLICT (tenant, field, document) DO UPDATE SET model = excluded.model, digest = excluded.digest, embedding = excluded.embedding;

-- name: remove_others
-- Removes what is below a prefix and not among the documents.
DELETE FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND document >= :prefix AND document < :upper
  AND NOT document = ANY (ARRAY(SELECT jsonb_array_elements_text(:documents::jsonb)));

-- name: clear
DELETE FROM memory_vectors WHERE tenant = :tenant AND field = :field;
