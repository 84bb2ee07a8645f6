-- Named queries of vector_jobs.py in SQLite's dialect: the queues of vectors. The queue of the model on this machine has the same
-- statements for a table of its own.

-- name: vector_enqueue
-- In the transaction that finishes the file's words. A deposited key stays with the job.
INSERT INTO mcp_file_vector_jobs (apikey_hash, project, file_path, status, late, available_at, created_at, updated_at)
VALUES (:tenant, :project, :path, 'pending', :late, :now, :now, :now)
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    status = 'pending', late = excluded.late, retry_count = 0, available_at = excluded.available_at, updated_at = excluded.updated_at,
    generation = generation + 1, lease_owner = NULL, lease_until = NULL, last_error = NULL;

-- name: vector_enqueue_again
-- After a change of the model; what is queued stays as it is.
INSERT INTO mcp_file_vector_jobs (apikey_hash, project, file_path, status, late, available_at, created_at, updated_at)
VALUES (:tenant, :project, :path, 'pending', :late, :now, :now, :now)
ON CONFLICT (apikey_hash, project, file_path) DO NOTHING;

-- name: vector_wanting
-- Files of a tenant whose vectors lack a key. A key that the model refused is left out for a while, another one is not.
SELECT project, file_path FROM mcp_file_vector_jobs
WHERE apikey_hash = :tenant AND credential_ref IS NULL
  AND (status IN ('held', 'pending', 'processing') OR (status = 'waiting_credential'
       AND (available_at <= :now OR coalesce(refused_key, '') <> :key)))
LIMIT :limit;

-- name: vector_attach
-- Give a job its key; one that waited for it is due. Nothing where the job is done meanwhile.
INSERT INTO mcp_file_vector_jobs (apikey_hash, project, file_path, status, credential_ref, available_at, created_at, updated_at)
SELECT :tenant, :project, :path, 'held', :ref, :now, :now, :now
WHERE EXISTS (SELECT 1 FROM mcp_file_index_jobs WHERE apikey_hash = :tenant AND project = :project AND file_path = :path)
   OR EXISTS (SELECT 1 FROM mcp_file_vector_jobs WHERE apikey_hash = :tenant AND project = :project AND file_path = :path)
ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET
    credential_ref = excluded.credential_ref, updated_at = excluded.updated_at,
    available_at = CASE WHEN status = 'waiting_credential' THEN excluded.available_at ELSE available_at END,
    retry_count = CASE WHEN status = 'waiting_credential' THEN 0 ELSE retry_count END,
    status = CASE WHEN status = 'waiting_credential' THEN 'pending' ELSE status END;

-- name: vector_due
SELECT 1 WHERE EXISTS (SELECT 1 FROM mcp_file_vector_jobs WHERE status = 'pending' AND available_at <= :now)
            OR EXISTS (SELECT 1 FROM mcp_file_vector_jobs WHERE status = 'processing' AND lease_until <= :now);

-- name: vector_expire
-- Expired leases: their worker ended, and any other may take the work.
UPDATE mcp_file_vector_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE status = 'processing' AND lease_until <= :now;

-- name: vector_claim
UPDATE mcp_file_vector_jobs SET status = 'processing', lease_owner = :owner, lease_until = :now + :lease, updated_at = :now
WHERE id IN (
    SELECT id FROM mcp_file_vector_jobs
    WHERE status = 'pending' AND apikey_hash = :tenant AND project = :scope AND available_at <= :now
    ORDER BY late, available_at, id LIMIT :limit
)
RETURNING id, generation, apikey_hash, project, file_path, credential_ref, retry_count;

-- name: vector_renew
UPDATE mcp_file_vector_jobs SET lease_until = :now + :lease
WHERE id = :id AND status = 'processing' AND lease_owner = :owner;

-- name: vector_reclaim
UPDATE mcp_file_vector_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE status = 'processing' AND lease_owner <> :owner;

-- name: vector_release
UPDATE mcp_file_vector_jobs SET status = 'pending', lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE status = 'processing' AND lease_owner = :owner;

-- name: vector_wait
-- Only if no other key was deposited meanwhile.
UPDATE mcp_file_vector_jobs
SET status = 'waiting_credential', credential_ref = NULL, retry_count = 0, available_at = :now + :delay, updated_at = :now,
    lease_owner = NULL, lease_until = NULL, last_error = :error, refused_key = :refused
WHERE id = :id AND generation = :generation AND credential_ref IS :ref RETURNING id;

-- name: vector_retry
UPDATE mcp_file_vector_jobs
SET status = 'pending', retry_count = :retry_count, available_at = :now + :delay, updated_at = :now,
    lease_owner = NULL, lease_until = NULL, last_error = :error
WHERE id = :id AND generation = :generation RETURNING id;

-- name: vector_bury
UPDATE mcp_file_vector_jobs
SET status = 'dead', credential_ref = NULL, updated_at = :now, lease_owner = NULL, lease_until = NULL, last_error = :error
WHERE id = :id AND generation = :generation RETURNING id;

-- name: vector_counts
-- At work, waiting for a key, given up; of one tenant and project, or of all for the operator.
SELECT coalesce(sum(status IN ('pending', 'processing')), 0), coalesce(sum(status = 'waiting_credential'), 0),
       coalesce(sum(status = 'dead'), 0)
FROM mcp_file_vector_jobs
WHERE (:tenant IS NULL OR apikey_hash = :tenant) AND (:scope IS NULL OR project = :scope);

-- name: vector_dead_letters
SELECT file_path, coalesce(last_error, '') FROM mcp_file_vector_jobs
WHERE status = 'dead' AND apikey_hash = :tenant AND (:scope IS NULL OR project = :scope) ORDER BY updated_at DESC LIMIT 20;

-- name: vector_waiting_reasons
-- Why files wait for a key, each reason once.
SELECT DISTINCT last_error FROM mcp_file_vector_jobs
WHERE status = 'waiting_credential' AND last_error IS NOT NULL AND (:tenant IS NULL OR apikey_hash = :tenant) AND (:scope IS NULL OR project = :scope) ORDER BY last_error LIMIT 5;
