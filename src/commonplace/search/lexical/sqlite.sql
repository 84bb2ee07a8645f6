-- Named queries of index_searcher.py and index_writer.py; postgres.sql has the same names and parameters.
-- Every one starts from a partition, which names tenant, collection and scope.

-- name: partition_lock
-- The same before a change; here the writer has the whole database.
SELECT id FROM search_partition WHERE tenant = :tenant AND collection = :collection AND scope = :scope;

-- name: partition_add
INSERT INTO search_partition (tenant, collection, scope) VALUES (:tenant, :collection, :scope) RETURNING id;

-- name: field_change
INSERT INTO search_field (partition_id, field, documents, length) VALUES (:partition, :field, :documents, :length)
ON CONFLICT (partition_id, field) DO UPDATE SET documents = documents + excluded.documents, length = length + excluded.length;

-- name: document_terms
SELECT id, terms FROM search_document WHERE partition_id = :partition AND document = :document;

-- name: documents_terms
-- :documents is a JSON array of keys.
SELECT d.document, d.terms FROM json_each(:documents) AS wanted
CROSS JOIN search_document d ON d.partition_id = :partition AND d.document = wanted.value;

-- name: document_add
-- No row where the key is there already.
INSERT INTO search_document (partition_id, document, terms) VALUES (:partition, :document, :terms) ON CONFLICT DO NOTHING RETURNING id;

-- name: ids_with_prefix
SELECT id FROM search_document
WHERE partition_id = :partition AND document >= :prefix AND document < :upper LIMIT :limit;

-- name: terms_change
-- :terms is a JSON array of [term, field, change of its documents].
INSERT INTO search_term (partition_id, term, field, documents)
SELECT :partition, value ->> 0, value ->> 1, value ->> 2 FROM json_each(:terms) WHERE true
ON CONFLICT (partition_id, term, field) DO UPDATE SET documents = documents + excluded.documents
RETURNING id, term, field;

-- name: terms
-- :terms is a JSON array.
SELECT t.term, t.id, t.field, t.documents
FROM json_each(:terms) AS wanted CROSS JOIN search_term t ON t.partition_id = :partition AND t.term = wanted.value
WHERE t.documents > 0;

-- name: postings_add
-- :postings is a JSON array of [term id, document id, frequency, length].
INSERT INTO search_posting (term_id, document_id, frequency, length)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:postings);

-- name: postings_remove
-- :postings is a JSON array of [term id, document id].
DELETE FROM search_posting WHERE (term_id, document_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:postings));

-- name: rank
-- :terms is a JSON array of [term id, weight * idf * (k1 + 1), k1 * (1 - b), k1 * b / average length].
WITH query AS MATERIALIZED (
    SELECT value ->> 0 AS term_id, value ->> 1 AS gain, value ->> 2 AS base, value ->> 3 AS slope FROM json_each(:terms)
)
SELECT p.document_id, sum(query.gain * p.frequency / (p.frequency + query.base + query.slope * p.length)) AS score
FROM query CROSS JOIN search_posting p ON p.term_id = query.term_id
GROUP BY p.document_id ORDER BY score DESC, p.document_id LIMIT :limit;

-- name: rank_among
-- The same for a given set of documents, a JSON array of ids.
WITH query AS MATERIALIZED (
    SELECT value ->> 0 AS term_id, value ->> 1 AS gain, value ->> 2 AS base, value ->> 3 AS slope FROM json_each(:terms)
)
SELECT p.document_id, sum(query.gain * p.frequency / (p.frequency + query.base + query.slope * p.length)) AS score
FROM json_each(:documents) AS wanted CROSS JOIN query
JOIN search_posting p ON p.term_id = query.term_id AND p.document_id = wanted.value
GROUP BY p.document_id ORDER BY score DESC, p.document_id LIMIT :limit;

-- name: posting_terms
-- Which of the terms each of the documents holds.
SELECT p.document_id, p.term_id FROM json_each(:documents) AS d CROSS JOIN json_each(:terms) AS t
JOIN search_posting p ON p.term_id = t.value AND p.document_id = d.value;

-- name: document_keys
SELECT d.id, d.document FROM json_each(:ids) AS wanted CROSS JOIN search_document d ON d.id = wanted.value
WHERE d.partition_id = :partition;

-- name: document_ids
-- :documents is a JSON array of keys.
SELECT d.id FROM json_each(:documents) AS wanted CROSS JOIN search_document d ON d.partition_id = :partition AND d.document = wanted.value;
