-- Named queries of write_buffer.py: SQLite only.

-- name: waiting_state
-- Ids only grow, so states of one partition with the same newest document and the same number are the same.
SELECT count(*), coalesce(max(document_id), 0) FROM search_waiting WHERE partition_id = :partition;

-- name: waiting_ids
SELECT document_id FROM search_waiting WHERE partition_id = :partition ORDER BY document_id;

-- name: waiting_documents
SELECT d.id, d.document, d.terms FROM search_waiting w CROSS JOIN search_document d ON d.id = w.document_id
WHERE w.partition_id = :partition AND w.document_id > :after ORDER BY w.document_id;

-- name: waiting_add
INSERT INTO search_waiting (partition_id, document_id) VALUES (:partition, :document);

-- name: waiting_remove
-- :documents is a JSON array of ids.
DELETE FROM search_waiting WHERE partition_id = :partition AND document_id IN (SELECT value FROM json_each(:documents));
