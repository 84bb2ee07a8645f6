-- Named queries of file_store.py and index_store.py in PostgreSQL's dialect: the names and parameters of sqlite.sql.
-- Times are microseconds since the epoch on the outside. Every statement is bound to a tenant, except the operator's (purge, outbox).

-- name: file
SELECT id, size, microseconds_of(created_at), microseconds_of(updated_at), content_hash,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id) FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND deleted = FALSE;

-- name: file_slice
-- Without the content if more than :most bytes were asked for.
SELECT size, microseconds_of(created_at), microseconds_of(updated_at), content_hash,
       CASE WHEN least(size - :start + 1, :length) <= :most
            THEN substring(content FROM least(:start, 2000000000)::int FOR least(:length, 100000000)::int) END FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND deleted = FALSE;

-- name: file_current
SELECT id, size, microseconds_of(created_at), microseconds_of(updated_at), content_hash, content,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id) FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND deleted = FALSE;

-- name: file_whole
SELECT content_hash, content FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path = :path AND deleted = FALSE;

-- name: directory
-- No row: the directory does not exist.
SELECT microseconds_of(updated_at) FROM mcp_file_ancestors
WHERE apikey_hash = :tenant AND project = :project AND directory = :path ORDER BY updated_at DESC LIMIT 1;

-- name: files_from
-- Live files in path order, each found by one seek from the last; a deeper subtree is jumped over, so no row is ever too deep. The walk
-- counts what it found and ends by itself, so that the order can be stated.
WITH RECURSIVE walk AS (
    (SELECT path, (length(path) - length(replace(path, '/', '')) <= :levels::int)::int AS found FROM mcp_files
     WHERE apikey_hash = :tenant AND project = :project AND path >= :start AND path < :upper AND deleted = FALSE
     ORDER BY path LIMIT 1)
    UNION ALL
    SELECT next.path, walk.found + (length(next.path) - length(replace(next.path, '/', '')) <= :levels::int)::int
    FROM walk CROSS JOIN LATERAL (
        SELECT f.path FROM mcp_files f
        WHERE f.apikey_hash = :tenant AND f.project = :project AND f.path < :upper AND f.deleted = FALSE
          AND f.path >= CASE WHEN length(walk.path) - length(replace(walk.path, '/', '')) > :levels::int
                             THEN array_to_string((string_to_array(walk.path, '/'))[1 : :levels::int + 1], '/') || '0'
                             ELSE walk.path || chr(1) END
        ORDER BY f.path LIMIT 1
    ) AS next
    WHERE walk.found < :limit
)
SELECT f.path, f.size, microseconds_of(f.created_at), microseconds_of(f.updated_at), f.content_hash,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = f.id), FALSE
FROM walk JOIN mcp_files f ON f.apikey_hash = :tenant AND f.project = :project AND f.path = walk.path AND f.deleted = FALSE
WHERE length(walk.path) - length(replace(walk.path, '/', '')) <= :levels::int ORDER BY f.path;

-- name: directories_from
-- Directories in the same way, with their newest update.
WITH RECURSIVE walk AS (
    (SELECT directory, (length(directory) - length(replace(directory, '/', '')) <= :levels::int)::int AS found FROM mcp_file_ancestors
     WHERE apikey_hash = :tenant AND project = :project AND directory >= :start AND directory < :upper
     ORDER BY directory LIMIT 1)
    UNION ALL
    SELECT next.directory, walk.found + (length(next.directory) - length(replace(next.directory, '/', '')) <= :levels::int)::int
    FROM walk CROSS JOIN LATERAL (
        SELECT a.directory FROM mcp_file_ancestors a
        WHERE a.apikey_hash = :tenant AND a.project = :project AND a.directory < :upper
          AND a.directory >= CASE WHEN length(walk.directory) - length(replace(walk.directory, '/', '')) > :levels::int
                                  THEN array_to_string((string_to_array(walk.directory, '/'))[1 : :levels::int + 1], '/') || '0'
                                  ELSE walk.directory || chr(1) END
        ORDER BY a.directory LIMIT 1
    ) AS next
    WHERE walk.found < :limit
)
SELECT walk.directory,
       (SELECT microseconds_of(a.updated_at) FROM mcp_file_ancestors a
        WHERE a.apikey_hash = :tenant AND a.project = :project AND a.directory = walk.directory ORDER BY a.updated_at DESC LIMIT 1),
       FALSE
