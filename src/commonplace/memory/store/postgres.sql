-- Named queries of memory in PostgreSQL's dialect: names and parameters as in sqlite.sql.
-- JSON columns are read as text.

-- name: entry
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at
FROM memory_entries WHERE tenant = :tenant AND id = :id AND (:deleted::boolean OR deleted_at IS NULL);

-- name: entries_by_id
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at
FROM memory_entries
WHERE tenant = :tenant AND id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb))) AND deleted_at IS NULL;

-- name: entries_by_prefix
-- Ids are upper-case ASCII, so '~' is above every one that begins with the prefix.
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at
FROM memory_entries
WHERE tenant = :tenant AND id >= :prefix::text AND id < :prefix::text || '~' AND (:deleted::boolean OR deleted_at IS NULL)
ORDER BY id LIMIT :limit;

-- name: entries_page
-- Newest first. A filter that is NULL admits everything.
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at
FROM memory_entries
WHERE tenant = :tenant
  AND (:type::text IS NULL OR type = :type)
  AND (:project::text IS NULL OR project = :project)
  AND (:status::text IS NULL OR status = :status)
  AND (:tag::text IS NULL OR id IN (SELECT entry_id FROM memory_tags WHERE tenant = :tenant AND tag = :tag))
  AND (deleted_at IS NOT NULL) = :deleted::boolean
ORDER BY id DESC LIMIT :limit OFFSET :offset;

-- name: entries_count
SELECT count(*) FROM memory_entries
WHERE tenant = :tenant
  AND (:type::text IS NULL OR type = :type)
  AND (:project::text IS NULL OR project = :project)
  AND (:status::text IS NULL OR status = :status)
  AND (:tag::text IS NULL OR id IN (SELECT entry_id FROM memory_tags WHERE tenant = :tenant AND tag = :tag))
  AND (deleted_at IS NOT NULL) = :deleted::boolean;

-- name: entries_all
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at
FROM memory_entries WHERE tenant = :tenant AND deleted_at IS NULL ORDER BY id;

-- name: entries_unread
-- Active entries neither read nor changed since a moment, longest unused first.
SELECT e.id, e.type, e.title, e.content, e.tags::text, e.context, e.project, e.confidence, e.status, e.memory_type, e.superseded_by,
       e.created_at, e.updated_at, e.deleted_at
FROM memory_entries e LEFT JOIN memory_usage u ON u.tenant = e.tenant AND u.entry_id = e.id
WHERE e.tenant = :tenant AND e.deleted_at IS NULL AND e.status = 'active' AND greatest(e.updated_at, u.last_accessed) < :moment::timestamptz
ORDER BY greatest(e.updated_at, u.last_accessed), e.id LIMIT :limit;

-- name: entries_unread_count
SELECT count(*)
FROM memory_entries e LEFT JOIN memory_usage u ON u.tenant = e.tenant AND u.entry_id = e.id
WHERE e.tenant = :tenant AND e.deleted_at IS NULL AND e.status = 'active' AND greatest(e.updated_at, u.last_accessed) < :moment::timestamptz;

-- name: insert_history
INSERT INTO memory_history (tenant, entry_id, revision, action, changed_at, before)
SELECT :tenant, :entry_id, coalesce(max(revision), 0) + 1, :action, :changed_at::timestamptz, :before::jsonb
FROM memory_history WHERE tenant = :tenant AND entry_id = :entry_id;

-- name: history
SELECT revision, action, changed_at, before::text FROM memory_history WHERE tenant = :tenant AND entry_id = :entry_id ORDER BY revision;

-- name: usage
SELECT entry_id, access_count, last_accessed FROM memory_usage
WHERE tenant = :tenant AND entry_id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb)));

-- name: add_usage
INSERT INTO memory_usage (tenant, entry_id, access_count, last_accessed) VALUES (:tenant, :entry_id, :count, :moment)
ON CONFLICT (tenant, entry_id) DO UPDATE
SET access_count = memory_usage.access_count + excluded.access_count,
    last_accessed = greatest(memory_usage.last_accessed, excluded.last_accessed);

