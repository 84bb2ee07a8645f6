-- Resources that sessions follow, and a hash of the state that the client was told of. The server
-- with the GET stream of a session looks for changes. `digest` is the hash of the address.
CREATE TABLE mcp_session_subscriptions (
    session_id  TEXT COLLATE "C" NOT NULL REFERENCES mcp_sessions (id) ON DELETE CASCADE,
    digest      TEXT COLLATE "C" NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (session_id, digest)
);