FROM walk WHERE length(walk.directory) - length(replace(walk.directory, '/', '')) <= :levels::int ORDER BY walk.directory;

-- name: file_insert
INSERT INTO mcp_files (apikey_hash, project, path, size, content_hash, created_at, updated_at, content)
VALUES (:tenant, :project, :path, :size, :hash, moment_of(:now), moment_of(:now), :content) RETURNING id;

-- name: file_update
UPDATE mcp_files SET content = :content, size = :size, content_hash = :hash, updated_at = moment_of(:now)
WHERE id = :id AND apikey_hash = :tenant;

-- name: ancestor_add
INSERT INTO mcp_file_ancestors (apikey_hash, project, directory, updated_at, file_id)
VALUES (:tenant, :project, :directory, moment_of(:updated_at), :id);

-- name: ancestor_remove
DELETE FROM mcp_file_ancestors
WHERE apikey_hash = :tenant AND project = :project AND directory = :directory AND updated_at = moment_of(:updated_at) AND file_id = :id;

-- name: project_change
INSERT INTO mcp_file_projects AS p (apikey_hash, project, files, bytes) VALUES (:tenant, :project, :files, :bytes)
ON CONFLICT (apikey_hash, project) DO UPDATE SET files = p.files + excluded.files, bytes = p.bytes + excluded.bytes;

-- name: below
-- The live files below a directory: paths from directory || '/' up to, not including, directory || '0'.
SELECT id, path, size, microseconds_of(updated_at),
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id) FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = FALSE ORDER BY path;

-- name: below_count
SELECT count(*), coalesce(sum(size), 0)::bigint FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = FALSE;

-- name: below_unmark
-- Takes the files below a directory out of one of the directories above them.
DELETE FROM mcp_file_ancestors a USING mcp_files f
WHERE f.apikey_hash = :tenant AND f.project = :project AND f.path > :start AND f.path < :upper AND f.deleted = FALSE
  AND a.apikey_hash = :tenant AND a.project = :project AND a.directory = :directory
  AND a.updated_at = f.updated_at AND a.file_id = f.id;

