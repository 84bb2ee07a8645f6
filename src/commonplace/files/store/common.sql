-- Statements of the file stores that are the same in SQLite and PostgreSQL.

-- name: project_bytes
SELECT bytes FROM mcp_file_projects WHERE apikey_hash = :tenant AND project = :project;

-- name: below_unmark_inside
DELETE FROM mcp_file_ancestors
WHERE apikey_hash = :tenant AND project = :project AND directory > :start AND directory < :upper;

-- name: file_move
UPDATE mcp_files SET path = :path WHERE id = :id AND apikey_hash = :tenant;

-- name: source_set
-- Where a file came from; nothing is left of what was noted before.
INSERT INTO mcp_file_sources (file_id, source_path, origin)
SELECT id, :source_path, :origin FROM mcp_files WHERE id = :id AND apikey_hash = :tenant
ON CONFLICT (file_id) DO UPDATE SET source_path = excluded.source_path, origin = excluded.origin;

-- name: source_clear
DELETE FROM mcp_file_sources WHERE file_id IN (SELECT id FROM mcp_files WHERE id = :id AND apikey_hash = :tenant);

-- name: projects
SELECT project, files, bytes FROM mcp_file_projects WHERE apikey_hash = :tenant AND files > 0 ORDER BY project;

-- name: project_usage
SELECT files, bytes FROM mcp_file_projects WHERE apikey_hash = :tenant AND project = :project;

-- name: outbox_places
-- The projects that have queued work. Jumps from one to the next, however many jobs each has.
WITH RECURSIVE place (id) AS (
    SELECT (SELECT id FROM mcp_file_index_jobs WHERE status = 'pending' ORDER BY apikey_hash, project LIMIT 1)
    UNION ALL
    SELECT (SELECT n.id FROM mcp_file_index_jobs p, mcp_file_index_jobs n
            WHERE p.id = place.id AND n.status = 'pending' AND (n.apikey_hash, n.project) > (p.apikey_hash, p.project)
            ORDER BY n.apikey_hash, n.project LIMIT 1)
    FROM place WHERE place.id IS NOT NULL
)
SELECT j.apikey_hash, j.project FROM place JOIN mcp_file_index_jobs j ON j.id = place.id;

-- name: outbox_complete
DELETE FROM mcp_file_index_jobs WHERE id = :id AND generation = :generation;

-- name: chunks_of_file
SELECT id, chunk_index, start_byte, end_byte, content_hash, context, symbol, kind, start_line, end_line FROM mcp_file_chunks
WHERE apikey_hash = :tenant AND project = :project AND file_path = :path ORDER BY chunk_index;

-- name: passages_of_file
SELECT id, chunk_content, content_hash FROM mcp_file_chunks
WHERE apikey_hash = :tenant AND project = :project AND file_path = :path ORDER BY chunk_index;

-- name: projects_with_twins
-- For each chunk of a file, the next projects by name that hold the same text: two seeks, however many copies there are.
SELECT DISTINCT
    (SELECT max(o.project) FROM mcp_file_chunks o
     WHERE o.apikey_hash = :tenant AND o.content_hash = c.content_hash AND o.project < :project),
    (SELECT min(o.project) FROM mcp_file_chunks o
     WHERE o.apikey_hash = :tenant AND o.content_hash = c.content_hash AND o.project > :project)
FROM mcp_file_chunks c WHERE c.apikey_hash = :tenant AND c.project = :project AND c.file_path = :path;

-- name: chunk_delete
DELETE FROM mcp_file_chunks WHERE id = :id AND apikey_hash = :tenant;

-- name: sync_entries
SELECT path, content_hash FROM mcp_file_sync_entries
WHERE apikey_hash = :tenant AND project = :project AND origin = :origin ORDER BY path;

-- name: sync_entries_of_others
-- What syncs of other folders brought.
SELECT path, content_hash FROM mcp_file_sync_entries
WHERE apikey_hash = :tenant AND project = :project AND origin <> :origin ORDER BY path;

-- name: sync_entry_put
INSERT INTO mcp_file_sync_entries (apikey_hash, project, origin, path, content_hash)
VALUES (:tenant, :project, :origin, :path, :hash)
ON CONFLICT (apikey_hash, project, origin, path) DO UPDATE SET content_hash = excluded.content_hash;

