-- A data folder that feeds the trail, and when it last reported. `closed`: it ended as planned and owes nothing.
CREATE TABLE audit_origin (
    origin TEXT COLLATE "C" PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL,
    closed BOOLEAN NOT NULL
);

-- A chain: what arrived (count, hash), what its folder reported (head), and where retention cut it.
CREATE TABLE audit_chain (
    chain TEXT COLLATE "C" PRIMARY KEY,
    origin TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    head_count BIGINT NOT NULL,
    head_hash TEXT COLLATE "C" NOT NULL,
    first_seq BIGINT NOT NULL,
    first_prev TEXT COLLATE "C" NOT NULL,
    problem TEXT COLLATE "C"
);

-- Records as they were written; the columns beside `line` are for queries, only `line` is proof.
CREATE TABLE audit_record (
    chain TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    prev TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    ts TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C",
    tool TEXT COLLATE "C",
    name TEXT COLLATE "C",
    outcome TEXT COLLATE "C",
    code TEXT COLLATE "C",
    trace_id TEXT COLLATE "C",
    PRIMARY KEY (chain, seq)
);
CREATE INDEX audit_record_ts ON audit_record (ts DESC, seq DESC) WHERE type = 'call';
CREATE INDEX audit_record_tenant ON audit_record (tenant, ts DESC) WHERE type = 'call';
CREATE INDEX audit_record_trace ON audit_record (trace_id) WHERE trace_id <> '';
