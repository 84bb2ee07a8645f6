-- name: get_hook_session
SELECT state FROM context_hook_sessions WHERE tenant = :tenant AND id = :id AND used_at > :oldest;

-- name: put_hook_session
INSERT INTO context_hook_sessions (tenant, id, used_at, state) VALUES (:tenant, :id, :now, :state)
ON CONFLICT (tenant, id) DO UPDATE SET used_at = excluded.used_at, state = excluded.state;

-- name: drop_old_hook_sessions
DELETE FROM context_hook_sessions WHERE tenant = :tenant AND (used_at <= :oldest OR used_at <= (
    SELECT used_at FROM context_hook_sessions WHERE tenant = :tenant ORDER BY used_at DESC LIMIT 1 OFFSET :most));

-- name: delete_hook_sessions
DELETE FROM context_hook_sessions WHERE tenant = :tenant;

-- name: move_hook_sessions
UPDATE context_hook_sessions SET tenant = :new WHERE tenant = :tenant;
