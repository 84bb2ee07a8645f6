-- Keys of callers, as hashes. `revision` grows with every change, so that servers read only what changed.
CREATE TABLE api_key (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    rotated_at TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ,
    expires_at TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ,
    revision BIGINT NOT NULL
);
CREATE INDEX api_key_revision ON api_key (revision);
CREATE INDEX api_key_tenant ON api_key (tenant);

-- One row. Changes lock it, so that revisions are committed in order; `generation` grows with deletions.
CREATE TABLE api_key_state (
    single BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (single),
    revision BIGINT NOT NULL,
    generation BIGINT NOT NULL
);
