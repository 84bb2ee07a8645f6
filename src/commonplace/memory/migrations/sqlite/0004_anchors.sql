-- The code that an entry speaks of: repository, path, symbol or lines, and a hash of the text.
ALTER TABLE memory_entries ADD COLUMN anchors TEXT NOT NULL DEFAULT '[]';  -- JSON array
CREATE INDEX memory_entries_anchored ON memory_entries (tenant, id) WHERE anchors <> '[]' AND deleted_at IS NULL AND status = 'active';
