"""Operations are read in a process of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from commonplace.openapi.engine.operations.read import OperationList, read_operations
from commonplace.openapi.store.operation_reader import OperationReader

SOURCE = b"openapi: 3.1.0\ninfo: {title: T}\npaths:\n  /a:\n    get: {summary: Read a}\n"


@pytest.fixture(scope="module")
def reader() -> Iterator[OperationReader]:
    made = OperationReader()
    yield made
    made.close()


def test_operations_are_those_that_this_process_would_read(reader: OperationReader) -> None:
    assert reader.read(SOURCE) == read_operations(SOURCE)


def test_other_files_need_no_process() -> None:
    unused = OperationReader()
    assert unused.read(b"just text") == OperationList()
    assert unused._child.process_id is None


def test_a_killed_process_costs_one_answer_at_most(reader: OperationReader) -> None:
    reader.read(SOURCE)
    process_id = reader._child.process_id
    assert process_id is not None
    os.kill(process_id, signal.SIGKILL)
    reader.read(SOURCE)
    assert reader.read(SOURCE) == read_operations(SOURCE)


def test_a_text_that_takes_too_long_is_given_up_with_a_reason() -> None:
    impatient = OperationReader(seconds=0.0)
    found = impatient.read(SOURCE)
    assert found == OperationList(
        recognised=True, note="the operations cannot be read: parsing takes too long"
    )
    assert impatient._child.process_id is None
