-- Entries, their use, links, suggestions and history. Times are ISO 8601 text in UTC with milliseconds, which sorts as it reads.
CREATE TABLE memory_entries (
  tenant        TEXT    NOT NULL,
  id            TEXT    NOT NULL,
  type          TEXT    NOT NULL,
  title         TEXT    NOT NULL,
  content       TEXT    NOT NULL,
  tags          TEXT    NOT NULL,  -- JSON array
  context       TEXT    NOT NULL,
  project       TEXT,
  confidence    INTEGER NOT NULL CHECK (confidence BETWEEN 0 AND 5),
  status        TEXT    NOT NULL CHECK (status IN ('active', 'obsolete')),
  memory_type   TEXT    NOT NULL,
  superseded_by TEXT,
  digest        BLOB    NOT NULL,
  created_at    TEXT    NOT NULL,
  updated_at    TEXT    NOT NULL,
  deleted_at    TEXT,
  PRIMARY KEY (tenant, id)
);
-- One active entry for one text.
CREATE UNIQUE INDEX memory_entries_text ON memory_entries (tenant, digest) WHERE status = 'active' AND deleted_at IS NULL;
CREATE INDEX memory_entries_digest ON memory_entries (tenant, digest);
CREATE INDEX memory_entries_project ON memory_entries (tenant, project, id);

CREATE TABLE memory_tags (
  tenant   TEXT NOT NULL,
  tag      TEXT NOT NULL,
  entry_id TEXT NOT NULL,
  PRIMARY KEY (tenant, tag, entry_id)
) WITHOUT ROWID;
CREATE INDEX memory_tags_entry ON memory_tags (tenant, entry_id);

-- Apart from the entries, so that being read rewrites a few bytes and never a text.
CREATE TABLE memory_usage (
  tenant        TEXT    NOT NULL,
  entry_id      TEXT    NOT NULL,
  access_count  INTEGER NOT NULL,
  last_accessed TEXT    NOT NULL,
  PRIMARY KEY (tenant, entry_id)
) WITHOUT ROWID;

CREATE TABLE memory_links (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  source_id  TEXT NOT NULL,
  target_id  TEXT NOT NULL CHECK (target_id <> source_id),
  relation   TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (tenant, source_id, target_id, relation)
) WITHOUT ROWID;
CREATE INDEX memory_links_target ON memory_links (tenant, target_id);

CREATE TABLE memory_suggestions (
  tenant      TEXT NOT NULL,
  id          TEXT NOT NULL,
  type        TEXT NOT NULL,
  key         TEXT NOT NULL,  -- sorted ids: a pair or a cluster is suggested once, whatever became of it
  entry_ids   TEXT NOT NULL,  -- JSON array
  score       REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
  reason      TEXT NOT NULL,
  decision    TEXT NOT NULL CHECK (decision IN ('pending', 'accepted', 'rejected')),
  created_at  TEXT NOT NULL,
  resolved_at TEXT,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, key)
);
CREATE INDEX memory_suggestions_pending ON memory_suggestions (tenant, type, score) WHERE decision = 'pending';

CREATE TABLE memory_suggestion_entries (
  tenant        TEXT NOT NULL,
  entry_id      TEXT NOT NULL,
  suggestion_id TEXT NOT NULL,
  PRIMARY KEY (tenant, entry_id, suggestion_id)
) WITHOUT ROWID;

CREATE TABLE memory_history (
  tenant     TEXT    NOT NULL,
  entry_id   TEXT    NOT NULL,
  revision   INTEGER NOT NULL,
  action     TEXT    NOT NULL,
  changed_at TEXT    NOT NULL,
  before     TEXT    NOT NULL,  -- JSON of the fields as they were
  PRIMARY KEY (tenant, entry_id, revision)
) WITHOUT ROWID;
