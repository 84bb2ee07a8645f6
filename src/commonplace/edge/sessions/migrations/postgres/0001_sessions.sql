-- Sessions of MCP clients. `opening` is the initialize request: a server that meets a session for
-- the first time replays it to itself.
CREATE TABLE mcp_sessions (
    id         TEXT COLLATE "C" PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    key_name   TEXT COLLATE "C" NOT NULL,
    opening    TEXT COLLATE "C" NOT NULL,
    used_at    TIMESTAMPTZ NOT NULL DEFAULT now(),
    busy_until TIMESTAMPTZ NOT NULL DEFAULT '-infinity'
);
CREATE INDEX idx_mcp_sessions_key ON mcp_sessions (key_name, used_at);
CREATE INDEX idx_mcp_sessions_used ON mcp_sessions (used_at);

-- Recent events of streams, for clients that resume on another server. Nothing that must survive
-- a crash of the database: not logged.
CREATE UNLOGGED TABLE mcp_session_events (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    stream     TEXT COLLATE "C" NOT NULL,
    event_id   TEXT COLLATE "C" NOT NULL,
    message    TEXT COLLATE "C",
    stored_at  TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX idx_mcp_session_events_stream ON mcp_session_events (session_id, stream, number);
CREATE INDEX idx_mcp_session_events_stored ON mcp_session_events (stored_at);

-- Messages of clients for another server: answers to its requests, and cancellations.
CREATE UNLOGGED TABLE mcp_session_messages (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    message    TEXT COLLATE "C" NOT NULL,
    sent_at    TIMESTAMPTZ NOT NULL DEFAULT now()
);
