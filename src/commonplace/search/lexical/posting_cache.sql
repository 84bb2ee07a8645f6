-- Named queries of posting_cache.py and packing.py: SQLite only.

-- name: postings_after
-- Postings of a term behind a document id, in one value: id * :shift + frequency << 16 + length, both capped to their bits.
SELECT json_group_array(document_id * :shift + min(frequency, 32767) * 65536 + min(length, 65535)) FROM (
    SELECT document_id, frequency, length FROM search_posting WHERE term_id = :term AND document_id > :after ORDER BY document_id
);

-- name: packed
SELECT postings FROM search_packed WHERE term_id = :term;

-- name: packed_put
-- Nothing where the term went meanwhile.
INSERT OR REPLACE INTO search_packed (term_id, postings) SELECT id, :postings FROM search_term WHERE id = :term;

-- name: packable_partitions
-- Partitions with enough documents, and how they stood when their lists were packed.
SELECT f.partition_id, max(f.documents), sum(f.length), coalesce(s.upto, 0), coalesce(s.documents, 0)
FROM search_field f LEFT JOIN search_packing s ON s.partition_id = f.partition_id
GROUP BY f.partition_id HAVING max(f.documents) >= :least;

-- name: packed_since
-- Documents up to an id, and behind it. The index has the ids, so the documents themselves are not read.
SELECT coalesce(sum(id <= :upto), 0), coalesce(sum(id > :upto), 0)
FROM search_document INDEXED BY sqlite_autoindex_search_document_1 WHERE partition_id = :partition;

-- name: last_document
SELECT coalesce(max(id), 0) FROM search_document;

-- name: packable_terms
SELECT id, documents FROM search_term WHERE partition_id = :partition AND documents >= :least ORDER BY id;

-- name: packing_done
INSERT OR REPLACE INTO search_packing (partition_id, upto, documents)
SELECT id, :upto, :documents FROM search_partition WHERE id = :partition;
