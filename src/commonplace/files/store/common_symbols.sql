-- Named queries of the symbol index, the same in SQLite and PostgreSQL.

-- name: index_project
SELECT id FROM mcp_file_index_projects WHERE apikey_hash = :tenant AND project = :project;

-- name: index_project_add
INSERT INTO mcp_file_index_projects (apikey_hash, project) VALUES (:tenant, :project) ON CONFLICT (apikey_hash, project) DO NOTHING;

-- name: index_record
SELECT r.chunker, r.analysis FROM mcp_file_index_projects p JOIN mcp_file_index_records r ON r.project_id = p.id
WHERE p.apikey_hash = :tenant AND p.project = :project AND r.file_path = :path;

-- name: index_record_put
INSERT INTO mcp_file_index_records
    (project_id, file_path, base_name, language, chunker, analysis, grammar_missing, extracts, extracts_note)
VALUES (:number, :path, :base_name, :language, :chunker, :analysis, :grammar_missing, :extracts, :extracts_note)
ON CONFLICT (project_id, file_path) DO UPDATE SET
    base_name = excluded.base_name, language = excluded.language, chunker = excluded.chunker, analysis = excluded.analysis,
    grammar_missing = excluded.grammar_missing, extracts = excluded.extracts, extracts_note = excluded.extracts_note
RETURNING id;

-- name: index_record_delete
-- What the file defined and used goes with it.
DELETE FROM mcp_file_index_records WHERE file_path = :path
  AND project_id IN (SELECT id FROM mcp_file_index_projects WHERE apikey_hash = :tenant AND project = :project);

-- name: index_records_forget
DELETE FROM mcp_file_index_records WHERE project_id = :number;

-- name: definitions_clear
DELETE FROM mcp_file_definitions WHERE record_id = :record;

-- name: references_clear
DELETE FROM mcp_file_references WHERE record_id = :record;

-- name: imports_clear
DELETE FROM mcp_file_imports WHERE record_id = :record;

-- name: path_words_clear
DELETE FROM mcp_file_path_words WHERE record_id = :record;

-- name: definition_add
INSERT INTO mcp_file_definitions
    (record_id, position, project_id, folded, name, qualified, kind, start_byte, end_byte, start_line, end_line, line, signature)
VALUES (:record, :position, :number, :folded, :name, :qualified, :kind, :start, :end, :start_line, :end_line, :line, :signature);

-- name: reference_add
INSERT INTO mcp_file_references (record_id, name, project_id, lines) VALUES (:record, :name, :number, :lines)
ON CONFLICT (record_id, name) DO NOTHING;

-- name: import_add
INSERT INTO mcp_file_imports (record_id, position, target, line) VALUES (:record, :position, :target, :line);

-- name: path_word_add
INSERT INTO mcp_file_path_words (record_id, word, project_id) VALUES (:record, :word, :number)
ON CONFLICT (record_id, word) DO NOTHING;

-- name: definitions_named
-- As written first, then in another case; what only declares a name last. A file that is being deleted has none.
SELECT r.file_path, d.name, d.qualified, d.kind, d.start_byte, d.end_byte, d.start_line, d.end_line, d.line, d.signature, r.language
FROM mcp_file_index_projects p
JOIN mcp_file_definitions d ON d.project_id = p.id AND d.folded = :folded
JOIN mcp_file_index_records r ON r.id = d.record_id
WHERE p.apikey_hash = :tenant AND p.project = :project AND r.file_path >= :prefix AND r.file_path < :upper
  AND NOT EXISTS (SELECT 1 FROM mcp_file_index_jobs j WHERE j.apikey_hash = p.apikey_hash AND j.project = p.project
                  AND j.file_path = r.file_path AND j.operation = 'DELETE')
ORDER BY d.name <> :name, d.kind = 'declaration', r.file_path, d.position LIMIT :limit;

-- name: references_named
SELECT r.file_path, u.name, u.lines
FROM mcp_file_index_projects p
JOIN mcp_file_references u ON u.project_id = p.id AND u.name = :name
JOIN mcp_file_index_records r ON r.id = u.record_id
WHERE p.apikey_hash = :tenant AND p.project = :project AND r.file_path >= :prefix AND r.file_path < :upper
  AND NOT EXISTS (SELECT 1 FROM mcp_file_index_jobs j WHERE j.apikey_hash = p.apikey_hash AND j.project = p.project
                  AND j.file_path = r.file_path AND j.operation = 'DELETE')
