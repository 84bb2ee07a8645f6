-- Named queries of context that SQLite and PostgreSQL share. Each takes the tenant first.

-- name: put_pack
INSERT INTO context_packs (tenant, id, created_at, expires_at, shown, sections)
VALUES (:tenant, :id, :now, :expires_at, :shown, :sections)
ON CONFLICT (tenant, id) DO UPDATE SET created_at = excluded.created_at, expires_at = excluded.expires_at, shown = excluded.shown;

-- name: get_pack
SELECT shown, sections, judged FROM context_packs WHERE tenant = :tenant AND id = :id AND expires_at > :now;

-- name: drop_old_packs
DELETE FROM context_packs WHERE tenant = :tenant AND (expires_at <= :now OR created_at <= (
    SELECT created_at FROM context_packs WHERE tenant = :tenant ORDER BY created_at DESC LIMIT 1 OFFSET :most));

-- name: set_judged
UPDATE context_packs SET judged = :judged WHERE tenant = :tenant AND id = :id;

-- name: add_use
INSERT INTO context_uses (tenant, ref, used, useless, updated_at) VALUES (:tenant, :ref, :used, :useless, :now)
ON CONFLICT (tenant, ref) DO UPDATE SET used = context_uses.used + excluded.used, useless = context_uses.useless + excluded.useless,
    updated_at = excluded.updated_at;

-- name: drop_old_uses
DELETE FROM context_uses WHERE tenant = :tenant AND updated_at < (
    SELECT updated_at FROM context_uses WHERE tenant = :tenant ORDER BY updated_at DESC LIMIT 1 OFFSET :most);

-- name: all_uses
SELECT ref, used, useless FROM context_uses WHERE tenant = :tenant ORDER BY ref;

-- name: delete_packs
DELETE FROM context_packs WHERE tenant = :tenant;

-- name: delete_uses
DELETE FROM context_uses WHERE tenant = :tenant;

-- name: move_packs
UPDATE context_packs SET tenant = :new WHERE tenant = :tenant;

-- name: move_uses
UPDATE context_uses SET tenant = :new WHERE tenant = :tenant;

-- name: all_rows
SELECT tenant, ref, used, useless, updated_at FROM context_uses ORDER BY tenant, ref;

-- name: add_row
INSERT INTO context_uses (tenant, ref, used, useless, updated_at) VALUES (:tenant, :ref, :used, :useless, :updated_at)
ON CONFLICT (tenant, ref) DO NOTHING;
