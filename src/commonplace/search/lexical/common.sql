-- Statements of the lexical store that are the same in SQLite and PostgreSQL.

-- name: partition_id
SELECT id FROM search_partition WHERE tenant = :tenant AND collection = :collection AND scope = :scope;

-- name: fields
SELECT field, documents, length FROM search_field WHERE partition_id = :partition;

-- name: document_remove
DELETE FROM search_document WHERE id = :id;

-- name: documents_with_prefix
-- `:upper` is the least string above every string with the prefix.
SELECT document FROM search_document
WHERE partition_id = :partition AND document >= :prefix AND document < :upper ORDER BY document;

-- name: document_count
SELECT count(*) FROM search_document WHERE partition_id = :partition;

-- name: partition_postings_remove
DELETE FROM search_posting WHERE term_id IN (SELECT id FROM search_term WHERE partition_id = :partition);

-- name: partition_remove
DELETE FROM search_partition WHERE id = :partition;

-- name: terms_drop_unused
DELETE FROM search_term WHERE partition_id = :partition AND documents <= 0;
