-- name: newest
SELECT coalesce(max(sequence), 0), (SELECT coalesce(max(change), 0) FROM instruction_usage) FROM instruction_changes;

-- name: lock
SELECT set_config('lock_timeout', :wait, true), pg_advisory_xact_lock(hashtextextended('commonplace instructions', 0));

-- name: entries
SELECT id, content, modified_ns, sequence FROM instruction_entries;

-- name: entry
SELECT id, content, modified_ns, sequence FROM instruction_entries WHERE id = :id;

-- name: entry_stamps
SELECT id, modified_ns, length(content), sequence FROM instruction_entries;

-- name: entries_by_id
SELECT id, content, modified_ns, sequence FROM instruction_entries WHERE id = ANY(:ids);

-- name: changed_entries
SELECT c.id, e.content, e.modified_ns, e.sequence
FROM (SELECT DISTINCT id FROM instruction_changes WHERE sequence > :known AND kind = 'entry') AS c
LEFT JOIN instruction_entries AS e ON e.id = c.id;

-- name: content_hashes
SELECT id || '.json', encode(sha256(content), 'hex') FROM instruction_entries
UNION ALL
SELECT name, encode(sha256(content), 'hex') FROM instruction_documents;

-- name: contents
SELECT id || '.json', content, modified_ns FROM instruction_entries WHERE id = ANY(:ids)
UNION ALL
SELECT name, content, modified_ns FROM instruction_documents WHERE name = ANY(:names);

-- name: make_identity
INSERT INTO instruction_identity DEFAULT VALUES ON CONFLICT DO NOTHING;

-- name: identity
SELECT identity FROM instruction_identity;

-- name: lead_sync
SELECT pg_try_advisory_lock(hashtextextended('commonplace sync', 0));

-- name: documents
SELECT name, content, modified_ns, sequence FROM instruction_documents;

-- name: documents_changed
SELECT count(*) FROM instruction_changes WHERE sequence > :known AND kind = 'document';

-- name: record_changes
INSERT INTO instruction_changes (sequence, kind, id, at, action, author, tenant, agent, before, after, size, token)
SELECT c.sequence, :kind, c.id, c.at, c.action, c.author, c.tenant, c.agent, c.before, c.after,
       coalesce(length(c.before), 0) + coalesce(length(c.after), 0), :token
FROM unnest(:sequences::bigint[], :ids::text[], :times::text[], :actions::text[], :authors::text[], :tenants::text[], :agents::text[],
            :befores::bytea[], :afters::bytea[])
  AS c (sequence, id, at, action, author, tenant, agent, before, after);

-- name: put_entries
INSERT INTO instruction_entries (id, content, modified_ns, sequence)
SELECT e.id, e.content, e.modified_ns, e.sequence
FROM unnest(:ids::text[], :contents::bytea[], :times::bigint[], :sequences::bigint[]) AS e (id, content, modified_ns, sequence)
ON CONFLICT (id) DO UPDATE
SET content = excluded.content, modified_ns = excluded.modified_ns, sequence = excluded.sequence
RETURNING id, sha256(content);

-- name: delete_entries
DELETE FROM instruction_entries WHERE id = ANY(:ids);

-- name: put_document
INSERT INTO instruction_documents (name, content, modified_ns, sequence) VALUES (:name, :content, :time, :sequence)
ON CONFLICT (name) DO UPDATE
SET content = excluded.content, modified_ns = excluded.modified_ns, sequence = excluded.sequence;

-- name: delete_document
DELETE FROM instruction_documents WHERE name = :name;

-- name: token
SELECT token FROM instruction_changes WHERE sequence = :sequence;

-- name: trim
DELETE FROM instruction_changes WHERE sequence IN (
  SELECT sequence FROM (
    SELECT sequence, sum(size) OVER newest_first AS total, row_number() OVER newest_first AS position
    FROM instruction_changes
    WHERE id IN (SELECT id FROM instruction_changes WHERE sequence > :since) AND kind = 'entry'
    WINDOW newest_first AS (PARTITION BY id ORDER BY sequence DESC)
  ) AS recorded
  WHERE total > :keep AND position > 1
);

