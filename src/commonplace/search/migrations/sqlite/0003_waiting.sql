-- Documents whose words are not in search_posting and search_term yet: a search reads them from search_document.terms instead.
-- Their lengths are counted in search_field already.
CREATE TABLE search_waiting (
    partition_id INTEGER NOT NULL REFERENCES search_partition (id) ON DELETE CASCADE,
    document_id  INTEGER NOT NULL,
    PRIMARY KEY (partition_id, document_id)
) WITHOUT ROWID;
