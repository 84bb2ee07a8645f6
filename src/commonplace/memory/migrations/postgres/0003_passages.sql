-- Long entries have several vectors, one of each passage. The vectors so far are those of the first passages.
ALTER TABLE memory_vectors ADD COLUMN passage SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE memory_vectors DROP CONSTRAINT memory_vectors_pkey;
ALTER TABLE memory_vectors ADD PRIMARY KEY (tenant, field, document, passage);