-- name: history
SELECT at, action, author, tenant, agent, before, after FROM instruction_changes
WHERE id = :id AND kind = 'entry' ORDER BY sequence;

-- name: known_ids
SELECT DISTINCT id FROM instruction_changes WHERE id = ANY(:ids) AND kind = :kind;

-- name: sizes
SELECT count(*), coalesce(sum(length(content)), 0) FROM instruction_entries;

-- name: usage_since
SELECT id, line, change FROM instruction_usage WHERE change > :known;

-- name: usage_lock
SELECT pg_advisory_xact_lock(hashtextextended('commonplace usage', 0));

-- name: usage_of
SELECT id, line FROM instruction_usage WHERE id = ANY(:ids);

-- name: put_usage
INSERT INTO instruction_usage (id, line, change)
SELECT u.id, u.line, (SELECT coalesce(max(change), 0) + 1 FROM instruction_usage)
FROM unnest(:ids::text[], :lines::bytea[]) AS u (id, line)
ON CONFLICT (id) DO UPDATE SET line = excluded.line, change = excluded.change
RETURNING id, line, change;

-- name: usage_moved
SELECT uses FROM instruction_usage_moved WHERE id = :id AND first_seen = :first_seen;

-- name: put_usage_moved
INSERT INTO instruction_usage_moved (id, first_seen, uses) VALUES (:id, :first_seen, :uses)
ON CONFLICT (id, first_seen) DO UPDATE SET uses = excluded.uses;

-- name: feedback
SELECT entry FROM instruction_feedback ORDER BY at, number;

-- name: feedback_lock
SELECT pg_advisory_xact_lock(hashtextextended('commonplace feedback', 0));

-- name: feedback_entry
SELECT entry FROM instruction_feedback WHERE id = :id;

-- name: add_feedback
INSERT INTO instruction_feedback (id, at, entry) VALUES (:id, :at, :entry) ON CONFLICT (id) DO NOTHING;

-- name: put_feedback
UPDATE instruction_feedback SET entry = :entry WHERE id = :id;

-- name: trim_feedback
DELETE FROM instruction_feedback
WHERE id IN (SELECT id FROM instruction_feedback ORDER BY at DESC, number DESC OFFSET :keep);

-- name: feedback_size
SELECT count(*), coalesce(sum(length(entry)), 0) FROM instruction_feedback;

-- name: newest_review
SELECT coalesce(max(number), 0) FROM instruction_reviews;

-- name: review_events
SELECT number, event FROM instruction_reviews WHERE number > :after ORDER BY number;

-- name: add_review_event
INSERT INTO instruction_reviews (id, event) VALUES (:id, :event);

-- name: trim_review_events
DELETE FROM instruction_reviews WHERE id = :id AND number <= (
  SELECT number FROM instruction_reviews WHERE id = :id ORDER BY number DESC OFFSET :keep LIMIT 1
);

-- name: removed_entries
SELECT DISTINCT ON (c.id) c.id, c.at, c.action, c.author, c.tenant, c.before
FROM instruction_changes AS c
WHERE c.kind = 'entry' AND NOT EXISTS (SELECT 1 FROM instruction_entries AS e WHERE e.id = c.id)
ORDER BY c.id, c.sequence DESC;

-- name: backups
SELECT facts FROM instruction_backups ORDER BY name DESC;

-- name: backup
SELECT content FROM instruction_backups WHERE name = :name;

-- name: add_backup
INSERT INTO instruction_backups (name, facts, content) VALUES (:name, :facts, :content)
ON CONFLICT (name) DO NOTHING;

-- name: trim_backups
DELETE FROM instruction_backups WHERE name IN (
  SELECT name FROM instruction_backups ORDER BY name DESC OFFSET :keep
);
