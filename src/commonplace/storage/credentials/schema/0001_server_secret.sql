-- One secret that all servers of this database share: it signs what they hand out, such as cookies.
CREATE TABLE server_secret (
    name TEXT COLLATE "C" PRIMARY KEY,
    secret BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
