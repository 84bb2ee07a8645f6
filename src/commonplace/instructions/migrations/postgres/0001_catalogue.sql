-- The catalogue of a team. An entry has the bytes that a file of an instruction folder would have. Every change of an entry or of a
-- configuration file has a row in instruction_changes, numbered without gaps by the one writer that holds the catalogue's lock: it is the
-- journal that servers follow and the history that people read. A writer that lost its lock cannot commit, because the number that it
-- would use is taken.
CREATE TABLE instruction_entries (
  id TEXT COLLATE "C" PRIMARY KEY,
  content BYTEA NOT NULL,
  modified_ns BIGINT NOT NULL,
  sequence BIGINT NOT NULL
);

CREATE TABLE instruction_documents (
  name TEXT COLLATE "C" PRIMARY KEY,
  content BYTEA NOT NULL,
  modified_ns BIGINT NOT NULL,
  sequence BIGINT NOT NULL
);

CREATE TABLE instruction_changes (
  sequence BIGINT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('entry', 'document')),
  id TEXT COLLATE "C" NOT NULL,
  at TEXT NOT NULL,
  action TEXT NOT NULL,
  author TEXT NOT NULL,
  tenant TEXT,
  agent TEXT,
  before BYTEA,
  after BYTEA,
  size INTEGER NOT NULL,
  token TEXT NOT NULL
);

CREATE INDEX instruction_changes_of_id ON instruction_changes (id, sequence);

-- Counters of uses, as JSON like a line of usage-snapshot.json. `change` grows with every change of the table.
CREATE TABLE instruction_usage (
  id TEXT COLLATE "C" PRIMARY KEY,
  line BYTEA NOT NULL,
  change BIGINT NOT NULL
);

CREATE INDEX instruction_usage_changes ON instruction_usage (change);

-- Counts that `commonplace migrate --from` has added already, so that repeating it adds only the rest.
CREATE TABLE instruction_usage_moved (
  id TEXT COLLATE "C" NOT NULL,
  first_seen TEXT COLLATE "C" NOT NULL,
  uses BIGINT NOT NULL,
  PRIMARY KEY (id, first_seen)
);

CREATE TABLE instruction_feedback (
  id TEXT COLLATE "C" PRIMARY KEY,
  number BIGINT GENERATED ALWAYS AS IDENTITY,
  at TEXT COLLATE "C" NOT NULL,
  entry BYTEA NOT NULL
);

CREATE INDEX instruction_feedback_order ON instruction_feedback (at, number);

-- Tells a synchronised folder whether its recorded state belongs to this catalogue.
CREATE TABLE instruction_identity (
  single BOOLEAN PRIMARY KEY DEFAULT true CHECK (single),
  identity TEXT NOT NULL DEFAULT gen_random_uuid()::text
);
