-- Named queries of memory that SQLite and PostgreSQL share. Each takes the tenant first, except `tenants`.
-- `:x` are parameters; lists travel as JSON arrays.

-- name: insert_entry
INSERT INTO memory_entries (tenant, id, type, title, content, tags, context, project, confidence, status, memory_type, superseded_by,
                            digest, created_at, updated_at, deleted_at, anchors)
VALUES (:tenant, :id, :type, :title, :content, :tags, :context, :project, :confidence, :status, :memory_type, :superseded_by,
        :digest, :created_at, :updated_at, :deleted_at, :anchors);

-- name: update_entry
UPDATE memory_entries
SET type = :type, title = :title, content = :content, tags = :tags, context = :context, project = :project, confidence = :confidence,
    status = :status, memory_type = :memory_type, superseded_by = :superseded_by, digest = :digest, updated_at = :updated_at,
    deleted_at = :deleted_at, anchors = :anchors
WHERE tenant = :tenant AND id = :id;

-- name: same_text
-- Another active entry with the same text.
SELECT id FROM memory_entries WHERE tenant = :tenant AND digest = :digest AND status = 'active' AND deleted_at IS NULL AND id <> :id;

-- name: known_text
-- The active entry with this text, else an obsolete one.
SELECT id, status FROM memory_entries WHERE tenant = :tenant AND digest = :digest AND deleted_at IS NULL ORDER BY status, id DESC LIMIT 1;

-- name: delete_tags
DELETE FROM memory_tags WHERE tenant = :tenant AND entry_id = :entry_id;

-- name: insert_tag
INSERT INTO memory_tags (tenant, tag, entry_id) VALUES (:tenant, :tag, :entry_id) ON CONFLICT DO NOTHING;

-- name: insert_link
INSERT INTO memory_links (tenant, id, source_id, target_id, relation, created_at)
VALUES (:tenant, :id, :source_id, :target_id, :relation, :created_at)
ON CONFLICT DO NOTHING RETURNING id;

-- name: link_id
SELECT id FROM memory_links
WHERE tenant = :tenant AND source_id = :source_id AND target_id = :target_id AND relation = :relation;

-- name: delete_link
DELETE FROM memory_links
WHERE tenant = :tenant AND source_id = :source_id AND target_id = :target_id AND relation = :relation;

-- name: links_outgoing
SELECT e.id, e.title, l.relation
FROM memory_links l JOIN memory_entries e ON e.tenant = l.tenant AND e.id = l.target_id
WHERE l.tenant = :tenant AND l.source_id = :id AND e.deleted_at IS NULL ORDER BY l.created_at, e.id;

-- name: links_incoming
SELECT e.id, e.title, l.relation
FROM memory_links l JOIN memory_entries e ON e.tenant = l.tenant AND e.id = l.source_id
WHERE l.tenant = :tenant AND l.target_id = :id AND e.deleted_at IS NULL ORDER BY l.created_at, e.id;

-- name: links_all
SELECT id, source_id, target_id, relation, created_at FROM memory_links WHERE tenant = :tenant ORDER BY created_at, id;

-- name: insert_suggestion
INSERT INTO memory_suggestions (tenant, id, type, key, entry_ids, score, reason, decision, created_at, resolved_at)
VALUES (:tenant, :id, :type, :key, :entry_ids, :score, :reason, :decision, :created_at, NULL)
ON CONFLICT DO NOTHING RETURNING id;

-- name: insert_suggestion_entry
INSERT INTO memory_suggestion_entries (tenant, entry_id, suggestion_id) VALUES (:tenant, :entry_id, :suggestion_id) ON CONFLICT DO NOTHING;

-- name: delete_suggestion
DELETE FROM memory_suggestions WHERE tenant = :tenant AND id = :id AND decision = 'pending';

-- name: delete_suggestion_entries
DELETE FROM memory_suggestion_entries WHERE tenant = :tenant AND entry_id = :entry_id AND suggestion_id = :suggestion_id;

-- name: accepted_link
-- Whether a pair was accepted as a link.
SELECT 1 FROM memory_suggestions WHERE tenant = :tenant AND key = :key AND type = 'link' AND decision = 'accepted';

-- name: revise_suggestion
UPDATE memory_suggestions SET type = :type, score = :score, reason = :reason, created_at = :created_at
WHERE tenant = :tenant AND id = :id AND decision = 'pending';

-- name: count_entries
SELECT type, coalesce(project, ''), status, count(*) FROM memory_entries
WHERE tenant = :tenant AND deleted_at IS NULL GROUP BY type, project, status;

-- name: count_deleted
SELECT count(*) FROM memory_entries WHERE tenant = :tenant AND deleted_at IS NOT NULL;

-- name: count_links
SELECT count(*) FROM memory_links WHERE tenant = :tenant;

-- name: count_suggestions
SELECT decision, count(*) FROM memory_suggestions WHERE tenant = :tenant GROUP BY decision;

-- name: tenants
-- For operators: the only query without a tenant.
SELECT DISTINCT tenant FROM memory_entries ORDER BY tenant;