-- name: links_among
SELECT id, source_id, target_id, relation, created_at FROM memory_links
WHERE tenant = :tenant AND source_id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb)))
UNION
SELECT id, source_id, target_id, relation, created_at FROM memory_links
WHERE tenant = :tenant AND target_id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb)))
ORDER BY created_at, id;

-- name: suggestion
SELECT id, type, entry_ids::text, score, reason, created_at, decision, resolved_at
FROM memory_suggestions WHERE tenant = :tenant AND id = :id;

-- name: suggestions_listed
-- Best first, of one type.
SELECT id, type, entry_ids::text, score, reason, created_at, decision, resolved_at
FROM memory_suggestions WHERE tenant = :tenant AND decision = 'pending' AND listed AND type = :type
ORDER BY score DESC, id LIMIT :limit;

-- name: suggestions_listed_count
SELECT count(*) FROM memory_suggestions WHERE tenant = :tenant AND decision = 'pending' AND listed AND type = :type;

-- name: suggestions_about
-- The pending suggestions that name an entry.
SELECT s.id, s.type, s.entry_ids::text, s.score, s.reason, s.created_at, s.decision, s.resolved_at
FROM memory_suggestion_entries m JOIN memory_suggestions s ON s.tenant = m.tenant AND s.id = m.suggestion_id
WHERE m.tenant = :tenant AND m.entry_id = :entry_id AND s.decision = 'pending' ORDER BY s.id;

-- name: refresh_suggestions
-- Decide which pending suggestions about these entries are listed: not those about a deleted entry, contradictions of an
-- obsolete one, pairs that were linked since, and clusters that a pattern was derived from.
UPDATE memory_suggestions AS s SET listed = (
  NOT EXISTS (SELECT 1 FROM memory_entries e
              WHERE e.tenant = s.tenant AND e.id = ANY (ARRAY(SELECT jsonb_array_elements_text(s.entry_ids)))
                AND (e.deleted_at IS NOT NULL OR (s.type = 'contradiction' AND e.status <> 'active')))
  AND CASE s.type
    WHEN 'generalize' THEN EXISTS (
      SELECT 1 FROM jsonb_array_elements_text(s.entry_ids) AS m (id)
      WHERE NOT EXISTS (SELECT 1 FROM memory_links l WHERE l.tenant = s.tenant AND l.target_id = m.id AND l.relation = 'derived_from'))
    ELSE NOT EXISTS (
      SELECT 1 FROM memory_links l
      WHERE l.tenant = s.tenant AND l.source_id IN (s.entry_ids ->> 0, s.entry_ids ->> 1)
        AND l.target_id IN (s.entry_ids ->> 0, s.entry_ids ->> 1)
        AND (s.type = 'link' OR l.relation IN ('contradicts', 'supersedes') OR l.created_at >= s.created_at))
  END
)
WHERE s.tenant = :tenant AND s.decision = 'pending' AND s.id = ANY (ARRAY(
  SELECT m.suggestion_id FROM memory_suggestion_entries m
  WHERE m.tenant = :tenant AND m.entry_id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb)))));

-- name: clusters_with
SELECT DISTINCT s.id, s.type, s.entry_ids::text, s.score, s.reason, s.created_at, s.decision, s.resolved_at
FROM memory_suggestion_entries m JOIN memory_suggestions s ON s.tenant = m.tenant AND s.id = m.suggestion_id
WHERE m.tenant = :tenant AND m.entry_id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb))) AND s.type = 'generalize' ORDER BY s.id;

-- name: decide
UPDATE memory_suggestions SET decision = :decision, resolved_at = :moment
WHERE tenant = :tenant AND id = :id AND decision = 'pending'
RETURNING id, type, entry_ids::text, score, reason, created_at, decision, resolved_at;

-- name: count_accesses
SELECT coalesce(sum(access_count), 0)::bigint FROM memory_usage WHERE tenant = :tenant;

-- name: delete_all_vectors
DELETE FROM memory_vectors WHERE tenant = :tenant;
