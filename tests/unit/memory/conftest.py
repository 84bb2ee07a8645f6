from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from memory_calls import Calls, WordEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Calls]:
    """Memory without a model."""
    calls = Calls(tmp_path)
    yield calls
    calls.close()


@pytest.fixture
def embedding_memory(tmp_path: Path) -> Iterator[Calls]:
    """Memory whose embedder knows words."""
    calls = Calls(tmp_path, embedder=WordEmbedder())
    yield calls
    calls.close()
