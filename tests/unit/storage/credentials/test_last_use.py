"""Uses of keys on their way to a store."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.last_use import LastUses
from commonplace.storage.errors import disk_full


def test_many_uses_of_a_key_are_written_once() -> None:
    written: list[Mapping[str, str]] = []
    uses = LastUses(written.append)
    for _ in range(1000):
        uses.note("a")
        uses.note("b")
    uses.close()
    assert sorted(key for batch in written for key in batch) == ["a", "b"]


def test_a_key_is_written_again_after_its_time() -> None:
    written: list[Mapping[str, str]] = []
    uses = LastUses(written.append, seconds=0.0)
    uses.note("a")
    uses.note("a")
    uses.close()
    assert {key for batch in written for key in batch} == {"a"}


def test_a_store_that_fails_does_not_end_the_recording() -> None:
    written: list[Mapping[str, str]] = []
    failures: list[CommonplaceError] = []

    def write(uses: Mapping[str, str]) -> None:
        if not failures:
            failures.append(disk_full())
            raise failures[0]
        written.append(uses)

    uses = LastUses(write)
    uses.note("a")
    uses._flush()  # the thread may be first: either way one write fails
    uses.note("b")
    uses.close()
    assert failures
    assert all("a" not in batch for batch in written)
