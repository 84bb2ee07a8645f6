-- name: add_secret
INSERT INTO server_secret (name, secret) VALUES (:name, :secret) ON CONFLICT (name) DO NOTHING;

-- name: read_secret
SELECT secret FROM server_secret WHERE name = :name;

-- name: change_revision
INSERT INTO api_key_state (revision, generation) VALUES (1, :deletions)
ON CONFLICT (single) DO UPDATE SET
    revision = api_key_state.revision + 1, generation = api_key_state.generation + :deletions
RETURNING revision;

-- name: announce_change
SELECT pg_notify('commonplace_keys', '');

-- name: read_revision
SELECT revision, generation FROM api_key_state;

-- name: read_keys
SELECT id, tenant, label, scope, hash, created_at, rotated_at, revoked_at, expires_at, description, last_used_at, may_read
FROM api_key WHERE revision > :revision ORDER BY created_at, id;

-- name: read_key
SELECT id, tenant, label, scope, hash, created_at, rotated_at, revoked_at, expires_at, description, last_used_at, may_read
FROM api_key WHERE id = :id;

-- name: read_key_tenants
SELECT DISTINCT tenant FROM api_key;

-- name: add_key
INSERT INTO api_key (id, tenant, label, scope, hash, description, created_at, rotated_at, revoked_at, expires_at,
    last_used_at, may_read, revision)
VALUES (:id, :tenant, :label, :scope, :hash, :description, :created_at, :rotated_at, :revoked_at, :expires_at,
    :last_used_at, :may_read, :revision)
ON CONFLICT (id) DO NOTHING RETURNING id;

-- name: change_key
UPDATE api_key SET hash = :hash, rotated_at = :rotated_at, revoked_at = :revoked_at, revision = :revision
WHERE id = :id;

-- name: move_keys
UPDATE api_key SET tenant = :new, revision = :revision WHERE tenant = :old RETURNING id;

-- name: delete_keys
DELETE FROM api_key WHERE tenant = :tenant RETURNING id;

-- name: note_use
UPDATE api_key SET last_used_at = greatest(last_used_at, :used_at) WHERE id = :id;
