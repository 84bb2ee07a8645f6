-- Named queries of vector_jobs.py that SQLite and PostgreSQL share: the queues of vectors.

-- name: vector_wanting_below
-- Files at or below a path that were just queued: their vectors will want a key once their words are done.
SELECT i.project, i.file_path FROM mcp_file_index_jobs i
LEFT JOIN mcp_file_vector_jobs v ON v.apikey_hash = i.apikey_hash AND v.project = i.project AND v.file_path = i.file_path
WHERE i.apikey_hash = :tenant AND i.project = :project AND i.operation = 'UPSERT' AND v.credential_ref IS NULL
  AND (i.file_path = :path OR (i.file_path >= :start AND i.file_path < :upper))
LIMIT :limit;

-- name: vector_projects
-- The projects that have chunks. Jumps from one to the next, however many chunks each has.
WITH RECURSIVE place (id) AS (
    SELECT (SELECT id FROM mcp_file_chunks ORDER BY apikey_hash, project LIMIT 1)
    UNION ALL
    SELECT (SELECT n.id FROM mcp_file_chunks p, mcp_file_chunks n
            WHERE p.id = place.id AND (n.apikey_hash, n.project) > (p.apikey_hash, p.project)
            ORDER BY n.apikey_hash, n.project LIMIT 1)
    FROM place WHERE place.id IS NOT NULL
)
SELECT c.apikey_hash, c.project FROM place JOIN mcp_file_chunks c ON c.id = place.id;

-- name: vector_unqueued
-- The indexed files of a project that no vector job is queued for.
SELECT DISTINCT c.file_path FROM mcp_file_chunks c
WHERE c.apikey_hash = :tenant AND c.project = :project AND NOT EXISTS (
    SELECT 1 FROM mcp_file_vector_jobs v
    WHERE v.apikey_hash = c.apikey_hash AND v.project = c.project AND v.file_path = c.file_path);

-- name: vector_places
-- The projects that have queued work. Jumps from one to the next, however many jobs each has.
WITH RECURSIVE place (id) AS (
    SELECT (SELECT id FROM mcp_file_vector_jobs WHERE status = 'pending' ORDER BY apikey_hash, project LIMIT 1)
    UNION ALL
    SELECT (SELECT n.id FROM mcp_file_vector_jobs p, mcp_file_vector_jobs n
            WHERE p.id = place.id AND n.status = 'pending' AND (n.apikey_hash, n.project) > (p.apikey_hash, p.project)
            ORDER BY n.apikey_hash, n.project LIMIT 1)
    FROM place WHERE place.id IS NOT NULL
)
SELECT j.apikey_hash, j.project FROM place JOIN mcp_file_vector_jobs j ON j.id = place.id;

-- name: vector_complete
DELETE FROM mcp_file_vector_jobs WHERE id = :id AND generation = :generation RETURNING id;
