-- What became of entries that were used: reports with their notes, and their numbers beside the accesses, where a search reads them.
CREATE TABLE memory_outcomes (
    tenant     TEXT        COLLATE "C" NOT NULL,
    entry_id   TEXT        COLLATE "C" NOT NULL,
    id         TEXT        COLLATE "C" NOT NULL,
    outcome    TEXT        NOT NULL CHECK (outcome IN ('confirmed', 'refuted')),
    note       TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant, entry_id, id)
);
ALTER TABLE memory_usage ADD COLUMN confirmed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE memory_usage ADD COLUMN refuted BIGINT NOT NULL DEFAULT 0;
ALTER TABLE memory_usage ADD COLUMN last_confirmed TIMESTAMPTZ;

-- Numbers only: what was purged leaves no text.
CREATE TABLE memory_purges (
    tenant     TEXT        COLLATE "C" NOT NULL,
    id         TEXT        COLLATE "C" NOT NULL,
    entries    BIGINT      NOT NULL,
    revisions  BIGINT      NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX memory_entries_created ON memory_entries (tenant, created_at);
CREATE INDEX memory_entries_deleted ON memory_entries (tenant, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX memory_history_changed ON memory_history (tenant, changed_at);
CREATE INDEX memory_links_created ON memory_links (tenant, created_at);
CREATE INDEX memory_outcomes_created ON memory_outcomes (tenant, created_at);

-- What happened, for the timeline.
CREATE VIEW memory_events AS
SELECT tenant, created_at AS at, 'added' AS kind, id AS entry_id, '' AS other_id, '' AS detail FROM memory_entries
UNION ALL
SELECT tenant, changed_at,
       CASE action WHEN 'supersede' THEN 'superseded' WHEN 'delete' THEN 'deleted' WHEN 'restore' THEN 'restored'
                   WHEN 'bring back' THEN 'reactivated' WHEN 'merge' THEN 'merged' ELSE 'changed' END,
       entry_id, '', '' FROM memory_history
UNION ALL
SELECT tenant, created_at, 'contradicted', target_id, source_id, '' FROM memory_links WHERE relation = 'contradicts'
UNION ALL
SELECT tenant, created_at, 'contradicted', entry_ids ->> 1, entry_ids ->> 0, reason FROM memory_suggestions
WHERE type = 'contradiction' AND decision = 'pending' AND listed
UNION ALL
SELECT tenant, created_at, outcome, entry_id, '', note FROM memory_outcomes
UNION ALL
SELECT tenant, created_at, 'purged', '', '', entries || ' entries, ' || revisions || ' earlier states' FROM memory_purges;
