-- name: find_uses
SELECT ref, used, useless FROM context_uses WHERE tenant = :tenant AND ref IN (SELECT value FROM json_each(:refs));
