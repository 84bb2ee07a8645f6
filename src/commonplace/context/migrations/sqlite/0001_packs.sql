-- Packs that were given, for `since` and feedback, and what was said about their items. Times are microseconds since 1970.
CREATE TABLE context_packs (
    tenant     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    shown      TEXT    NOT NULL,
    sections   TEXT    NOT NULL,
    judged     TEXT    NOT NULL DEFAULT '[]',
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX context_packs_age ON context_packs (tenant, created_at);

CREATE TABLE context_uses (
    tenant     TEXT    NOT NULL,
    ref        TEXT    NOT NULL,
    used       INTEGER NOT NULL,
    useless    INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, ref)
) STRICT, WITHOUT ROWID;
CREATE INDEX context_uses_age ON context_uses (tenant, updated_at);
