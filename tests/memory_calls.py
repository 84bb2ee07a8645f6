"""Memory behind its tools, as a client sees it; shared by the tests of memory."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.kernel.auth import ALL_SCOPES, LOCAL_TENANT, AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import MemorySettings
from commonplace.memory.assembly import build_postgres_memory, open_memory
from commonplace.memory.toolset import toolset
from commonplace.memory.use_cases.promotion.draft import RuleDraft
from commonplace.memory.use_cases.promotion.submission import RuleSubmission
from commonplace.memory.use_cases.transfer import ImportOptions
from commonplace.search.lexical.text import analyze
from pgbouncer import open_test_database


class Calendar:
    """A clock that advances a millisecond per reading, and days on demand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


class WordEmbedder:
    """A stand-in for the model: texts with the same words have the same direction.

    Loads on request.
    """

    identity = "words/1"
    dimensions = 256

    def __init__(self, state: str = "ready") -> None:
        self.state = state

    def warm(self) -> None:
        return None

    def embed(self, texts: Sequence[str]) -> Any:
        return np.array([self.embed_query(text) for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> Any:
        vector = np.zeros(self.dimensions, dtype=np.float32)
        for term in analyze(text):
            vector[
                int.from_bytes(hashlib.sha256(term.encode()).digest()[:4], "big") % self.dimensions
            ] += 1.0
        length = math.sqrt(float((vector * vector).sum()))
        return vector / length if length else vector


class PlainCatalogue:
    """Rules that lessons are promoted to, as plain values."""

    def __init__(self) -> None:
        self.submitted: dict[str, tuple[RuleDraft, dict[str, str]]] = {}

    async def choose_id(self, caller: AuthContext, wanted: str) -> str:
        return wanted if wanted not in self.submitted else f"{wanted}-2"

    async def find_promoted(self, caller: AuthContext, lessons: Collection[str]) -> list[str]:
        return [
            id_
            for id_, (_, submitted) in self.submitted.items()
            if not submitted.keys().isdisjoint(lessons)
        ]

    async def preview(self, caller: AuthContext, draft: RuleDraft, lessons: int) -> Any:
        return {**asdict(draft), "lessons": lessons}

    async def submit(
        self, caller: AuthContext, draft: RuleDraft, lessons: Mapping[str, str]
    ) -> RuleSubmission:
        self.submitted[draft.id] = draft, dict(lessons)
        return RuleSubmission(draft.id, "review", "hash")


class Calls:
    """Calls tools one after another, each through the whole pipeline."""

    def __init__(
        self,
        folder: Path,
        settings: MemorySettings | None = None,
        embedder: Any = None,
        url: str = "",
        earlier: Any = None,
        checker: Any = None,
    ) -> None:
        """Open memory in SQLite below the folder, or in PostgreSQL if an address is given."""
        self.clock = Calendar()
        if url:
            database = open_test_database(url, pool_size=4)
            self.service = build_postgres_memory(
                database,
                settings=settings,
                embedder=embedder,
                earlier=earlier,
                clock=self.clock,
                on_close=database.close,
                checker=checker,
            )
        else:
            self.service = open_memory(
                folder,
                settings=settings,
                embedder=embedder,
                earlier=earlier,
                clock=self.clock,
                checker=checker,
            )
        self.rules = PlainCatalogue()
        self.registry = Registry([toolset(lambda: self.service, lambda: self.rules)])
        self.pipeline = Pipeline(self.registry, mutation_enabled=lambda: True)
        self._loop = asyncio.new_event_loop()
        self.tenant = "local"
        self.count = 0

    def run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    def outcome(self, name: str, tenant: str = "", **arguments: Any) -> Any:
        tenant = tenant or self.tenant
        auth = AuthContext(Tenant(tenant), ALL_SCOPES, tenant)
        return self.run(self.pipeline.run(Call(name, arguments, auth)))

    def __call__(self, name: str, tenant: str = "", **arguments: Any) -> Any:
        outcome = self.outcome(name, tenant, **arguments)
        if outcome.error is not None:
            raise outcome.error
        return to_json(outcome.output)

    def error(self, name: str, tenant: str = "", **arguments: Any) -> CommonplaceError:
        error = self.outcome(name, tenant, **arguments).error
        assert error is not None, f"{name} succeeded"
        return error

    def add(self, title: str, content: str = "", **more: Any) -> str:
        """Add an entry and return its id."""
        return str(
            self("rekall_add", **{"type": "bug", "title": title, "content": content, **more})["id"]
        )

    def close(self) -> None:
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._loop.run_until_complete(asyncio.wait(tasks))
        self._loop.close()
        self.service.close()


FOREIGN = Path(__file__).parent / "data" / "memory" / "foreign"


def import_file(memory: Calls, path: Path, tenant: Tenant = LOCAL_TENANT, **options: Any) -> Any:
    """Import a file and return what the import did."""
    return memory.run(memory.service.import_file(tenant, path, ImportOptions(**options)))


def stored_state(memory: Calls, tenant: Tenant = LOCAL_TENANT) -> tuple[Any, ...]:
    """Return everything that an export and an import must preserve."""
    store = memory.service.store
    entries = memory.run(store.everything(tenant))
    links = memory.run(store.all_links(tenant))
    usage = memory.run(store.usage(tenant, [entry.id for entry in entries]))
    return entries, sorted((link.source_id, link.target_id, link.relation) for link in links), usage


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the address of PostgreSQL, empty for SQLite; tests that use it run on both."""
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else ""


@pytest.fixture
def memory(tmp_path: Path, url: str) -> Iterator[Calls]:
    """Return empty memory without a model."""
    calls = Calls(tmp_path, url=url)
    yield calls
    calls.close()


@pytest.fixture
def embedding_memory(tmp_path: Path, url: str) -> Iterator[Calls]:
    """Return empty memory with an embedder of words."""
    calls = Calls(tmp_path, embedder=WordEmbedder(), url=url)
    yield calls
    calls.close()
