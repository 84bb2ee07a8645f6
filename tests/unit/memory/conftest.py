"""Memory for the unit tests: every test with the fixtures below runs on SQLite and on PostgreSQL, each time without rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from memory_calls import Calls, WordEmbedder


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Empty for SQLite."""
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else ""


@pytest.fixture
def memory(tmp_path: Path, url: str) -> Iterator[Calls]:
    """Memory without a model."""
    calls = Calls(tmp_path, url=url)
    yield calls
    calls.close()


@pytest.fixture
def embedding_memory(tmp_path: Path, url: str) -> Iterator[Calls]:
    """Memory whose embedder knows words."""
    calls = Calls(tmp_path, embedder=WordEmbedder(), url=url)
    yield calls
    calls.close()