-- name: below_enqueue
INSERT INTO mcp_file_index_jobs AS j (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT apikey_hash, project, path, 'DELETE', moment_of(:now), statement_timestamp(), statement_timestamp(), statement_timestamp()
FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = FALSE ORDER BY path
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    status = 'pending', operation = 'DELETE', retry_count = 0, available_at = excluded.available_at, updated_at = excluded.updated_at,
    generation = j.generation + 1, lease_owner = NULL, lease_until = NULL, last_error = NULL;

-- name: below_delete
UPDATE mcp_files SET deleted = TRUE, deleted_at = moment_of(:now)
WHERE apikey_hash = :tenant AND project = :project AND path > :start AND path < :upper AND deleted = FALSE;

-- name: file_delete
UPDATE mcp_files SET deleted = TRUE, deleted_at = moment_of(:now) WHERE id = :id AND apikey_hash = :tenant;

-- name: restorable
-- The newest deleted row of each path that is the given one or below it.
SELECT DISTINCT ON (path) id, path, size, microseconds_of(updated_at) FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND deleted = TRUE AND deleted_at > moment_of(:after)
  AND (path = :path OR (path > :start AND path < :upper)) ORDER BY path, deleted_at DESC, id DESC;

-- name: deleted_files
-- What could be restored, newest first: the newest deleted row of each path where no live file is.
SELECT path, size, microseconds_of(deleted_at) FROM (
    SELECT DISTINCT ON (path) path, size, deleted_at FROM mcp_files f
    WHERE apikey_hash = :tenant AND project = :project AND deleted = TRUE AND deleted_at > moment_of(:after)
      AND NOT EXISTS (SELECT 1 FROM mcp_files l
                      WHERE l.apikey_hash = :tenant AND l.project = :project AND l.path = f.path AND l.deleted = FALSE)
    ORDER BY path, deleted_at DESC, id DESC
) AS newest ORDER BY deleted_at DESC, path LIMIT :limit OFFSET :offset;

-- name: file_restore
UPDATE mcp_files SET deleted = FALSE, deleted_at = NULL WHERE id = :id AND apikey_hash = :tenant;

-- name: page
-- As many files as fit into :room bytes, the first always: rows beyond it are not sent.
SELECT path, size, microseconds_of(created_at), microseconds_of(updated_at), content_hash,
       (SELECT f.content FROM mcp_files f WHERE f.id = summed.id),
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = summed.id) FROM (
    SELECT *, sum(size) OVER (ORDER BY path) - size AS before FROM (
        SELECT id, path, size, created_at, updated_at, content_hash FROM mcp_files
        WHERE apikey_hash = :tenant AND project = :project AND path > :after AND path >= :prefix AND path < :upper AND deleted = FALSE
        ORDER BY path LIMIT :limit
    ) AS candidates
) AS summed WHERE before < :room ORDER BY path;

-- name: sources_forget
DELETE FROM mcp_file_sources WHERE file_id IN (
    SELECT id FROM mcp_files WHERE apikey_hash = :tenant AND project = :project AND deleted = FALSE AND path = :path
    UNION ALL
    SELECT id FROM mcp_files
    WHERE apikey_hash = :tenant AND project = :project AND deleted = FALSE AND path > :start AND path < :upper);

-- name: inventory
-- Live files in path order with where they came from, without their content.
SELECT path, content_hash, s.source_path, s.origin FROM mcp_files f LEFT JOIN mcp_file_sources s ON s.file_id = f.id
WHERE apikey_hash = :tenant AND project = :project AND path > :after AND path >= :prefix AND path < :upper AND deleted = FALSE
ORDER BY path LIMIT :limit;

-- name: deleted_usage
SELECT count(*), coalesce(sum(size), 0)::bigint FROM mcp_files
WHERE apikey_hash = :tenant AND project = :project AND deleted = TRUE;

-- name: contents
-- Live files of all tenants in the order of their ids, for examinations.
SELECT id, apikey_hash, project, path, content,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = mcp_files.id)
FROM mcp_files WHERE id > :after AND deleted = FALSE ORDER BY id LIMIT :limit;

-- name: purge
DELETE FROM mcp_files WHERE id IN
    (SELECT id FROM mcp_files WHERE deleted = TRUE AND deleted_at < moment_of(:before)
     ORDER BY deleted_at LIMIT :limit FOR UPDATE SKIP LOCKED) RETURNING id;