-- name: sync_entry_remove
DELETE FROM mcp_file_sync_entries WHERE apikey_hash = :tenant AND project = :project AND origin = :origin AND path = :path;

-- name: sync_entry_take
-- A folder takes a file over from others.
DELETE FROM mcp_file_sync_entries WHERE apikey_hash = :tenant AND project = :project AND origin <> :origin AND path = :path;

-- name: owners
-- For operators: every tenant that has or had files.
SELECT DISTINCT apikey_hash FROM mcp_file_projects ORDER BY apikey_hash;

-- name: tenant_any
SELECT 1 FROM mcp_files WHERE apikey_hash = :tenant LIMIT 1;

-- name: tenant_move_files
UPDATE mcp_files SET apikey_hash = :new WHERE apikey_hash = :old;

-- name: tenant_move_ancestors
UPDATE mcp_file_ancestors SET apikey_hash = :new WHERE apikey_hash = :old;

-- name: tenant_move_chunks
UPDATE mcp_file_chunks SET apikey_hash = :new WHERE apikey_hash = :old;

-- name: tenant_move_vector_jobs
-- A key was sealed for the old owner only.
UPDATE mcp_file_vector_jobs AS v SET apikey_hash = :new, credential_ref = NULL
WHERE apikey_hash = :old AND NOT EXISTS (SELECT 1 FROM mcp_file_vector_jobs n
                                         WHERE n.apikey_hash = :new AND n.project = v.project AND n.file_path = v.file_path);

-- name: tenant_move_local_vector_jobs
-- All files of the new owner are queued again, and their vectors after them.
DELETE FROM mcp_file_local_vector_jobs WHERE apikey_hash = :old;

-- name: tenant_move_sync_entries
UPDATE mcp_file_sync_entries AS e SET apikey_hash = :new
WHERE apikey_hash = :old AND NOT EXISTS (SELECT 1 FROM mcp_file_sync_entries n WHERE n.apikey_hash = :new AND n.project = e.project
                                         AND n.origin = e.origin AND n.path = e.path);

-- name: tenant_move_index_projects
-- The symbols of its files belong to a project by number, and move with it.
UPDATE mcp_file_index_projects AS i SET apikey_hash = :new
WHERE apikey_hash = :old AND NOT EXISTS (SELECT 1 FROM mcp_file_index_projects n WHERE n.apikey_hash = :new AND n.project = i.project);

-- name: tenant_move_partitions
UPDATE search_partition SET tenant = :new WHERE tenant = :old AND collection IN ('files', 'operations');

-- name: tenant_bytes
SELECT coalesce(sum(bytes), 0) FROM mcp_file_projects WHERE apikey_hash = :tenant;

-- name: tenant_projects
SELECT DISTINCT project FROM mcp_file_projects WHERE apikey_hash = :tenant;

-- name: tenant_delete_postings
DELETE FROM search_posting WHERE term_id IN (
    SELECT t.id FROM search_term t JOIN search_partition p ON p.id = t.partition_id
    WHERE p.tenant = :tenant AND p.collection IN ('files', 'operations'));

-- name: tenant_delete_partitions
DELETE FROM search_partition WHERE tenant = :tenant AND collection IN ('files', 'operations');

-- name: tenant_delete_chunks
DELETE FROM mcp_file_chunks WHERE apikey_hash = :tenant;

-- name: tenant_delete_jobs
DELETE FROM mcp_file_index_jobs WHERE apikey_hash = :tenant;

-- name: tenant_delete_vector_jobs
DELETE FROM mcp_file_vector_jobs WHERE apikey_hash = :tenant;

-- name: tenant_delete_local_vector_jobs
DELETE FROM mcp_file_local_vector_jobs WHERE apikey_hash = :tenant;

-- name: tenant_delete_sync_entries
DELETE FROM mcp_file_sync_entries WHERE apikey_hash = :tenant;

-- name: tenant_delete_index_projects
DELETE FROM mcp_file_index_projects WHERE apikey_hash = :tenant;

-- name: tenant_delete_ancestors
DELETE FROM mcp_file_ancestors WHERE apikey_hash = :tenant;

-- name: tenant_delete_projects
DELETE FROM mcp_file_projects WHERE apikey_hash = :tenant;

-- name: tenant_delete_files
DELETE FROM mcp_files WHERE apikey_hash = :tenant;
