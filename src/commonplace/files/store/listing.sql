-- Named query of sqlite.py alone; deeper listings, and PostgreSQL's, use the walk of project_rows.py.

-- name: files_inside
-- Files directly inside a directory whose path ends before character :name. One further down leads behind its whole subdirectory.
WITH RECURSIVE step (at) AS (
    SELECT min(path) FROM mcp_files
    WHERE apikey_hash = :tenant AND project = :project AND path >= :start AND path < :upper AND deleted = 0
    UNION ALL
    SELECT (SELECT min(path) FROM mcp_files
            WHERE apikey_hash = :tenant AND project = :project AND path < :upper AND deleted = 0
              AND path >= CASE WHEN instr(substr(at, :name), '/') > 0
                               THEN substr(at, 1, :name + instr(substr(at, :name), '/') - 2) || '0' ELSE at || char(1) END)
    FROM step WHERE at IS NOT NULL
)
SELECT f.path, f.size, f.created_at, f.updated_at, f.content_hash,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = f.id)
FROM step CROSS JOIN mcp_files f ON f.apikey_hash = :tenant AND f.project = :project AND f.path = at AND f.deleted = 0
WHERE instr(substr(at, :name), '/') = 0 LIMIT :limit;
