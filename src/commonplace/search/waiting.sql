-- Named queries of search/waiting.py: SQLite only.

-- name: waiting
-- A partition's waiting documents in one value; also what tells one state of them from another.
SELECT json_group_array(document_id) FROM (SELECT document_id FROM search_waiting WHERE partition_id = :partition ORDER BY document_id);

-- name: waiting_documents
SELECT id, document, terms FROM search_document WHERE id IN (SELECT value FROM json_each(:ids));

-- name: waiting_add
INSERT INTO search_waiting (partition_id, document_id) VALUES (:partition, :document);

-- name: waiting_remove
-- :documents is a JSON array of ids.
DELETE FROM search_waiting WHERE partition_id = :partition AND document_id IN (SELECT value FROM json_each(:documents));
