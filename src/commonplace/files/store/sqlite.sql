-- Named queries of file_store.py and index_store.py; postgres.sql has the same names and parameters.
-- Every one is bound to a tenant, except the operator's (purge, outbox).

-- name: file
SELECT id, size, created_at, updated_at, content_hash,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id) FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND deleted = 0;

-- name: file_slice
-- Without the content if more than :most bytes were asked for.
SELECT size, created_at, updated_at, content_hash,
       CASE WHEN min(size - :start + 1, :length) <= :most THEN coalesce(substr(content, :start, :length), x'') END FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND deleted = 0;

-- name: file_current
SELECT id, size, created_at, updated_at, content_hash, content,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id) FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND deleted = 0;

-- name: file_whole
SELECT content_hash, content FROM mcp_files WHERE apikey_hash = :tenant AND project = :project AND path = :path AND deleted = 0;

-- name: directory
-- No row: the directory does not exist.
SELECT updated_at FROM mcp_file_ancestors
WHERE apikey_hash = :tenant AND project = :project AND directory = :path ORDER BY updated_at DESC LIMIT 1;

-- name: files_from
-- Live files in path order; the last column says that one lies deeper than wanted, so that the caller can jump.
SELECT path, size, created_at, updated_at, content_hash,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id),
       length(path) - length(replace(path, '/', '')) > :levels FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path >= :start AND path < :upper AND deleted = 0 ORDER BY path LIMIT :limit;

-- name: directories_from
-- The next directories at or after a name, with their newest update. It jumps from name to name by itself: a deeper one leads to the
-- first name behind everything in its parent, and is never returned.
WITH RECURSIVE step (at) AS (
    SELECT min(directory) FROM mcp_file_ancestors
    WHERE apikey_hash = :tenant AND project = :project AND directory >= :start AND directory < :upper
    UNION ALL
    SELECT (SELECT min(directory) FROM mcp_file_ancestors
            WHERE apikey_hash = :tenant AND project = :project AND directory < :upper
              AND directory >= CASE WHEN length(at) - length(replace(at, '/', '')) > :levels
                                    THEN rtrim(rtrim(at, replace(at, '/', '')), '/') || '0' ELSE at || char(1) END)
    FROM step WHERE at IS NOT NULL
)
SELECT at, (SELECT max(a.updated_at) FROM mcp_file_ancestors a
            WHERE a.apikey_hash = :tenant AND a.project = :project AND a.directory = at), 0
FROM step WHERE length(at) - length(replace(at, '/', '')) <= :levels LIMIT :limit;

-- name: file_insert
INSERT INTO mcp_files (apikey_hash, project, path, size, content_hash, created_at, updated_at, content)
VALUES (:tenant, :project, :path, :size, :hash, :now, :now, :content) RETURNING id;

-- name: file_update
UPDATE mcp_files SET content = :content, size = :size, content_hash = :hash, updated_at = :now WHERE id = :id AND apikey_hash = :tenant;

-- name: ancestor_add
INSERT INTO mcp_file_ancestors (apikey_hash, project, directory, updated_at, file_id)
VALUES (:tenant, :project, :directory, :updated_at, :id);

-- name: ancestor_remove
DELETE FROM mcp_file_ancestors
WHERE apikey_hash = :tenant AND project = :project AND directory = :directory AND updated_at = :updated_at AND file_id = :id;

-- name: project_change
INSERT INTO mcp_file_projects (apikey_hash, project, files, bytes) VALUES (:tenant, :project, :files, :bytes)
ON CONFLICT (apikey_hash, project) DO UPDATE SET files = files + excluded.files, bytes = bytes + excluded.bytes;

-- name: below
-- The live files below a directory: paths from directory || '/' up to, not including, directory || '0'.
SELECT id, path, size, updated_at,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id) FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = 0 ORDER BY path;

-- name: below_count
SELECT count(*), coalesce(sum(size), 0) FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = 0;

-- name: below_unmark
-- Takes the files below a directory out of one of the directories above them.
DELETE FROM mcp_file_ancestors WHERE (apikey_hash, project, directory, updated_at, file_id) IN (
    SELECT apikey_hash, project, :directory, updated_at, id FROM mcp_files
    WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = 0);

-- name: below_enqueue
INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT apikey_hash, project, path, 'DELETE', :now, :now, :now, :now FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = 0
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    status = 'pending', operation = 'DELETE', retry_count = 0, available_at = excluded.available_at, updated_at = excluded.updated_at,
    generation = generation + 1, lease_owner = NULL, lease_until = NULL, last_error = NULL;

