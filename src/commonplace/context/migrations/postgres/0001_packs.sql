-- Packs that were given, for `since` and feedback, and what was said about their items. Times are microseconds since 1970.
CREATE TABLE context_packs (
    tenant     TEXT   COLLATE "C" NOT NULL,
    id         TEXT   COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    shown      TEXT   NOT NULL,
    sections   TEXT   NOT NULL,
    judged     TEXT   NOT NULL DEFAULT '[]',
    PRIMARY KEY (tenant, id)
);
CREATE INDEX context_packs_age ON context_packs (tenant, created_at);

CREATE TABLE context_uses (
    tenant     TEXT   COLLATE "C" NOT NULL,
    ref        TEXT   COLLATE "C" NOT NULL,
    used       BIGINT NOT NULL,
    useless    BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, ref)
);
CREATE INDEX context_uses_age ON context_uses (tenant, updated_at);
