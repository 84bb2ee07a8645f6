-- Classifications of instructions that a key may read where `governance.restrict_reads` is on.
ALTER TABLE api_key ADD COLUMN may_read TEXT[] NOT NULL DEFAULT '{}';
