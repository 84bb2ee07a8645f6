-- Statements of PostgreSQL alone: store versions of files as a data folder had them, and remember which came.

-- name: version_insert
INSERT INTO mcp_files (apikey_hash, project, path, size, content_hash, created_at, updated_at, deleted, deleted_at, content)
VALUES (:tenant, :project, :path, :size, :hash, moment_of(:created_at), moment_of(:updated_at), :deleted_at::bigint <> 0,
        CASE WHEN :deleted_at::bigint = 0 THEN NULL ELSE moment_of(:deleted_at::bigint) END, :content) RETURNING id;

-- name: version_digests
-- Hashes of the bytes as they are stored, not as they were noted.
SELECT id, encode(sha256(content), 'hex') FROM mcp_files WHERE id = ANY(:ids);

-- name: live_files
-- Live files with the data folder that brought them, if one did and nobody changed them since.
SELECT f.path, microseconds_of(f.updated_at), nullif(m.origin, '') FROM mcp_files f
LEFT JOIN mcp_file_moved m ON m.apikey_hash = f.apikey_hash AND m.project = f.project AND m.path = f.path
    AND m.content_hash = f.content_hash AND m.deleted_at = 0
WHERE f.apikey_hash = :tenant AND f.project = :project AND f.deleted = FALSE;

-- name: moved_versions
SELECT path, content_hash, deleted_at FROM mcp_file_moved WHERE apikey_hash = :tenant AND project = :project;

-- name: moved_origin
SELECT origin FROM mcp_file_moved
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND content_hash = :hash AND deleted_at = :deleted_at;

-- name: moved_put
-- origin is empty if the database had the same file before: it is not what the folder brought.
INSERT INTO mcp_file_moved (apikey_hash, project, path, content_hash, deleted_at, origin)
VALUES (:tenant, :project, :path, :hash, :deleted_at, :origin) ON CONFLICT DO NOTHING;

-- name: moved_forget
-- The live version that a later one of the same folder replaced or deleted: if it comes back there, it follows again.
DELETE FROM mcp_file_moved
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND content_hash = :hash AND deleted_at = 0 AND origin = :origin;

-- name: synced_put
INSERT INTO mcp_file_sync_entries (apikey_hash, project, origin, path, content_hash)
VALUES (:tenant, :project, :origin, :path, :hash) ON CONFLICT DO NOTHING;

-- name: tenant_delete_moved
DELETE FROM mcp_file_moved WHERE apikey_hash = :tenant;