-- name: entry_of_any
SELECT id FROM memory_entries WHERE tenant = :tenant LIMIT 1;

-- name: move_entries
UPDATE memory_entries SET tenant = :new WHERE tenant = :old;

-- name: move_tags
UPDATE memory_tags SET tenant = :new WHERE tenant = :old;

-- name: move_usage
UPDATE memory_usage SET tenant = :new WHERE tenant = :old;

-- name: move_links
UPDATE memory_links SET tenant = :new WHERE tenant = :old;

-- name: move_suggestions
UPDATE memory_suggestions SET tenant = :new WHERE tenant = :old;

-- name: move_suggestion_entries
UPDATE memory_suggestion_entries SET tenant = :new WHERE tenant = :old;

-- name: move_history
UPDATE memory_history SET tenant = :new WHERE tenant = :old;

-- name: delete_all_entries
DELETE FROM memory_entries WHERE tenant = :tenant;

-- name: delete_all_tags
DELETE FROM memory_tags WHERE tenant = :tenant;

-- name: delete_all_usage
DELETE FROM memory_usage WHERE tenant = :tenant;

-- name: delete_all_links
DELETE FROM memory_links WHERE tenant = :tenant;

-- name: delete_all_suggestions
DELETE FROM memory_suggestions WHERE tenant = :tenant;

-- name: delete_all_suggestion_entries
DELETE FROM memory_suggestion_entries WHERE tenant = :tenant;

-- name: delete_all_history
DELETE FROM memory_history WHERE tenant = :tenant;

-- name: delete_all_partitions
DELETE FROM search_partition WHERE tenant = :tenant AND collection = :collection;

-- name: move_outcomes
UPDATE memory_outcomes SET tenant = :new WHERE tenant = :old;

-- name: move_purges
UPDATE memory_purges SET tenant = :new WHERE tenant = :old;

-- name: delete_all_outcomes
DELETE FROM memory_outcomes WHERE tenant = :tenant;

-- name: delete_all_purges
DELETE FROM memory_purges WHERE tenant = :tenant;

-- name: insert_outcome
INSERT INTO memory_outcomes (tenant, entry_id, id, outcome, note, created_at)
VALUES (:tenant, :entry_id, :id, :outcome, :note, :created_at);

-- name: resolve_suggestion
UPDATE memory_suggestions SET resolved_at = :moment WHERE tenant = :tenant AND id = :id;

-- name: reject_pending
UPDATE memory_suggestions SET decision = 'rejected', resolved_at = :moment
WHERE tenant = :tenant AND key = :key AND decision = 'pending';

-- name: insert_purge
INSERT INTO memory_purges (tenant, id, entries, revisions, created_at) VALUES (:tenant, :id, :entries, :revisions, :created_at);

-- name: last_purge
SELECT max(created_at) FROM memory_purges WHERE tenant = :tenant AND entries > 0;

-- name: purge_entry
DELETE FROM memory_entries WHERE tenant = :tenant AND id = :id AND deleted_at IS NOT NULL RETURNING id;

-- name: repoint_superseded
UPDATE memory_entries SET superseded_by = :successor WHERE tenant = :tenant AND id = :id;

-- name: purge_usage
DELETE FROM memory_usage WHERE tenant = :tenant AND entry_id = :entry_id;

-- name: purge_links
DELETE FROM memory_links WHERE tenant = :tenant AND (source_id = :entry_id OR target_id = :entry_id);

-- name: purge_history
DELETE FROM memory_history WHERE tenant = :tenant AND entry_id = :entry_id;

-- name: purge_outcomes
DELETE FROM memory_outcomes WHERE tenant = :tenant AND entry_id = :entry_id;

-- name: purge_suggestions
-- Those about the entry; decided clusters stay, so that what is left of them is not proposed again.
DELETE FROM memory_suggestions WHERE tenant = :tenant AND (decision = 'pending' OR type <> 'generalize') AND id IN (
  SELECT suggestion_id FROM memory_suggestion_entries WHERE tenant = :tenant AND entry_id = :entry_id);

-- name: purge_mentions
-- Entries of suggestions that are not there any more.
DELETE FROM memory_suggestion_entries WHERE tenant = :tenant AND suggestion_id IN (
  SELECT m.suggestion_id FROM memory_suggestion_entries m WHERE m.tenant = :tenant AND m.entry_id = :entry_id)
  AND NOT EXISTS (SELECT 1 FROM memory_suggestions s
                  WHERE s.tenant = memory_suggestion_entries.tenant AND s.id = memory_suggestion_entries.suggestion_id);

-- name: blank_suggestions
-- A reason quotes the entries.
UPDATE memory_suggestions SET reason = '' WHERE tenant = :tenant AND id IN (
  SELECT suggestion_id FROM memory_suggestion_entries WHERE tenant = :tenant AND entry_id = :entry_id);

-- name: revisions_of
SELECT count(*) FROM memory_history WHERE tenant = :tenant AND entry_id = :entry_id;
