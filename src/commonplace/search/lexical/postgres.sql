-- Named queries of index_searcher.py and index_writer.py in PostgreSQL's dialect: the names and parameters of sqlite.sql.
-- Lists arrive as JSON arrays. A list of ids becomes an array while the statement is planned, so that the planner knows how much it asks
-- for, and never takes a short query for one that touches half of the table.

-- name: partition_lock
-- The same before a change: until the transaction ends, no other one changes this partition's statistics.
SELECT id FROM search_partition WHERE tenant = :tenant AND collection = :collection AND scope = :scope FOR NO KEY UPDATE;

-- name: partition_add
-- The second transaction waits for the first, and shares its row.
INSERT INTO search_partition AS p (tenant, collection, scope) VALUES (:tenant, :collection, :scope)
ON CONFLICT (tenant, collection, scope) DO UPDATE SET scope = p.scope RETURNING id;

-- name: field_change
INSERT INTO search_field AS f (partition_id, field, documents, length) VALUES (:partition, :field, :documents, :length)
ON CONFLICT (partition_id, field) DO UPDATE SET documents = f.documents + excluded.documents, length = f.length + excluded.length;

-- name: document_terms
SELECT id, terms::text FROM search_document WHERE partition_id = :partition AND document = :document;

-- name: documents_terms
-- :documents is a JSON array of keys.
SELECT document, terms::text FROM search_document
WHERE partition_id = :partition AND document = ANY (ARRAY(SELECT jsonb_array_elements_text(:documents::jsonb)));

-- name: document_add
-- No row where the key is there already.
INSERT INTO search_document (partition_id, document, terms) VALUES (:partition, :document, :terms::jsonb) ON CONFLICT DO NOTHING RETURNING id;

-- name: ids_with_prefix
SELECT id FROM search_document
WHERE partition_id = :partition AND document >= :prefix AND document < :upper ORDER BY document LIMIT :limit;

-- name: terms_change
-- :terms is a JSON array of [term, field, change of its documents].
INSERT INTO search_term AS t (partition_id, term, field, documents)
SELECT :partition, value ->> 0, value ->> 1, (value ->> 2)::bigint FROM jsonb_array_elements(:terms::jsonb) AS value ORDER BY 2, 3
ON CONFLICT (partition_id, term, field) DO UPDATE SET documents = t.documents + excluded.documents
RETURNING id, term, field;

-- name: terms
-- :terms is a JSON array.
SELECT term, id, field, documents FROM search_term
WHERE partition_id = :partition AND term = ANY (ARRAY(SELECT jsonb_array_elements_text(:terms::jsonb))) AND documents > 0;

-- name: postings_add
-- :postings is a JSON array of [term id, document id, frequency, length].
INSERT INTO search_posting (term_id, document_id, frequency, length)
SELECT (value ->> 0)::bigint, (value ->> 1)::bigint, (value ->> 2)::int, (value ->> 3)::int
FROM jsonb_array_elements(:postings::jsonb) AS value;

-- name: postings_remove
-- :postings is a JSON array of [term id, document id].
DELETE FROM search_posting AS p USING jsonb_array_elements(:postings::jsonb) AS value
WHERE p.term_id = (value ->> 0)::bigint AND p.document_id = (value ->> 1)::bigint;

-- name: rank
-- :terms is a JSON array of [term id, weight * idf * (k1 + 1), k1 * (1 - b), k1 * b / average length].
WITH query AS MATERIALIZED (
    SELECT (value ->> 0)::bigint AS term_id, (value ->> 1)::float8 AS gain, (value ->> 2)::float8 AS base, (value ->> 3)::float8 AS slope
    FROM jsonb_array_elements(:terms::jsonb) AS value
)
SELECT p.document_id, sum(query.gain * p.frequency / (p.frequency + query.base + query.slope * p.length)) AS score
FROM search_posting p JOIN query ON query.term_id = p.term_id
WHERE p.term_id = ANY (translate(jsonb_path_query_array(:terms::jsonb, '$[*][0]')::text, '[] ', '{}')::bigint[])
GROUP BY p.document_id ORDER BY score DESC, p.document_id LIMIT :limit;

-- name: rank_among
-- The same for a given set of documents, a JSON array of ids.
WITH query AS MATERIALIZED (
    SELECT (value ->> 0)::bigint AS term_id, (value ->> 1)::float8 AS gain, (value ->> 2)::float8 AS base, (value ->> 3)::float8 AS slope
    FROM jsonb_array_elements(:terms::jsonb) AS value
)
SELECT p.document_id, sum(query.gain * p.frequency / (p.frequency + query.base + query.slope * p.length)) AS score
FROM search_posting p JOIN query ON query.term_id = p.term_id
WHERE p.term_id = ANY (translate(jsonb_path_query_array(:terms::jsonb, '$[*][0]')::text, '[] ', '{}')::bigint[])
  AND p.document_id = ANY (translate(:documents, '[]', '{}')::bigint[])
GROUP BY p.document_id ORDER BY score DESC, p.document_id LIMIT :limit;

-- name: posting_terms
-- Which of the terms each of the documents holds.
SELECT document_id, term_id FROM search_posting
WHERE term_id = ANY (translate(:terms, '[]', '{}')::bigint[]) AND document_id = ANY (translate(:documents, '[]', '{}')::bigint[]);

-- name: document_keys
SELECT id, document FROM search_document WHERE id = ANY (translate(:ids, '[]', '{}')::bigint[]) AND partition_id = :partition;

-- name: document_ids
-- :documents is a JSON array of keys.
SELECT id FROM search_document
WHERE partition_id = :partition AND document = ANY (ARRAY(SELECT jsonb_array_elements_text(:documents::jsonb)));
