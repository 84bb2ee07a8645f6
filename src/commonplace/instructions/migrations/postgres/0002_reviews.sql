-- What happened in reviews of instructions, in the order of the catalogue's one writer.
CREATE TABLE instruction_reviews (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL,
  event BYTEA NOT NULL
);

CREATE INDEX instruction_reviews_of_id ON instruction_reviews (id, number);

-- Instructions as they were before many were removed at once: compressed JSON lines.
CREATE TABLE instruction_backups (
  name TEXT COLLATE "C" PRIMARY KEY,
  facts BYTEA NOT NULL,
  content BYTEA NOT NULL
);
