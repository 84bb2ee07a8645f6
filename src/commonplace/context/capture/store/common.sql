-- Named queries of the queue that SQLite and PostgreSQL share. Each takes the tenant first.

-- name: put_proposal
INSERT INTO capture_queue (tenant, id, kind, state, created_at, updated_at, document)
VALUES (:tenant, :id, :kind, :state, :created_at, :updated_at, :document)
ON CONFLICT (tenant, id) DO UPDATE SET kind = excluded.kind, state = excluded.state, updated_at = excluded.updated_at, document = excluded.document;

-- name: get_proposal
SELECT id, document FROM capture_queue WHERE tenant = :tenant AND id = :id;

-- name: find_by_prefix
SELECT id, document FROM capture_queue WHERE tenant = :tenant AND id >= :first AND id < :last ORDER BY id LIMIT 6;

-- name: page
SELECT id, document FROM capture_queue WHERE tenant = :tenant AND state = :state AND (:kind = '' OR kind = :kind)
ORDER BY created_at DESC, id LIMIT :limit OFFSET :offset;

-- name: count_kinds
SELECT state, kind, count(*) FROM capture_queue WHERE tenant = :tenant GROUP BY state, kind;

-- name: newest
SELECT id, document FROM capture_queue WHERE tenant = :tenant ORDER BY created_at DESC LIMIT :limit;

-- name: drop_old
DELETE FROM capture_queue WHERE tenant = :tenant AND state = :state AND created_at < (
    SELECT created_at FROM capture_queue WHERE tenant = :tenant AND state = :state ORDER BY created_at DESC LIMIT 1 OFFSET :most);

-- name: tenants
SELECT DISTINCT tenant FROM capture_queue ORDER BY tenant;

-- name: delete_tenant
DELETE FROM capture_queue WHERE tenant = :tenant;

-- name: move_tenant
UPDATE capture_queue SET tenant = :new WHERE tenant = :tenant;

-- name: all_rows
SELECT tenant, id, kind, state, created_at, updated_at, document FROM capture_queue ORDER BY tenant, id;

-- name: add_row
INSERT INTO capture_queue (tenant, id, kind, state, created_at, updated_at, document)
VALUES (:tenant, :id, :kind, :state, :created_at, :updated_at, :document) ON CONFLICT (tenant, id) DO NOTHING;
