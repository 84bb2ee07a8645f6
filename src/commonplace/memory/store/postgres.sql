-- Named queries of memory in PostgreSQL's dialect: names and parameters as in sqlite.sql.
-- JSON columns are read as text.

-- name: entry
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at,
       anchors::text
FROM memory_entries WHERE tenant = :tenant AND id = :id AND (:deleted::boolean OR deleted_at IS NULL);

-- name: entries_by_id
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at,
       anchors::text
FROM memory_entries
WHERE tenant = :tenant AND id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb))) AND deleted_at IS NULL;

-- name: entries_by_prefix
-- Ids are upper-case ASCII, so '~' is above every one that begins with the prefix.
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at,
       anchors::text
FROM memory_entries
WHERE tenant = :tenant AND id >= :prefix::text AND id < :prefix::text || '~' AND (:deleted::boolean OR deleted_at IS NULL)
ORDER BY id LIMIT :limit;

-- name: entries_page
-- Newest first. A filter that is NULL admits everything.
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at,
       anchors::text
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
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at,
       anchors::text
FROM memory_entries WHERE tenant = :tenant AND deleted_at IS NULL ORDER BY id;

-- name: entries_anchored
-- Active entries that speak of code, by id.
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at,
       anchors::text
FROM memory_entries
WHERE tenant = :tenant AND id > :after::text AND anchors <> '[]' AND deleted_at IS NULL AND status = 'active'
ORDER BY id LIMIT :limit;

-- name: entries_unread
-- Active entries neither read nor changed since a moment, longest unused first.
SELECT e.id, e.type, e.title, e.content, e.tags::text, e.context, e.project, e.confidence, e.status, e.memory_type, e.superseded_by,
       e.created_at, e.updated_at, e.deleted_at, e.anchors::text
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
SELECT entry_id, access_count, last_accessed, confirmed, refuted, last_confirmed FROM memory_usage
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
-- Decide which pending suggestions about these entries are listed: not those about a deleted entry, contradictions and
-- duplicates of an obsolete one, pairs that were linked since, and clusters that a pattern was derived from. Each entry is
-- looked up by its key (LIMIT): with a list of keys the planner sometimes reads all entries.
UPDATE memory_suggestions AS s SET listed = (
  NOT EXISTS (SELECT 1 FROM jsonb_array_elements_text(s.entry_ids) AS m (id)
              CROSS JOIN LATERAL (SELECT e.deleted_at, e.status FROM memory_entries e
                                  WHERE e.tenant = s.tenant AND e.id = m.id LIMIT 1) AS e
              WHERE e.deleted_at IS NOT NULL OR (s.type IN ('contradiction', 'duplicate') AND e.status <> 'active'))
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

-- name: pending_contradictions
-- The undecided contradictions that name any of these entries.
SELECT DISTINCT s.id, s.type, s.entry_ids::text, s.score, s.reason, s.created_at, s.decision, s.resolved_at
FROM memory_suggestion_entries m JOIN memory_suggestions s ON s.tenant = m.tenant AND s.id = m.suggestion_id
WHERE m.tenant = :tenant AND m.entry_id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb)))
  AND s.type = 'contradiction' AND s.decision = 'pending' AND s.listed ORDER BY s.id;

-- name: decide
UPDATE memory_suggestions SET decision = :decision, resolved_at = :moment
WHERE tenant = :tenant AND id = :id AND decision = 'pending'
RETURNING id, type, entry_ids::text, score, reason, created_at, decision, resolved_at;

-- name: count_accesses
SELECT coalesce(sum(access_count), 0)::bigint FROM memory_usage WHERE tenant = :tenant;

-- name: delete_all_vectors
DELETE FROM memory_vectors WHERE tenant = :tenant;

-- name: suggestions_matching
-- The pending suggestions that a filter admits, best first; a project must have all entries of one.
SELECT s.id, s.type, s.entry_ids::text, s.score, s.reason, s.created_at, s.decision, s.resolved_at
FROM memory_suggestions s WHERE s.tenant = :tenant AND s.decision = 'pending' AND s.listed AND s.score BETWEEN :least::float8 AND :most::float8
  AND s.type = ANY (ARRAY(SELECT jsonb_array_elements_text(:types::jsonb)))
  AND (:ids::jsonb IS NULL OR s.id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb))))
  AND (:project::text IS NULL OR NOT EXISTS (
    SELECT 1 FROM jsonb_array_elements_text(s.entry_ids) AS m (id) LEFT JOIN memory_entries e ON e.tenant = s.tenant AND e.id = m.id
    WHERE e.project IS DISTINCT FROM :project::text))
ORDER BY s.score DESC, s.id LIMIT :limit;

-- name: suggestions_matching_count
SELECT s.type, count(*) FROM memory_suggestions s WHERE s.tenant = :tenant AND s.decision = 'pending' AND s.listed AND s.score BETWEEN :least::float8 AND :most::float8
  AND s.type = ANY (ARRAY(SELECT jsonb_array_elements_text(:types::jsonb)))
  AND (:ids::jsonb IS NULL OR s.id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb))))
  AND (:project::text IS NULL OR NOT EXISTS (
    SELECT 1 FROM jsonb_array_elements_text(s.entry_ids) AS m (id) LEFT JOIN memory_entries e ON e.tenant = s.tenant AND e.id = m.id
    WHERE e.project IS DISTINCT FROM :project::text))
