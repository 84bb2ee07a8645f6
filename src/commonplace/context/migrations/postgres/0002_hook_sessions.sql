-- What each session of a client was given by hooks: `state` is the JSON that a data folder has in a file. `id` is the hash of client,
-- session and agent. Times are microseconds since 1970.
CREATE TABLE context_hook_sessions (
    tenant  TEXT   COLLATE "C" NOT NULL,
    id      TEXT   COLLATE "C" NOT NULL,
    used_at BIGINT NOT NULL,
    state   TEXT   NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX context_hook_sessions_age ON context_hook_sessions (tenant, used_at);