ORDER BY r.file_path LIMIT :limit;

-- name: definitions_of_file
SELECT r.file_path, d.name, d.qualified, d.kind, d.start_byte, d.end_byte, d.start_line, d.end_line, d.line, d.signature, r.language
FROM mcp_file_index_projects p
JOIN mcp_file_index_records r ON r.project_id = p.id AND r.file_path = :path
JOIN mcp_file_definitions d ON d.record_id = r.id
WHERE p.apikey_hash = :tenant AND p.project = :project ORDER BY d.position;

-- name: functions_of_file
SELECT d.start_line, d.end_line
FROM mcp_file_index_projects p
JOIN mcp_file_index_records r ON r.project_id = p.id AND r.file_path = :path
JOIN mcp_file_definitions d ON d.record_id = r.id
WHERE p.apikey_hash = :tenant AND p.project = :project AND d.kind IN ('function', 'method', 'constructor', 'macro')
ORDER BY d.position;

-- name: imports_of_file
SELECT i.target, i.line
FROM mcp_file_index_projects p
JOIN mcp_file_index_records r ON r.project_id = p.id AND r.file_path = :path
JOIN mcp_file_imports i ON i.record_id = r.id
WHERE p.apikey_hash = :tenant AND p.project = :project ORDER BY i.position;

-- name: references_of_file
SELECT r.file_path, u.name, u.lines
FROM mcp_file_index_projects p
JOIN mcp_file_index_records r ON r.project_id = p.id AND r.file_path = :path
JOIN mcp_file_references u ON u.record_id = r.id
WHERE p.apikey_hash = :tenant AND p.project = :project ORDER BY u.name;

-- name: language_of_file
SELECT r.language FROM mcp_file_index_projects p JOIN mcp_file_index_records r ON r.project_id = p.id AND r.file_path = :path
WHERE p.apikey_hash = :tenant AND p.project = :project;

-- name: files_with_base_name
SELECT r.file_path FROM mcp_file_index_projects p
JOIN mcp_file_index_records r ON r.project_id = p.id AND r.base_name = :base_name
WHERE p.apikey_hash = :tenant AND p.project = :project ORDER BY length(r.file_path), r.file_path LIMIT :limit;

-- name: files_with_path_word
SELECT r.file_path FROM mcp_file_index_projects p
JOIN mcp_file_path_words w ON w.project_id = p.id AND w.word = :word
JOIN mcp_file_index_records r ON r.id = w.record_id
WHERE p.apikey_hash = :tenant AND p.project = :project ORDER BY length(r.file_path), r.file_path LIMIT :limit;

-- name: chunk_at_line
SELECT id, start_byte, end_byte, start_line, end_line, symbol, kind FROM mcp_file_chunks
WHERE apikey_hash = :tenant AND project = :project AND file_path = :path AND start_line > 0 AND start_line <= :line AND end_line >= :line
ORDER BY chunk_index LIMIT 1;

-- name: outdated_files
-- Files of a tenant whose index was made by older versions.
SELECT count(*) FROM mcp_file_index_projects p JOIN mcp_file_index_records r ON r.project_id = p.id
WHERE p.apikey_hash = :tenant AND (:every = 1 OR p.project = :scope)
  AND (r.chunker < :chunker OR r.analysis < :analysis OR (r.grammar_missing = 1 AND :grammars = 1)
       OR (r.extracts > 0 AND r.extracts < :extracts));

-- name: outdated_everywhere
-- For the operator.
SELECT count(*) FROM mcp_file_index_records
WHERE chunker < :chunker OR analysis < :analysis OR (grammar_missing = 1 AND :grammars = 1)
   OR (extracts > 0 AND extracts < :extracts);

-- name: symbol_counts
SELECT count(*) FROM mcp_file_index_projects p JOIN mcp_file_definitions d ON d.project_id = p.id
WHERE p.apikey_hash = :tenant AND (:every = 1 OR p.project = :scope);
