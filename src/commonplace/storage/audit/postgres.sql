-- name: report_origin
INSERT INTO audit_origin (origin, seen_at, closed) VALUES (:origin, clock_timestamp(), :closed)
ON CONFLICT (origin) DO UPDATE SET seen_at = excluded.seen_at, closed = excluded.closed;

-- name: report_head
INSERT INTO audit_chain (chain, origin, count, hash, head_count, head_hash, first_seq, first_prev)
VALUES (:chain, :origin, 0, :genesis, :head_count, :head_hash, 0, :genesis)
ON CONFLICT (chain) DO UPDATE SET head_count = excluded.head_count, head_hash = excluded.head_hash
WHERE audit_chain.head_count < excluded.head_count;

-- name: lock_chain
SELECT count, hash FROM audit_chain WHERE chain = :chain FOR UPDATE;

-- name: arrived_chains
SELECT chain, count, hash FROM audit_chain WHERE chain = ANY(:chains);

-- name: add_record
INSERT INTO audit_record (chain, seq, prev, hash, line, ts, type, tenant, tool, name, outcome, code, trace_id)
VALUES (:chain, :seq, :prev, :hash, :line, :ts, :type, :tenant, :tool, :name, :outcome, :code, :trace_id);

-- name: advance_chain
UPDATE audit_chain SET count = :count, hash = :hash, problem = NULL,
    head_count = greatest(head_count, :count),
    head_hash = CASE WHEN head_count < :count THEN :hash ELSE head_hash END
WHERE chain = :chain;

-- name: note_problem
UPDATE audit_chain SET problem = :problem WHERE chain = :chain;

-- name: query_records
SELECT line, chain, (SELECT origin FROM audit_chain WHERE audit_chain.chain = audit_record.chain)
FROM audit_record
WHERE type = 'call'
  AND (:tenant::text IS NULL OR tenant = :tenant)
  AND (:tool::text IS NULL OR tool = :tool OR name = :tool)
  AND (:outcome::text IS NULL OR outcome = :outcome)
  AND (:code::text IS NULL OR code = :code)
  AND (:trace_id::text IS NULL OR trace_id = :trace_id)
  AND (:since::text IS NULL OR ts >= :since)
  AND (:until::text IS NULL OR ts < :until)
ORDER BY ts DESC, seq DESC
LIMIT :limit;

-- name: all_chains
SELECT chain, origin, count, hash, head_count, head_hash, first_seq, first_prev, problem
FROM audit_chain ORDER BY chain;

-- name: chain_lines
SELECT seq, line FROM audit_record WHERE chain = :chain AND seq >= :seq AND seq < :before ORDER BY seq LIMIT :limit;

-- name: opening_lines
SELECT chain, line FROM audit_record WHERE seq = 0;

-- name: open_origins
SELECT origin, seen_at, seen_at < clock_timestamp() - :seconds * INTERVAL '1 second' FROM audit_origin
WHERE NOT closed ORDER BY origin;

-- name: expired_chains
SELECT chain FROM audit_chain
WHERE first_seq < count AND EXISTS (
    SELECT 1 FROM audit_record WHERE audit_record.chain = audit_chain.chain AND seq = first_seq AND ts < :before);

-- name: first_kept
SELECT coalesce(min(seq), (SELECT count FROM audit_chain WHERE chain = :chain))
FROM audit_record WHERE chain = :chain AND ts >= :before;

-- name: record_hash
SELECT hash FROM audit_record WHERE chain = :chain AND seq = :seq;

-- name: cut_chain
UPDATE audit_chain SET first_seq = :seq, first_prev = :hash WHERE chain = :chain;

-- name: delete_records
DELETE FROM audit_record WHERE chain = :chain AND seq < :seq RETURNING seq;

-- name: export_lines
SELECT chain, seq, line FROM audit_record
WHERE (ts, chain, seq) > (:ts, :chain, :seq)
  AND (:tenant::text IS NULL OR tenant = :tenant)
  AND (:since::text IS NULL OR ts >= :since)
  AND (:until::text IS NULL OR ts < :until)
ORDER BY ts, chain, seq LIMIT :limit;
