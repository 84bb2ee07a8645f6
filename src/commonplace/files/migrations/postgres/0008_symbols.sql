-- The definition or section of a chunk, its kind and its lines; empty and 0 until the file is indexed again.
ALTER TABLE mcp_file_chunks ADD COLUMN symbol TEXT NOT NULL DEFAULT '';
ALTER TABLE mcp_file_chunks ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE mcp_file_chunks ADD COLUMN start_line INT NOT NULL DEFAULT 0;
ALTER TABLE mcp_file_chunks ADD COLUMN end_line INT NOT NULL DEFAULT 0;

-- Numbers of projects: the tables below have many short rows.
CREATE TABLE mcp_file_index_projects (
    id              BIGSERIAL PRIMARY KEY,
    apikey_hash     CHAR(64)      NOT NULL,
    project         VARCHAR(128)  COLLATE "C" NOT NULL,
    UNIQUE (apikey_hash, project)
);

-- One row per indexed file: with which versions of the chunker, of the text analysis and of the model its index was made.
-- base_name is folded to lower case. grammar_missing: it would have had a structure if its grammar had been installed.
CREATE TABLE mcp_file_index_records (
    id              BIGSERIAL PRIMARY KEY,
    project_id      BIGINT        NOT NULL REFERENCES mcp_file_index_projects (id) ON DELETE CASCADE,
    file_path       VARCHAR(1024) COLLATE "C" NOT NULL,
    base_name       TEXT          COLLATE "C" NOT NULL DEFAULT '',
    language        TEXT          NOT NULL DEFAULT '',
    chunker         INT           NOT NULL,
    analysis        INT           NOT NULL,
    model           TEXT          NOT NULL DEFAULT '',
    grammar_missing INT           NOT NULL DEFAULT 0,
    UNIQUE (project_id, file_path)
);

CREATE INDEX idx_mcp_file_index_records_base_name ON mcp_file_index_records (project_id, base_name);
CREATE INDEX idx_mcp_file_index_records_chunker ON mcp_file_index_records (chunker);
CREATE INDEX idx_mcp_file_index_records_analysis ON mcp_file_index_records (analysis);
CREATE INDEX idx_mcp_file_index_records_grammar ON mcp_file_index_records (grammar_missing) WHERE grammar_missing = 1;

CREATE TABLE mcp_file_definitions (
    record_id       BIGINT        NOT NULL REFERENCES mcp_file_index_records (id) ON DELETE CASCADE,
    position        INT           NOT NULL,
    project_id      BIGINT        NOT NULL,
    folded          TEXT          COLLATE "C" NOT NULL,
    name            TEXT          COLLATE "C" NOT NULL,
    qualified       TEXT          NOT NULL,
    kind            TEXT          NOT NULL,
    start_byte      BIGINT        NOT NULL,
    end_byte        BIGINT        NOT NULL,
    start_line      INT           NOT NULL,
    end_line        INT           NOT NULL,
    line            INT           NOT NULL,
    signature       TEXT          NOT NULL,
    PRIMARY KEY (record_id, position)
);

CREATE INDEX idx_mcp_file_definitions_name ON mcp_file_definitions (project_id, folded);

-- The lines on which a file uses a name, separated by commas; those of calls end with c, those of imports with i.
CREATE TABLE mcp_file_references (
    record_id       BIGINT        NOT NULL REFERENCES mcp_file_index_records (id) ON DELETE CASCADE,
    name            TEXT          COLLATE "C" NOT NULL,
    project_id      BIGINT        NOT NULL,
    lines           TEXT          NOT NULL,
    PRIMARY KEY (record_id, name)
);

CREATE INDEX idx_mcp_file_references_name ON mcp_file_references (project_id, name);

CREATE TABLE mcp_file_imports (
    record_id       BIGINT        NOT NULL REFERENCES mcp_file_index_records (id) ON DELETE CASCADE,
    position        INT           NOT NULL,
    target          TEXT          NOT NULL,
    line            INT           NOT NULL,
    PRIMARY KEY (record_id, position)
);

-- The words of paths, as the text analysis makes them.
CREATE TABLE mcp_file_path_words (
    record_id       BIGINT        NOT NULL REFERENCES mcp_file_index_records (id) ON DELETE CASCADE,
    word            TEXT          COLLATE "C" NOT NULL,
    project_id      BIGINT        NOT NULL,
    PRIMARY KEY (record_id, word)
);

CREATE INDEX idx_mcp_file_path_words_word ON mcp_file_path_words (project_id, word);

-- What was indexed so far was made by the first versions.
INSERT INTO mcp_file_index_projects (apikey_hash, project) SELECT DISTINCT apikey_hash, project FROM mcp_file_chunks;

INSERT INTO mcp_file_index_records (project_id, file_path, chunker, analysis)
SELECT p.id, c.file_path, 1, 1 FROM mcp_file_chunks c
JOIN mcp_file_index_projects p ON p.apikey_hash = c.apikey_hash AND p.project = c.project GROUP BY p.id, c.file_path;
