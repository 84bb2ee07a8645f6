"""The catalogue of a team in PostgreSQL: entries, configuration, usage and feedback."""

from __future__ import annotations

from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries

SCHEMA = SchemaComponent("instructions", "commonplace.instructions")
QUERIES = load_postgres_queries("commonplace.instructions.store.postgres", "postgres.sql")
