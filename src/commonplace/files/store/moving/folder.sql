-- Statements that read the files of a data folder, of all tenants.

-- name: projects
SELECT apikey_hash, project, count(*) FROM mcp_files
WHERE (deleted = 0 AND :deleted = 0) OR (deleted = 1 AND :deleted = 1 AND deleted_at > :after)
GROUP BY apikey_hash, project ORDER BY apikey_hash, project;

-- name: versions
-- The last column: whether a live file is at the path of a deleted one.
SELECT f.id, f.path, f.size, f.content_hash, f.created_at, f.updated_at, coalesce(f.deleted_at, 0), s.source_path, s.origin,
       f.deleted = 1 AND EXISTS (SELECT 1 FROM mcp_files l WHERE l.apikey_hash = f.apikey_hash AND l.project = f.project
                                 AND l.path = f.path AND l.deleted = 0)
FROM mcp_files f LEFT JOIN mcp_file_sources s ON s.file_id = f.id
WHERE f.apikey_hash = :tenant AND f.project = :project AND f.deleted = :deleted AND (f.deleted = 0 OR f.deleted_at > :after)
ORDER BY f.path, f.deleted_at, f.id;

-- name: content
-- No row if a server that uses the folder changed or removed the file since it was listed.
SELECT content FROM mcp_files WHERE id = :id AND content_hash = :hash;

-- name: synced
SELECT path, origin, content_hash FROM mcp_file_sync_entries WHERE apikey_hash = :tenant AND project = :project;