-- name: job_enqueue
-- One job per file: queueing again makes it due now, resets its retries and raises its generation.
INSERT INTO mcp_file_index_jobs AS j (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
VALUES (:tenant, :project, :path, :operation, moment_of(:file_updated_at),
        statement_timestamp(), statement_timestamp(), statement_timestamp())
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    operation = excluded.operation, file_updated_at = excluded.file_updated_at,
    created_at = CASE WHEN j.status = 'pending' THEN j.created_at ELSE excluded.created_at END,
    status = 'pending', retry_count = 0, available_at = excluded.available_at, updated_at = excluded.updated_at,
    generation = j.generation + 1, lease_owner = NULL, lease_until = NULL, last_error = NULL;

-- name: job_due
SELECT 1 WHERE EXISTS (SELECT 1 FROM mcp_file_index_jobs WHERE status = 'pending' AND available_at <= statement_timestamp())
            OR EXISTS (SELECT 1 FROM mcp_file_index_jobs WHERE status = 'processing' AND lease_until <= statement_timestamp());

-- name: job_held
-- Whether a worker still has its job: not queued again, not taken over after its lease. That cannot change until this commits.
SELECT 1 FROM mcp_file_index_jobs WHERE id = :id AND generation = :generation AND lease_owner = :owner FOR UPDATE;

-- name: outbox_renew
UPDATE mcp_file_index_jobs SET lease_until = statement_timestamp() + :lease * interval '1 microsecond'
WHERE id = :id AND status = 'processing' AND lease_owner = :owner;

-- name: outbox_expire
-- Expired leases: their worker ended, and any other may take the work.
UPDATE mcp_file_index_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = statement_timestamp()
WHERE id IN (SELECT id FROM mcp_file_index_jobs WHERE status = 'processing' AND lease_until <= statement_timestamp()
             FOR UPDATE SKIP LOCKED);

-- name: outbox_claim
-- The oldest due jobs of one project whose file has a size in these bounds; a deleted file has none. What others are claiming at this
-- moment is passed over, not waited for.
WITH due AS MATERIALIZED (
    SELECT j.id, coalesce(f.size, 0) AS size FROM mcp_file_index_jobs j
    LEFT JOIN mcp_files f ON f.apikey_hash = j.apikey_hash AND f.project = j.project AND f.path = j.file_path AND f.deleted = FALSE
    WHERE j.status = 'pending' AND j.apikey_hash = :tenant AND j.project = :scope AND j.available_at <= statement_timestamp()
      AND coalesce(f.size, 0) > :over AND coalesce(f.size, 0) <= :upto
    ORDER BY j.available_at, j.id LIMIT :limit FOR UPDATE OF j SKIP LOCKED
)
UPDATE mcp_file_index_jobs AS j
SET status = 'processing', lease_owner = :owner, lease_until = statement_timestamp() + :lease * interval '1 microsecond',
    updated_at = statement_timestamp()
FROM due WHERE j.id = due.id
RETURNING j.id, j.generation, j.apikey_hash, j.project, j.file_path, j.operation, j.retry_count, microseconds_of(j.created_at), due.size;

-- name: outbox_reclaim
-- Several workers share this queue: only expired leases may be taken over.
UPDATE mcp_file_index_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = statement_timestamp()
WHERE status = 'processing' AND lease_owner <> :owner AND lease_until <= statement_timestamp();

-- name: outbox_release
UPDATE mcp_file_index_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = statement_timestamp()
WHERE status = 'processing' AND lease_owner = :owner;

-- name: outbox_retry
UPDATE mcp_file_index_jobs
SET status = 'pending', retry_count = retry_count + 1, available_at = statement_timestamp() + :delay * interval '1 microsecond',
    updated_at = statement_timestamp(), lease_owner = NULL, lease_until = NULL, last_error = :error
WHERE id = :id AND generation = :generation;

-- name: outbox_bury
UPDATE mcp_file_index_jobs
SET status = 'dead', updated_at = statement_timestamp(), lease_owner = NULL, lease_until = NULL, last_error = :error
WHERE id = :id AND generation = :generation;

-- name: outbox_counts
SELECT count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'processing'),
       count(*) FILTER (WHERE status = 'dead'), microseconds_of(min(created_at) FILTER (WHERE status <> 'dead'))
FROM mcp_file_index_jobs
WHERE (:tenant::text IS NULL OR apikey_hash = :tenant) AND (:scope::text IS NULL OR project = :scope);

