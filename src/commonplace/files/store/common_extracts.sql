-- Named queries of extracts, the same in SQLite and PostgreSQL.

-- name: extracts_of_file
SELECT id, position, extract_key, content_hash, start_line, end_line FROM mcp_file_extracts
WHERE apikey_hash = :tenant AND project = :project AND file_path = :path ORDER BY position;

-- name: extract_insert
INSERT INTO mcp_file_extracts
    (apikey_hash, project, file_path, position, extract_key, content_hash, title, summary, content, facts, start_line, end_line)
VALUES (:tenant, :project, :path, :position, :key, :digest, :title, :summary, :content, :facts, :start_line, :end_line) RETURNING id;

-- name: extract_move
UPDATE mcp_file_extracts SET position = :position, start_line = :start_line, end_line = :end_line
WHERE id = :id AND apikey_hash = :tenant;

-- name: extract_delete
DELETE FROM mcp_file_extracts WHERE id = :id AND apikey_hash = :tenant;

-- name: extracts_forget
DELETE FROM mcp_file_extracts WHERE apikey_hash = :tenant AND project = :project;

-- name: extract_projects
-- The projects that have extracts. Jumps from one to the next, however many each has.
WITH RECURSIVE place (project) AS (
    SELECT (SELECT min(project) FROM mcp_file_extracts WHERE apikey_hash = :tenant)
    UNION ALL
    SELECT (SELECT min(e.project) FROM mcp_file_extracts e WHERE e.apikey_hash = :tenant AND e.project > place.project)
    FROM place WHERE place.project IS NOT NULL
)
SELECT project FROM place WHERE project IS NOT NULL;

-- name: extract_count
SELECT count(*) FROM mcp_file_extracts WHERE apikey_hash = :tenant AND (:every = 1 OR project = :scope);

-- name: extract_notes
-- Files whose extracts are missing, in part or all.
SELECT r.file_path, r.extracts_note FROM mcp_file_index_projects p JOIN mcp_file_index_records r ON r.project_id = p.id
WHERE p.apikey_hash = :tenant AND (:every = 1 OR p.project = :scope) AND r.extracts > 0 AND r.extracts_note <> ''
ORDER BY p.project, r.file_path LIMIT 20;

-- name: extract_passages
SELECT id, content, content_hash FROM mcp_file_extracts
WHERE apikey_hash = :tenant AND project = :project AND file_path = :path ORDER BY position;

-- name: projects_with_extract_twins
-- For each extract of a file, the next projects by name that hold the same one.
SELECT DISTINCT
    (SELECT max(o.project) FROM mcp_file_extracts o
     WHERE o.apikey_hash = :tenant AND o.content_hash = e.content_hash AND o.project < :project),
    (SELECT min(o.project) FROM mcp_file_extracts o
     WHERE o.apikey_hash = :tenant AND o.content_hash = e.content_hash AND o.project > :project)
FROM mcp_file_extracts e WHERE e.apikey_hash = :tenant AND e.project = :project AND e.file_path = :path;

-- name: tenant_move_extracts
UPDATE mcp_file_extracts SET apikey_hash = :new WHERE apikey_hash = :old;

-- name: tenant_delete_extracts
DELETE FROM mcp_file_extracts WHERE apikey_hash = :tenant;
