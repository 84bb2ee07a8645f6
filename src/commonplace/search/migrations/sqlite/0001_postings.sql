-- Documents, terms and postings of every collection. Terms and documents belong to one partition, so a posting does too.
CREATE TABLE search_partition (
    id          INTEGER PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    collection  TEXT    NOT NULL,
    scope       TEXT    NOT NULL,
    UNIQUE (tenant, collection, scope)
);

-- How many documents of the partition have the field, and how many terms they hold together.
CREATE TABLE search_field (
    partition_id INTEGER NOT NULL REFERENCES search_partition (id) ON DELETE CASCADE,
    field        TEXT    NOT NULL,
    documents    INTEGER NOT NULL,
    length       INTEGER NOT NULL,
    PRIMARY KEY (partition_id, field)
) WITHOUT ROWID;

-- `terms` is {field: {term: frequency}}: what must be taken out of the postings when the document goes. Ids are never reused.
CREATE TABLE search_document (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    partition_id INTEGER NOT NULL REFERENCES search_partition (id) ON DELETE CASCADE,
    document     TEXT    NOT NULL,
    terms        TEXT    NOT NULL,
    UNIQUE (partition_id, document)
);

CREATE TABLE search_term (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    partition_id INTEGER NOT NULL REFERENCES search_partition (id) ON DELETE CASCADE,
    term         TEXT    NOT NULL,
    field        TEXT    NOT NULL,
    documents    INTEGER NOT NULL,
    UNIQUE (partition_id, term, field)
);

CREATE TABLE search_posting (
    term_id     INTEGER NOT NULL,
    document_id INTEGER NOT NULL,
    frequency   INTEGER NOT NULL,
    length      INTEGER NOT NULL,
    PRIMARY KEY (term_id, document_id)
) WITHOUT ROWID;