-- name: below_delete
UPDATE mcp_files SET deleted = 1, deleted_at = :now
WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = 0;

-- name: file_delete
UPDATE mcp_files SET deleted = 1, deleted_at = :now WHERE id = :id AND apikey_hash = :tenant;

-- name: restorable
-- The newest deleted row of each path that is the given one or below it.
SELECT id, path, size, updated_at FROM (
    SELECT id, path, size, updated_at, max(deleted_at) FROM mcp_files
    WHERE apikey_hash = :tenant AND project = :project AND deleted = 1 AND deleted_at > :after
      AND (path = :path OR (path > :start AND path < :upper)) GROUP BY path
) ORDER BY path;

-- name: deleted_files
-- What could be restored, newest first: the newest deleted row of each path where no live file is.
SELECT path, size, max(deleted_at) AS gone FROM mcp_files AS f
WHERE apikey_hash = :tenant AND project = :project AND deleted = 1 AND deleted_at > :after
  AND NOT EXISTS (SELECT 1 FROM mcp_files l WHERE l.apikey_hash = f.apikey_hash AND l.project = f.project AND l.path = f.path AND l.deleted = 0)
GROUP BY path ORDER BY gone DESC, path LIMIT :limit OFFSET :offset;

-- name: file_restore
UPDATE mcp_files SET deleted = 0, deleted_at = NULL WHERE id = :id AND apikey_hash = :tenant;

-- name: page
-- As many files as fit into :room bytes, the first always.
SELECT path, size, created_at, updated_at, content_hash, (SELECT content FROM mcp_files WHERE mcp_files.id = summed.id),
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = summed.id) FROM (
    SELECT *, sum(size) OVER (ORDER BY path) - size AS before FROM (
        SELECT id, path, size, created_at, updated_at, content_hash FROM mcp_files
        WHERE apikey_hash = :tenant AND project = :project AND path > :after AND path >= :prefix AND path < :upper AND deleted = 0
        ORDER BY path LIMIT :limit
    )
) AS summed WHERE before < :room ORDER BY path;

-- name: sources_forget
DELETE FROM mcp_file_sources WHERE file_id IN (
    SELECT id FROM mcp_files WHERE apikey_hash = :tenant AND project = :project AND deleted = 0 AND path = :path
    UNION ALL
    SELECT id FROM mcp_files
    WHERE apikey_hash = :tenant AND project = :project AND deleted = 0 AND path > :start AND path < :upper);

-- name: inventory
-- Live files in path order with where they came from, without their content.
SELECT path, content_hash, s.source_path, s.origin FROM mcp_files f LEFT JOIN mcp_file_sources s ON s.file_id = f.id
WHERE apikey_hash = :tenant AND project = :project AND path > :after AND path >= :prefix AND path < :upper AND deleted = 0
ORDER BY path LIMIT :limit;

-- name: deleted_usage
SELECT count(*), coalesce(sum(size), 0) FROM mcp_files WHERE apikey_hash = :tenant AND project = :project AND deleted = 1;

-- name: contents
-- Live files of all tenants in the order of their ids, for examinations.
SELECT id, apikey_hash, project, path, content,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id)
FROM mcp_files WHERE id > :after AND deleted = 0 ORDER BY id LIMIT :limit;

-- name: purge
DELETE FROM mcp_files WHERE id IN
    (SELECT id FROM mcp_files WHERE deleted = 1 AND deleted_at < :before ORDER BY deleted_at LIMIT :limit) RETURNING id;

-- name: job_enqueue
-- One job per file: queueing again makes it due now, resets its retries and raises its generation.
INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
VALUES (:tenant, :project, :path, :operation, :file_updated_at, :now, :now, :now)
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    operation = excluded.operation, file_updated_at = excluded.file_updated_at,
    created_at = CASE WHEN status = 'pending' THEN created_at ELSE excluded.created_at END,
    status = 'pending', retry_count = 0, available_at = excluded.available_at, updated_at = excluded.updated_at,
    generation = generation + 1, lease_owner = NULL, lease_until = NULL, last_error = NULL;

-- name: job_due
SELECT 1 WHERE EXISTS (SELECT 1 FROM mcp_file_index_jobs WHERE status = 'pending' AND available_at <= :now)
            OR EXISTS (SELECT 1 FROM mcp_file_index_jobs WHERE status = 'processing' AND lease_until <= :now);

-- name: job_held
-- Whether a worker still has its job: not queued again, not taken over after its lease.
SELECT 1 FROM mcp_file_index_jobs WHERE id = :id AND generation = :generation AND lease_owner = :owner;

