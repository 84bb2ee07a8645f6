-- name: count_sessions
SELECT count(*) FROM mcp_sessions WHERE key_name = :key_name;

-- name: end_oldest_idle
DELETE FROM mcp_sessions WHERE id IN (
    SELECT id FROM mcp_sessions
    WHERE key_name = :key_name AND busy_until < now() ORDER BY used_at, id LIMIT :excess
) RETURNING id;

-- name: add_session
INSERT INTO mcp_sessions (id, owner, key_name, opening) VALUES (:id, :owner, :key_name, :opening);

-- name: find_session
SELECT id, owner, key_name, opening FROM mcp_sessions WHERE id = :id;

-- name: remove_session
DELETE FROM mcp_sessions WHERE id = :id RETURNING id;

-- name: renew_sessions
UPDATE mcp_sessions
SET used_at = greatest(used_at, now()),
    busy_until = CASE WHEN id = ANY(:busy)
                      THEN now() + :busy_seconds * interval '1 second'
                      ELSE busy_until END
WHERE id = ANY(:used);

-- name: missing_sessions
SELECT known.id FROM unnest(:ids::text[]) AS known (id)
WHERE NOT EXISTS (SELECT 1 FROM mcp_sessions WHERE mcp_sessions.id = known.id);

-- name: expire_sessions
DELETE FROM mcp_sessions WHERE used_at < now() - :idle_seconds * interval '1 second' RETURNING id;

-- name: expire_events
DELETE FROM mcp_session_events WHERE stored_at < now() - :seconds * interval '1 second';

-- name: expire_messages
DELETE FROM mcp_session_messages WHERE sent_at < now() - :seconds * interval '1 second';

-- name: add_event
INSERT INTO mcp_session_events (session_id, stream, event_id, message)
VALUES (:session_id, :stream, :event_id, :message);

-- name: find_event
SELECT stream, number FROM mcp_session_events
WHERE session_id = :session_id AND event_id = :event_id;

-- name: last_event
SELECT coalesce(max(number), 0) FROM mcp_session_events
WHERE session_id = :session_id AND stream = :stream;

-- name: events_after
SELECT number, event_id, message FROM mcp_session_events
WHERE session_id = :session_id AND stream = :stream AND number > :number
ORDER BY number LIMIT 100;

-- name: add_message
INSERT INTO mcp_session_messages (session_id, message) VALUES (:session_id, :message)
RETURNING number;

-- name: read_message
SELECT message FROM mcp_session_messages WHERE number = :number;

-- name: notify
SELECT pg_notify('mcp_sessions', :text);

-- name: is_free
SELECT pg_try_advisory_xact_lock(hashtextextended(:key, 0));

-- name: count_subscriptions
SELECT count(*) FROM mcp_session_subscriptions WHERE session_id = :session_id AND digest <> :digest;

-- name: subscribe
INSERT INTO mcp_session_subscriptions (session_id, digest, address, fingerprint)
SELECT id, :digest, :address, :fingerprint FROM mcp_sessions WHERE id = :session_id FOR KEY SHARE
ON CONFLICT (session_id, digest) DO UPDATE SET fingerprint = excluded.fingerprint;

-- name: unsubscribe
DELETE FROM mcp_session_subscriptions WHERE session_id = :session_id AND digest = :digest;

-- name: find_subscriptions
SELECT session_id, address, fingerprint FROM mcp_session_subscriptions
WHERE session_id = ANY(:session_ids) ORDER BY session_id, digest;

-- name: note_fingerprint
UPDATE mcp_session_subscriptions SET fingerprint = :fingerprint
WHERE session_id = :session_id AND digest = :digest AND fingerprint = :known RETURNING digest;
