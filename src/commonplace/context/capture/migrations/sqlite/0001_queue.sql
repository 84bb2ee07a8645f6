-- Proposals of captures, by tenant; decided ones stay, so that a rejected one is not proposed again. Times are microseconds since 1970.
CREATE TABLE capture_queue (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    document   TEXT    NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX capture_queue_age ON capture_queue (tenant, state, created_at);
