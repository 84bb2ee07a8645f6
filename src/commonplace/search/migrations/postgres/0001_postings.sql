-- Documents, terms and postings of every collection, in the shape they have in SQLite. Terms and documents belong to one partition, so a
-- posting does too: no statistic and no answer comes from another tenant.
CREATE TABLE search_partition (
    id          BIGSERIAL PRIMARY KEY,
    tenant      TEXT   COLLATE "C" NOT NULL,
    collection  TEXT   COLLATE "C" NOT NULL,
    scope       TEXT   COLLATE "C" NOT NULL,
    UNIQUE (tenant, collection, scope)
);

-- How many documents of the partition have the field, and how many terms they hold together.
CREATE TABLE search_field (
    partition_id BIGINT NOT NULL REFERENCES search_partition (id) ON DELETE CASCADE,
    field        TEXT   COLLATE "C" NOT NULL,
    documents    BIGINT NOT NULL,
    length       BIGINT NOT NULL,
    PRIMARY KEY (partition_id, field)
) WITH (fillfactor = 20);

-- `terms` is {field: {term: frequency}}: what must be taken out of the postings when the document goes. NULL where the domain keeps it.
CREATE TABLE search_document (
    id           BIGSERIAL PRIMARY KEY,
    partition_id BIGINT NOT NULL REFERENCES search_partition (id) ON DELETE CASCADE,
    document     TEXT   COLLATE "C" NOT NULL,
    terms        JSONB,
    UNIQUE (partition_id, document)
);

-- Counters change with every document: room on the page keeps those updates off the index.
CREATE TABLE search_term (
    id           BIGSERIAL PRIMARY KEY,
    partition_id BIGINT NOT NULL REFERENCES search_partition (id) ON DELETE CASCADE,
    term         TEXT   COLLATE "C" NOT NULL,
    field        TEXT   COLLATE "C" NOT NULL,
    documents    BIGINT NOT NULL,
    UNIQUE (partition_id, term, field)
) WITH (fillfactor = 70);

CREATE TABLE search_posting (
    term_id     BIGINT  NOT NULL,
    document_id BIGINT  NOT NULL,
    frequency   INTEGER NOT NULL,
    length      INTEGER NOT NULL,
    PRIMARY KEY (term_id, document_id) INCLUDE (frequency, length)
);

-- Ranking reads postings from the index alone, which needs the visibility map kept up to date.
ALTER TABLE search_posting SET (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.05);
