"""Which folders a server of a team refuses to start with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from commonplace.bootstrap.move_in import (
    MovedPart,
    Mover,
    describe_not_moved,
    require_moved_in,
)
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import NOT_MOVED_IN


@dataclass(frozen=True)
class ListedMover:
    part: str
    names: tuple[str, ...]
    required: bool = True

    def lacking(self, data: Path) -> Sequence[str]:
        return self.names

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        return MovedPart(self.part, len(self.names), len(self.names), 0)


def test_a_folder_without_anything_new_is_accepted(tmp_path: Path) -> None:
    chosen: list[Mover] = [ListedMover("instructions", ()), ListedMover("keys", ())]
    require_moved_in(tmp_path, chosen)


def test_a_folder_with_rules_that_the_database_lacks_is_refused(tmp_path: Path) -> None:
    chosen: list[Mover] = [
        ListedMover("instructions", tuple(f"rule-{number}" for number in range(7))),
        ListedMover("keys", ("alice",)),
    ]
    with pytest.raises(CommonplaceError) as refused:
        require_moved_in(tmp_path, chosen)
    assert refused.value.code is NOT_MOVED_IN
    assert "7 instructions (rule-0, rule-1, rule-2, rule-3, rule-4, ...)" in refused.value.message
    assert "1 keys (alice)" in refused.value.message
    assert "commonplace migrate --from" in (refused.value.hint or "")


def test_parts_that_are_not_required_do_not_stop_a_server(tmp_path: Path) -> None:
    require_moved_in(tmp_path, [ListedMover("usage", ("a",), required=False)])


@dataclass(frozen=True)
class UnreadableMover(ListedMover):
    problem: Exception = field(default_factory=lambda: OSError("damaged"))

    def lacking(self, data: Path) -> Sequence[str]:
        raise self.problem


def test_what_a_server_starts_without_is_named(tmp_path: Path) -> None:
    chosen: list[Mover] = [
        ListedMover("keys", ("alice",)),
        ListedMover("files", ("local p/a.md",), required=False),
        ListedMover("feedback", (), required=False),
        UnreadableMover("lessons", (), required=False),
        ListedMover("audit records", ("chain",), required=False),
    ]
    assert describe_not_moved(tmp_path, chosen) == (
        "1 files (local p/a.md); lessons that cannot be read (OSError)"
    )
    assert describe_not_moved(tmp_path, chosen[:1]) == ""


def test_the_reason_why_a_part_cannot_be_read_is_named(tmp_path: Path) -> None:
    problem = CommonplaceError(NOT_MOVED_IN, "commonplace.db is not a usable database.")
    damaged = UnreadableMover("files", (), False, problem)
    assert describe_not_moved(tmp_path, [damaged]) == (
        "files that cannot be read (commonplace.db is not a usable database)"
    )