-- name: outbox_renew
UPDATE mcp_file_index_jobs SET lease_until = :now + :lease
WHERE id = :id AND status = 'processing' AND lease_owner = :owner;

-- name: outbox_expire
-- Expired leases: their worker ended, and any other may take the work.
UPDATE mcp_file_index_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE status = 'processing' AND lease_until <= :now;

-- name: outbox_claim
-- The oldest due jobs of one project whose file has a size in these bounds; a deleted file has none.
UPDATE mcp_file_index_jobs SET status = 'processing', lease_owner = :owner, lease_until = :now + :lease, updated_at = :now
WHERE id IN (
    SELECT j.id FROM mcp_file_index_jobs j
    LEFT JOIN mcp_files f ON f.apikey_hash = j.apikey_hash AND f.project = j.project AND f.path = j.file_path AND f.deleted = 0
    WHERE j.status = 'pending' AND j.apikey_hash = :tenant AND j.project = :scope AND j.available_at <= :now
      AND coalesce(f.size, 0) > :over AND coalesce(f.size, 0) <= :upto
    ORDER BY j.available_at, j.id LIMIT :limit
)
RETURNING id, generation, apikey_hash, project, file_path, operation, retry_count, created_at,
    coalesce((SELECT f.size FROM mcp_files f WHERE f.apikey_hash = mcp_file_index_jobs.apikey_hash
              AND f.project = mcp_file_index_jobs.project AND f.path = mcp_file_index_jobs.file_path AND f.deleted = 0), 0);

-- name: outbox_reclaim
UPDATE mcp_file_index_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE status = 'processing' AND lease_owner <> :owner;

-- name: outbox_release
UPDATE mcp_file_index_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE status = 'processing' AND lease_owner = :owner;

-- name: outbox_retry
UPDATE mcp_file_index_jobs
SET status = 'pending', retry_count = retry_count + 1, available_at = :now + :delay, updated_at = :now,
    lease_owner = NULL, lease_until = NULL, last_error = :error
WHERE id = :id AND generation = :generation;

-- name: outbox_bury
UPDATE mcp_file_index_jobs
SET status = 'dead', updated_at = :now, lease_owner = NULL, lease_until = NULL, last_error = :error
WHERE id = :id AND generation = :generation;

-- name: outbox_counts
SELECT sum(status = 'pending'), sum(status = 'processing'), sum(status = 'dead'), min(CASE WHEN status <> 'dead' THEN created_at END)
FROM mcp_file_index_jobs
WHERE (:tenant IS NULL OR apikey_hash = :tenant) AND (:scope IS NULL OR project = :scope);

-- name: dead_letters
SELECT file_path, coalesce(last_error, '') FROM mcp_file_index_jobs
WHERE status = 'dead' AND apikey_hash = :tenant AND (:scope IS NULL OR project = :scope) ORDER BY updated_at DESC LIMIT 20;

-- name: chunk_counts
-- Every indexed file that is not empty has one first chunk.
SELECT count(*), coalesce(sum(chunk_index = 0), 0) FROM mcp_file_chunks
WHERE apikey_hash = :tenant AND (:scope IS NULL OR project = :scope);

-- name: chunks_live
-- Chunks with what the live file now holds at their place, their lines, and whether the file waits to be indexed again.
-- :ids is a JSON array.
SELECT c.id, c.start_byte, c.end_byte, c.chunk_content, substr(f.content, c.start_byte + 1, c.end_byte - c.start_byte), c.content_hash,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = f.id), c.start_line, c.end_line,
       EXISTS (SELECT 1 FROM mcp_file_index_jobs j
               WHERE j.apikey_hash = c.apikey_hash AND j.project = c.project AND j.file_path = c.file_path), c.file_path
FROM json_each(:ids) AS wanted CROSS JOIN mcp_file_chunks c ON c.id = wanted.value
JOIN mcp_files f ON f.apikey_hash = c.apikey_hash AND f.project = c.project AND f.path = c.file_path AND f.deleted = 0
WHERE c.apikey_hash = :tenant AND c.project = :project;

-- name: chunk_insert
INSERT INTO mcp_file_chunks
    (apikey_hash, project, file_path, chunk_index, start_byte, end_byte, chunk_content, content_hash, context, symbol, kind,
     start_line, end_line, created_at, updated_at)
VALUES (:tenant, :project, :path, :index, :start, :end, :content, :hash, :context, :symbol, :kind, :start_line, :end_line, :now, :now)
RETURNING id;

-- name: chunk_move
UPDATE mcp_file_chunks SET chunk_index = :index, start_byte = :start, end_byte = :end, symbol = :symbol, kind = :kind,
    start_line = :start_line, end_line = :end_line, updated_at = :now
