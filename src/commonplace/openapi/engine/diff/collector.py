"""Collection of changes while two documents are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from commonplace.openapi.engine.diff.rules import BREAKING, CHANGE_RULES, ApiChange, Direction

Report = Callable[[str, str, str], None]
"""Takes the rule, the path and the message of a change."""


class ChangeCollector:
    """Collects changes by rule, place and message.

    The same change found through several operations or directions is counted once.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], tuple[set[Direction], dict[str, None]]] = {}
        self.operation = ""

    def add(
        self, rule: str, path: str, message: str, direction: Direction = Direction.NONE
    ) -> None:
        """Add a change that affects the current `operation`, if there is one."""
        directions, operations = self._found.setdefault((rule, path, message), (set(), {}))
        directions.add(direction)
        if self.operation:
            operations[self.operation] = None

    def list_changes(self) -> list[ApiChange]:
        """Return the changes, each with its worst severity."""
        result = []
        for (name, path, message), (directions, operations) in self._found.items():
            rule = CHANGE_RULES[name]
            level = min(
                (rule.level(direction) for direction in directions), key=lambda item: item.rank
            )
            if Direction.NONE in directions and rule.request is rule.response:
                level = rule.request
            known = tuple(
                sorted(direction for direction in directions if direction is not Direction.NONE)
            )
            result.append(
                ApiChange(rule, level, path, message, known, tuple(operations)[:5], len(operations))
            )
        return result

    def add_names(self, what: str, before: Iterable[str], after: Iterable[str], path: str) -> None:
        """Add `<what>-removed` and `<what>-added` for names that one side does not have."""
        old, new = dict.fromkeys(before), dict.fromkeys(after)
        label = what.replace("-", " ")
        for name in old:
            if name not in new:
                self.add(f"{what}-removed", path, f"The {label} {name!r} was removed.")
        for name in new:
            if name not in old:
                self.add(f"{what}-added", path, f"The {label} {name!r} was added.")


def summarize_changes(changes: list[ApiChange]) -> str:
    """Describe the result of a comparison in one sentence."""
    if not changes:
        return "No changes detected."
    breaking = sum(1 for change in changes if change.level in BREAKING)
    count = f"{len(changes)} change{'s' if len(changes) != 1 else ''} found"
    if not breaking:
        return f"{count}, none of them breaking."
    return (
        f"Breaking changes detected. {count} ({breaking} breaking "
        f"change{'s' if breaking != 1 else ''})."
    )