GROUP BY s.type;

-- name: suggestions_decided
SELECT id, type, entry_ids::text, score, reason, created_at, decision, resolved_at
FROM memory_suggestions WHERE tenant = :tenant AND decision <> 'pending' ORDER BY id;

-- name: add_reports
INSERT INTO memory_usage (tenant, entry_id, access_count, last_accessed, confirmed, refuted, last_confirmed)
VALUES (:tenant, :entry_id, :count, :moment, :confirmed, :refuted, :last_confirmed)
ON CONFLICT (tenant, entry_id) DO UPDATE
SET access_count = memory_usage.access_count + excluded.access_count,
    last_accessed = greatest(memory_usage.last_accessed, excluded.last_accessed),
    confirmed = memory_usage.confirmed + excluded.confirmed, refuted = memory_usage.refuted + excluded.refuted,
    last_confirmed = greatest(memory_usage.last_confirmed, excluded.last_confirmed);

-- name: timeline
-- What superseded an entry is what supersedes it now.
SELECT v.at, v.kind, v.entry_id, e.title, coalesce(o.id, v.other_id), o.title, v.detail
FROM memory_events v
LEFT JOIN memory_entries e ON e.tenant = :tenant AND e.id = v.entry_id
LEFT JOIN memory_entries o ON o.tenant = :tenant AND o.id = CASE v.kind WHEN 'superseded' THEN e.superseded_by ELSE v.other_id END
WHERE v.tenant = :tenant AND v.at >= :since::timestamptz AND v.at < :until::timestamptz
  AND v.kind = ANY (ARRAY(SELECT jsonb_array_elements_text(:kinds::jsonb)))
  AND (:project::text IS NULL OR e.project = :project::text)
  AND (:entry_id::text IS NULL OR :entry_id::text IN (v.entry_id, v.other_id))
ORDER BY v.at DESC, v.entry_id DESC, v.kind LIMIT :limit OFFSET :offset;

-- name: timeline_days
-- By day (10 characters of the time) or by minute (16).
SELECT left(to_char(v.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI'), :characters::int), v.kind, count(*)
FROM memory_events v LEFT JOIN memory_entries e ON :project::text IS NOT NULL AND e.tenant = :tenant AND e.id = v.entry_id
WHERE v.tenant = :tenant AND v.at >= :since::timestamptz AND v.at < :until::timestamptz
  AND v.kind = ANY (ARRAY(SELECT jsonb_array_elements_text(:kinds::jsonb)))
  AND (:project::text IS NULL OR e.project = :project::text)
  AND (:entry_id::text IS NULL OR :entry_id::text IN (v.entry_id, v.other_id))
GROUP BY 1, 2 ORDER BY 1 DESC, 2;

-- name: entries_deleted_before
SELECT id, type, title, content, tags::text, context, project, confidence, status, memory_type, superseded_by, created_at, updated_at, deleted_at,
       anchors::text
FROM memory_entries WHERE tenant = :tenant AND deleted_at < :before::timestamptz ORDER BY deleted_at, id LIMIT :limit;

-- name: revisions_purgeable
-- Earlier states of entries that stay, whose text is still there.
SELECT count(*) FROM memory_history h
WHERE h.tenant = :tenant AND h.changed_at < :before::timestamptz AND NOT h.before ? 'purged'
  AND (:ids::jsonb IS NULL OR h.entry_id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb))))
  AND EXISTS (SELECT 1 FROM memory_entries e WHERE e.tenant = h.tenant AND e.id = h.entry_id AND e.deleted_at IS NULL);

-- name: strip_revisions
-- What is left of an earlier state has no text.
UPDATE memory_history AS h SET before = jsonb_build_object(
  'type', h.before -> 'type', 'confidence', h.before -> 'confidence', 'status', h.before -> 'status',
  'memory_type', h.before -> 'memory_type', 'superseded_by', h.before -> 'superseded_by', 'created_at', h.before -> 'created_at',
  'updated_at', h.before -> 'updated_at', 'deleted_at', h.before -> 'deleted_at', 'purged', true)
WHERE h.tenant = :tenant AND h.changed_at < :before::timestamptz AND NOT h.before ? 'purged'
  AND (:ids::jsonb IS NULL OR h.entry_id = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb))))
  AND EXISTS (SELECT 1 FROM memory_entries e WHERE e.tenant = h.tenant AND e.id = h.entry_id AND e.deleted_at IS NULL)
RETURNING h.revision;

-- name: superseded_by_any
SELECT id, superseded_by FROM memory_entries WHERE tenant = :tenant AND superseded_by = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb)));

-- name: purge_vectors
-- A key ends with the id of its entry.
DELETE FROM memory_vectors
WHERE tenant = :tenant AND right(document, 26) = ANY (ARRAY(SELECT jsonb_array_elements_text(:ids::jsonb)));
