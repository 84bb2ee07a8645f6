"""Catalogue in memory: what its writer and its readers derive at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from commonplace.instructions.engine.catalogue import INSERT_LIMIT, Catalogue
from commonplace.instructions.engine.normalise import ReadingRules, normalise
from commonplace.instructions.model import Instruction

NOW = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
ROUNDS = 300


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Let threads take turns within microseconds, so that a race shows in a second."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def make(number: int) -> Instruction:
    id_ = f"rule-{number:03}"
    return normalise({"id": id_, "title": id_, "body": "x"}, id_, NOW, ReadingRules())


def test_a_writer_and_a_reader_may_derive_hash_and_ids_at_once(frequent_switches: None) -> None:
    entries = [make(number) for number in range(INSERT_LIMIT)]
    for _ in range(ROUNDS):
        catalogue, both = Catalogue(), threading.Barrier(2)
        for entry in entries:
            catalogue.put(entry)

        def derive(catalogue: Catalogue = catalogue, both: threading.Barrier = both) -> str:
            both.wait(10)
            assert catalogue.ids == [entry.id for entry in entries]
            return catalogue.hash

        with ThreadPoolExecutor(2) as threads:
            reader, writer = threads.submit(derive), threads.submit(derive)
            assert reader.result() == writer.result()
        assert catalogue.ids == [entry.id for entry in entries]
