-- Posting lists of frequent terms in one value each, so that a search that meets them for the first time reads them at once. Derived
-- from search_posting, which stays the truth: a list may lack the newest documents and may hold removed ones.
CREATE TABLE search_packed (
    term_id     INTEGER PRIMARY KEY REFERENCES search_term (id) ON DELETE CASCADE,
    postings    BLOB    NOT NULL
);

-- How a partition stood when its lists were packed: the last document id, and how many documents there were up to it.
CREATE TABLE search_packing (
    partition_id INTEGER PRIMARY KEY REFERENCES search_partition (id) ON DELETE CASCADE,
    upto         INTEGER NOT NULL,
    documents    INTEGER NOT NULL
);