-- name: dead_letters
SELECT file_path, coalesce(last_error, '') FROM mcp_file_index_jobs
WHERE status = 'dead' AND apikey_hash = :tenant AND (:scope::text IS NULL OR project = :scope) ORDER BY updated_at DESC, id LIMIT 20;

-- name: chunk_counts
-- Every indexed file that is not empty has one first chunk.
SELECT count(*), count(*) FILTER (WHERE chunk_index = 0) FROM mcp_file_chunks
WHERE apikey_hash = :tenant AND (:scope::text IS NULL OR project = :scope);

-- name: chunks_live
-- Chunks with what the live file now holds at their place, their lines, and whether the file waits to be indexed again.
-- :ids is a JSON array.
SELECT c.id, c.start_byte, c.end_byte, c.chunk_content,
       substring(f.content FROM (c.start_byte + 1)::int FOR (c.end_byte - c.start_byte)::int), c.content_hash,
       (SELECT s.source_path FROM mcp_file_sources s WHERE s.file_id = f.id), c.start_line, c.end_line,
       EXISTS (SELECT 1 FROM mcp_file_index_jobs j
               WHERE j.apikey_hash = c.apikey_hash AND j.project = c.project AND j.file_path = c.file_path), c.file_path
FROM mcp_file_chunks c
JOIN mcp_files f ON f.apikey_hash = c.apikey_hash AND f.project = c.project AND f.path = c.file_path AND f.deleted = FALSE
WHERE c.id = ANY (translate(:ids, '[] ', '{}')::bigint[]) AND c.apikey_hash = :tenant AND c.project = :project;

-- name: chunk_insert
INSERT INTO mcp_file_chunks
    (apikey_hash, project, file_path, chunk_index, start_byte, end_byte, chunk_content, content_hash, context, symbol, kind,
     start_line, end_line, created_at, updated_at)
VALUES (:tenant, :project, :path, :index, :start, :end, :content, :hash, :context, :symbol, :kind, :start_line, :end_line,
        moment_of(:now), moment_of(:now)) RETURNING id;

-- name: chunk_move
UPDATE mcp_file_chunks SET chunk_index = :index, start_byte = :start, end_byte = :end, symbol = :symbol, kind = :kind,
    start_line = :start_line, end_line = :end_line, updated_at = moment_of(:now)
WHERE id = :id AND apikey_hash = :tenant;

-- name: chunk_served
UPDATE mcp_file_chunks SET last_served_at = moment_of(:now) WHERE id = :id AND apikey_hash = :tenant;

