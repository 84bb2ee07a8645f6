-- A pending suggestion knows whether it is listed, so that listing reads no entry and no link. Whatever changes an entry's status or
-- deletion, or links entries, works it out again (`refresh_suggestions`), which finds the suggestions of an entry in
-- memory_suggestion_entries.
ALTER TABLE memory_suggestions ADD COLUMN listed BOOLEAN NOT NULL DEFAULT true;

INSERT INTO memory_suggestion_entries (tenant, entry_id, suggestion_id)
SELECT s.tenant, m.id, s.id FROM memory_suggestions s, jsonb_array_elements_text(s.entry_ids) AS m (id)
ON CONFLICT DO NOTHING;

UPDATE memory_suggestions AS s SET listed = (
  NOT EXISTS (SELECT 1 FROM jsonb_array_elements_text(s.entry_ids) AS m (id) JOIN memory_entries e ON e.tenant = s.tenant AND e.id = m.id
              WHERE e.deleted_at IS NOT NULL OR (s.type = 'contradiction' AND e.status <> 'active'))
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
) WHERE s.decision = 'pending';

DROP INDEX memory_suggestions_pending;
CREATE INDEX memory_suggestions_listed ON memory_suggestions (tenant, type, score DESC, id) WHERE decision = 'pending' AND listed;