WHERE id = :id AND apikey_hash = :tenant;

-- name: chunk_served
UPDATE mcp_file_chunks SET last_served_at = :now WHERE id = :id AND apikey_hash = :tenant;

-- name: enqueue_live
INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT apikey_hash, project, path, 'UPSERT', updated_at, :now, :now, :now FROM mcp_files
WHERE apikey_hash = :tenant AND (:scope IS NULL OR project = :scope) AND deleted = 0
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    status = 'pending', operation = 'UPSERT', retry_count = 0, available_at = excluded.available_at, updated_at = excluded.updated_at,
    generation = generation + 1, lease_owner = NULL, lease_until = NULL, last_error = NULL
RETURNING 1;

-- name: enqueue_stale
-- Chunks whose file is gone, as when a job was lost by hand.
INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT DISTINCT c.apikey_hash, c.project, c.file_path, 'DELETE', NULL, :now, :now, :now FROM mcp_file_chunks c
WHERE c.apikey_hash = :tenant AND (:scope IS NULL OR c.project = :scope)
  AND NOT EXISTS (SELECT 1 FROM mcp_files f
                  WHERE f.apikey_hash = c.apikey_hash AND f.project = c.project AND f.path = c.file_path AND f.deleted = 0)
ON CONFLICT (apikey_hash, project, file_path) DO NOTHING;

-- name: enqueue_outdated
-- Some files whose index was made by older versions, unless they are queued or were given up.
INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT p.apikey_hash, p.project, r.file_path, 'UPSERT', NULL, :now, :now, :now
FROM mcp_file_index_records r JOIN mcp_file_index_projects p ON p.id = r.project_id
WHERE (r.chunker < :chunker OR r.analysis < :analysis OR (r.grammar_missing = 1 AND :grammars = 1)
       OR (r.extracts > 0 AND r.extracts < :extracts))
  AND NOT EXISTS (SELECT 1 FROM mcp_file_index_jobs j
                  WHERE j.apikey_hash = p.apikey_hash AND j.project = p.project AND j.file_path = r.file_path)
LIMIT :limit
ON CONFLICT (apikey_hash, project, file_path) DO NOTHING RETURNING 1;

-- name: indexed_projects
SELECT DISTINCT project FROM mcp_file_chunks WHERE apikey_hash = :tenant AND (:scope IS NULL OR project = :scope);

-- name: forget_chunks
DELETE FROM mcp_file_chunks WHERE apikey_hash = :tenant AND (:scope IS NULL OR project = :scope);

-- name: tenant_files
SELECT count(*) FROM mcp_files WHERE apikey_hash = :tenant AND deleted = 0;

-- name: tenant_move_projects
UPDATE OR REPLACE mcp_file_projects SET apikey_hash = :new WHERE apikey_hash = :old;

-- name: tenant_move_jobs
UPDATE OR REPLACE mcp_file_index_jobs SET apikey_hash = :new WHERE apikey_hash = :old;

-- name: lock_tenant
-- One writer changes the database at a time.
SELECT :tenant;

-- name: extract_live
-- An extract of a live file; the last column says that the file is to be indexed again.
SELECT e.id, e.file_path, e.extract_key, e.title, e.summary, e.content, e.facts, e.start_line, e.end_line, f.updated_at,
       (SELECT 1 FROM mcp_file_index_jobs j
        WHERE j.apikey_hash = e.apikey_hash AND j.project = e.project AND j.file_path = e.file_path LIMIT 1) IS NOT NULL
FROM mcp_file_extracts e
JOIN mcp_files f ON f.apikey_hash = e.apikey_hash AND f.project = e.project AND f.path = e.file_path AND f.deleted = 0
WHERE e.id = :id AND e.apikey_hash = :tenant AND e.project = :project AND e.file_path = :path;

-- name: extract_at
SELECT e.id, e.file_path, e.extract_key, e.title, e.summary, e.content, e.facts, e.start_line, e.end_line, f.updated_at,
       (SELECT 1 FROM mcp_file_index_jobs j
        WHERE j.apikey_hash = e.apikey_hash AND j.project = e.project AND j.file_path = e.file_path LIMIT 1) IS NOT NULL
FROM mcp_file_extracts e
JOIN mcp_files f ON f.apikey_hash = e.apikey_hash AND f.project = e.project AND f.path = e.file_path AND f.deleted = 0
WHERE e.apikey_hash = :tenant AND e.project = :project AND e.file_path = :path AND e.extract_key = :key
ORDER BY e.position LIMIT 1;
