-- name: find_uses
SELECT ref, used, useless FROM context_uses WHERE tenant = :tenant AND ref IN (SELECT json_array_elements_text(CAST(:refs AS json)));