-- name: enqueue_live
INSERT INTO mcp_file_index_jobs AS j (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT apikey_hash, project, path, 'UPSERT', updated_at, statement_timestamp(), statement_timestamp(), statement_timestamp() FROM mcp_files
WHERE apikey_hash = :tenant AND (:scope::text IS NULL OR project = :scope) AND deleted = FALSE ORDER BY project, path
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    status = 'pending', operation = 'UPSERT', retry_count = 0, available_at = excluded.available_at, updated_at = excluded.updated_at,
    generation = j.generation + 1, lease_owner = NULL, lease_until = NULL, last_error = NULL
RETURNING 1;

-- name: enqueue_stale
-- Chunks whose file is gone, as when a job was lost by hand.
INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT DISTINCT c.apikey_hash, c.project, c.file_path, 'DELETE', NULL::timestamptz,
    statement_timestamp(), statement_timestamp(), statement_timestamp()
FROM mcp_file_chunks c
WHERE c.apikey_hash = :tenant AND (:scope::text IS NULL OR c.project = :scope)
  AND NOT EXISTS (SELECT 1 FROM mcp_files f
                  WHERE f.apikey_hash = c.apikey_hash AND f.project = c.project AND f.path = c.file_path AND f.deleted = FALSE)
ON CONFLICT (apikey_hash, project, file_path) DO NOTHING;

-- name: enqueue_outdated
-- Some files whose index was made by older versions, unless they are queued or were given up.
INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT p.apikey_hash, p.project, r.file_path, 'UPSERT', NULL::timestamptz,
    statement_timestamp(), statement_timestamp(), statement_timestamp()
FROM mcp_file_index_records r JOIN mcp_file_index_projects p ON p.id = r.project_id
WHERE (r.chunker < :chunker OR r.analysis < :analysis OR (r.grammar_missing = 1 AND :grammars = 1)
       OR (r.extracts > 0 AND r.extracts < :extracts))
  AND NOT EXISTS (SELECT 1 FROM mcp_file_index_jobs j
                  WHERE j.apikey_hash = p.apikey_hash AND j.project = p.project AND j.file_path = r.file_path)
ORDER BY r.id LIMIT :limit
ON CONFLICT (apikey_hash, project, file_path) DO NOTHING RETURNING 1;

-- name: indexed_projects
SELECT DISTINCT project FROM mcp_file_chunks WHERE apikey_hash = :tenant AND (:scope::text IS NULL OR project = :scope);

-- name: forget_chunks
DELETE FROM mcp_file_chunks WHERE apikey_hash = :tenant AND (:scope::text IS NULL OR project = :scope);

-- name: tenant_files
SELECT count(*) FROM mcp_files WHERE apikey_hash = :tenant AND deleted = FALSE;

-- name: tenant_move_projects
WITH moved AS (DELETE FROM mcp_file_projects WHERE apikey_hash = :old RETURNING project, files, bytes)
INSERT INTO mcp_file_projects (apikey_hash, project, files, bytes) SELECT :new, project, files, bytes FROM moved
ON CONFLICT (apikey_hash, project) DO UPDATE SET files = excluded.files, bytes = excluded.bytes;

-- name: tenant_move_jobs
WITH moved AS (DELETE FROM mcp_file_index_jobs WHERE apikey_hash = :old
               RETURNING project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
INSERT INTO mcp_file_index_jobs AS j (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
SELECT :new, project, file_path, operation, file_updated_at, available_at, created_at, updated_at FROM moved
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    status = 'pending', operation = excluded.operation, retry_count = 0, available_at = excluded.available_at,
    generation = j.generation + 1, lease_owner = NULL, lease_until = NULL, last_error = NULL;

-- name: lock_tenant
SELECT pg_advisory_xact_lock(hashtextextended('bytes of ' || :tenant::text, 0));

-- name: extract_live
-- An extract of a live file; the last column says that the file is to be indexed again.
SELECT e.id, e.file_path, e.extract_key, e.title, e.summary, e.content, e.facts, e.start_line, e.end_line, microseconds_of(f.updated_at),
       (SELECT 1 FROM mcp_file_index_jobs j
        WHERE j.apikey_hash = e.apikey_hash AND j.project = e.project AND j.file_path = e.file_path LIMIT 1) IS NOT NULL
FROM mcp_file_extracts e
JOIN mcp_files f ON f.apikey_hash = e.apikey_hash AND f.project = e.project AND f.path = e.file_path AND f.deleted = FALSE
WHERE e.id = :id AND e.apikey_hash = :tenant AND e.project = :project AND e.file_path = :path;

-- name: extract_at
SELECT e.id, e.file_path, e.extract_key, e.title, e.summary, e.content, e.facts, e.start_line, e.end_line, microseconds_of(f.updated_at),
       (SELECT 1 FROM mcp_file_index_jobs j
        WHERE j.apikey_hash = e.apikey_hash AND j.project = e.project AND j.file_path = e.file_path LIMIT 1) IS NOT NULL
FROM mcp_file_extracts e
JOIN mcp_files f ON f.apikey_hash = e.apikey_hash AND f.project = e.project AND f.path = e.file_path AND f.deleted = FALSE
WHERE e.apikey_hash = :tenant AND e.project = :project AND e.file_path = :path AND e.extract_key = :key
ORDER BY e.position LIMIT 1;
