-- Proposals of captures, by tenant; decided ones stay, so that a rejected one is not proposed again. Times are microseconds since 1970.
CREATE TABLE capture_queue (
    tenant     TEXT   COLLATE "C" NOT NULL,
    id         TEXT   COLLATE "C" NOT NULL,
    kind       TEXT   COLLATE "C" NOT NULL,
    state      TEXT   COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    document   TEXT   NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX capture_queue_age ON capture_queue (tenant, state, created_at);
