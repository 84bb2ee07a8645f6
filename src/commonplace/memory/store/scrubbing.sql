-- Named queries of the file of memory: SQLite only, because PostgreSQL owns its files.

-- name: unscrubbed
SELECT since FROM memory_unscrubbed LIMIT 1;

-- name: scrubbed
DELETE FROM memory_unscrubbed;
