-- Named queries of memory/retrieval/postgres_vectors.py. A vector travels as pgvector's text, a list as a JSON array.
-- Vectors have length 1, so their product is their cosine. A row is one passage of an entry.

-- name: nearest
-- Exact: reads the vectors of one tenant in key order. `:upper` is the least string above the prefix.
SELECT document, -(embedding <#> :vector::halfvec) AS cosine FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND model = :model AND document >= :prefix AND document < :upper
ORDER BY embedding <#> :vector::halfvec, document LIMIT :limit;

-- name: nearest_beginnings
-- The same among the first passages.
SELECT document, -(embedding <#> :vector::halfvec) AS cosine FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND model = :model AND document >= :prefix AND document < :upper AND passage = 0
ORDER BY embedding <#> :vector::halfvec, document LIMIT :limit;

-- name: among
-- The nearest of the first `:passages` passages of each document.
SELECT document, max(-(embedding <#> :vector::halfvec)) FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND model = :model AND passage < :passages
  AND document = ANY (ARRAY(SELECT jsonb_array_elements_text(:documents::jsonb)))
GROUP BY document;

-- name: present
SELECT document, passage, digest FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND model = :model
  AND document = ANY (ARRAY(SELECT jsonb_array_elements_text(:documents::jsonb)));

-- name: count
SELECT count(*) FROM memory_vectors WHERE tenant = :tenant AND field = :field AND model = :model;

-- name: other
-- Another model that made vectors of a tenant.
SELECT model FROM memory_vectors WHERE tenant = :tenant AND field = :field AND model <> :model LIMIT 1;

-- name: put
INSERT INTO memory_vectors (tenant, field, document, passage, model, digest, embedding)
VALUES (:tenant, :field, :document, :passage, :model, :digest, :vector::halfvec)
ON CONFLICT (tenant, field, document, passage) DO UPDATE SET model = excluded.model, digest = excluded.digest, embedding = excluded.embedding;

-- name: remove_others
-- Removes what is below a prefix and not among the passages, which are pairs of document and number.
DELETE FROM memory_vectors
WHERE tenant = :tenant AND field = :field AND document >= :prefix AND document < :upper
  AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(:passages::jsonb) AS p (pair)
                  WHERE p.pair ->> 0 = document AND (p.pair ->> 1)::smallint = passage);

-- name: clear
DELETE FROM memory_vectors WHERE tenant = :tenant AND field = :field;
