-- Named queries of search/posting_cache.py: SQLite only.

-- name: postings_after
-- Postings of a term behind a document id, in one value: id * :shift + frequency << 16 + length, both capped to their bits.
SELECT json_group_array(document_id * :shift + min(frequency, 32767) * 65536 + min(length, 65535)) FROM (
    SELECT document_id, frequency, length FROM search_posting WHERE term_id = :term AND document_id > :after ORDER BY document_id
);
