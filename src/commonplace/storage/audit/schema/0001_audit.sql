-- A data folder that feeds the trail, and when it last reported. `closed`: it ended as planned and owes nothing.
CREATE TABLE audit_origin (
    origin TEXT PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL,
    closed BOOLEAN NOT NULL
);

-- A chain: what arrived (count, hash), what its folder reported (head), and where retention cut it.
CREATE TABLE audit_chain (
    chain TEXT PRIMARY KEY,
    origin TEXT NOT NULL,
    count BIGINT NOT NULL,
    hash TEXT NOT NULL,
    head_count BIGINT NOT NULL,
    head_hash TEXT NOT NULL,
    first_seq BIGINT NOT NULL,
    first_prev TEXT NOT NULL,
    problem TEXT
);

-- Records as they were written; the columns beside `line` are for queries, only `line` is proof.
CREATE TABLE audit_record (
    chain TEXT NOT NULL,
    seq BIGINT NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL,
    line TEXT NOT NULL,
    ts TEXT COLLATE "C" NOT NULL,
    type TEXT NOT NULL,
    tenant TEXT,
    tool TEXT,
    name TEXT,
    outcome TEXT,
    code TEXT,
    trace_id TEXT,
    PRIMARY KEY (chain, seq)
);
CREATE INDEX audit_record_ts ON audit_record (ts DESC, seq DESC) WHERE type = 'call';
CREATE INDEX audit_record_tenant ON audit_record (tenant, ts DESC) WHERE type = 'call';
CREATE INDEX audit_record_trace ON audit_record (trace_id) WHERE trace_id <> '';
