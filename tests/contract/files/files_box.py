"""A files toolset on a fresh database, called through the pipeline as every edge does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import psycopg
import pytest

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.files.assembly import Files, build_files
from commonplace.files.postgres_assembly import build_postgres_files
from commonplace.files.toolset import toolset
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant, tenant_hash
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import FilesSettings
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.sqlite.database import Database
from pgbouncer import open_test_database

AERO_TEXT = (
    "# Wings\n\n"
    + "The swept wing lowers drag near the speed of sound. " * 12
    + "\n\n## Propellers\n\n"
    + "A variable pitch propeller keeps the engine at its best speed. " * 12
    + "\n\n## Français\n\n"
    + "Les ailes en flèche réduisent la traînée à grande vitesse. " * 12
    + "\n"
)


class Box:
    """The files of one tenant, and a short way to call a tool: its answer or its error code."""

    database: Database | PostgresDatabase
    model_key: str | None = None  # what the caller brings for external models

    def __init__(
        self, data: Path, settings: FilesSettings | None = None, *, url: str = "", **options: Any
    ) -> None:
        self.data = data
        self.files: Files
        self.url = url
        tsvector = settings is not None and settings.search.lexical == "tsvector"
        self.words_table = "mcp_file_chunk_words" if url and tsvector else "search_posting"
        if url:
            self.database = open_test_database(url, pool_size=4)
            self.files = build_postgres_files(self.database, settings, **options)
        else:
            self.database = Database(data / "files.db", durable=False)
            self.files = build_files(self.database, data, settings, **options)
        self.pipeline = Pipeline(Registry([toolset(lambda: self.files.service)]))
        self._loop = asyncio.new_event_loop()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if isinstance(self.database, Database):
            return self.database.reader().execute(sql).fetchall()
        return self.database.read_now(lambda connection: connection.execute(sql).fetchall())

    def change(self, sql: str) -> None:
        """`@1@` is the moment one microsecond after the epoch, in either dialect."""
        text = sql.replace("@1@", "moment_of(1)" if self.url else "1")
        self.database.write_now(lambda connection: connection.execute(text) and None)

    @contextlib.contextmanager
    def locked(self, tenant: str = "t1", project: str = "p") -> Iterator[None]:
        """Another process is in the middle of a change of this project."""
        if self.url:
            with psycopg.connect(self.url) as other:
                key = f"{tenant_hash(Tenant(tenant))}:{project}"
                other.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (key,))
                yield
            return
        other = apsw.Connection(str(self.data / "files.db"))
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")

    def call(self, tool: str, tenant: str = "t1", **arguments: Any) -> Any:
        """The tool's answer as JSON would hold it."""
        auth = AuthContext(Tenant(tenant), ALL_SCOPES, tenant, model_key=self.model_key)
        arguments.setdefault("project", "p") if tool != "file_projects" else None
        outcome = self._loop.run_until_complete(self.pipeline.run(Call(tool, arguments, auth)))
        if outcome.error is not None:
            raise outcome.error
        assert outcome.output is not None
        return to_json(outcome.output)

    def error(self, tool: str, tenant: str = "t1", **arguments: Any) -> CommonplaceError:
        with pytest.raises(CommonplaceError) as caught:
            self.call(tool, tenant, **arguments)
        return caught.value

    def code(self, tool: str, tenant: str = "t1", **arguments: Any) -> str:
        return self.error(tool, tenant, **arguments).code.name

    def write(self, path: str, content: str = "x", mode: str = "TRUNCATE", **more: Any) -> Any:
        return self.call("file_write", path=path, content=content, mode=mode, **more)

    def read(self, path: str, **more: Any) -> str:
        return str(self.call("file_read", path=path, **more)["content"])

    def paths(self, **more: Any) -> list[str]:
        return [entry["path"] for entry in self.call("file_list", **more)["entries"]]

    def index(self) -> None:
        assert self._loop.run_until_complete(self.files.indexer.drain())
        index: Any = self.files.service._chunks
        self._loop.run_until_complete(index.flush_served())

    def found(self, query: str, **more: Any) -> list[str]:
        return [
            chunk["file_path"] for chunk in self.call("file_search", query=query, **more)["chunks"]
        ]

    def close(self) -> None:
        self._loop.close()
        self.database.close()


MakeBox = Callable[..., Box]


class Words:
    """An embedder with one random direction per word: texts that share words are near."""

    identity, dimensions = "words-1", 384

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.embedded += len(texts)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        total = sum(
            np.random.default_rng(sum(map(ord, word)) * 7919 + len(word)).standard_normal(384)
            for word in text.split()
        )
        return (total / np.linalg.norm(total)).astype(np.float32)
