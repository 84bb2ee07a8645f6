"""Comparison of two schemas by what they accept.

Named schemas are compared once each, however many operations use them.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.diff.collector import ChangeCollector, Report
from commonplace.openapi.engine.diff.rules import Direction
from commonplace.openapi.engine.diff.schema.branches import (
    BranchMatcher,
    label_branch,
    list_match_keys,
)
from commonplace.openapi.engine.diff.schema.keywords import KeywordDiff
from commonplace.openapi.engine.diff.schema.model import SchemaIdentity, SchemaSite, SchemaView
from commonplace.openapi.engine.diff.schema.properties import ObjectSides, compare_properties
from commonplace.openapi.engine.diff.schema.values import canonical, only_null
from commonplace.openapi.engine.diff.schema.views import SchemaViews


class UnchangedTest(Protocol):
    """Tells which schemas need not be compared."""

    def is_unchanged(self, old: Json, new: Json) -> bool: ...


class SchemaDiff:
    """Compares schemas of two documents.

    Pairs of references wait in a queue, so cycles end and each pair is compared once.
    """

    def __init__(
        self, old: SchemaViews, new: SchemaViews, changes: ChangeCollector, same: UnchangedTest
    ) -> None:
        self.old, self.new = old, new
        self.changes = changes
        self.same = same
        self.keywords = KeywordDiff(changes)
        self.matcher = BranchMatcher(old, new)
        self._queue: deque[tuple[SchemaSite, SchemaSite, Direction]] = deque()
        self._queued: set[tuple[str, str, Direction]] = set()
        self._inline: set[tuple[SchemaIdentity, SchemaIdentity, Direction]] = set()

    def compare(self, old: SchemaSite, new: SchemaSite, direction: Direction) -> None:
        """Compare a pair of schemas; pairs of references wait for `drain`."""
        if len(old.also) == len(new.also) and all(
            self.same.is_unchanged(before.schema, after.schema)
            for before, after in zip((old, *old.also), (new, *new.also), strict=True)
        ):
            return
        target_old, target_new = self.old.reference(old), self.new.reference(new)
        if target_old is not None and target_new is not None:
            key = (target_old.pointer, target_new.pointer, direction)
            if key not in self._queued:
                self._queued.add(key)
                self._queue.append((target_old, target_new, direction))
            return
        inline = (old.identity, new.identity, direction)
        if inline in self._inline:
            return
        self._inline.add(inline)
        self._compare_views(self.old.view(old), self.new.view(new), direction)

    def drain(self) -> None:
        """Compare the pairs of named schemas that are waiting."""
        # A named schema is compared once, on behalf of all operations that use it.
        self.changes.operation = ""
        while self._queue:
            old, new, direction = self._queue.popleft()
            if self.same.is_unchanged(old.schema, new.schema):
                continue
            if self.old.reference(old) is not None and self.new.reference(new) is not None:
                self.compare(old, new, direction)
            else:
                self._compare_views(self.old.view(old), self.new.view(new), direction)

    @property
    def reached(self) -> set[str]:
        """Pointers of the named schemas that operations use, on either side."""
        return {pointer for old, new, _ in self._queued for pointer in (old, new)}

    def _compare_views(self, old: SchemaView, new: SchemaView, direction: Direction) -> None:
        here = new.site.pointer

        def report(rule: str, path: str, message: str) -> None:
            self.changes.add(rule, path, message, direction)

        if _is_hidden(new, direction) and _is_hidden(old, direction):
            return
        self.keywords.compare_annotations(old, new, report)
        if old.empty or new.empty:
            if not old.empty:
                report("type-narrowed", here, "Nothing is allowed now.")
            elif not new.empty:
                report("type-widened", here, "Nothing was allowed before.")
            return
        if bool(old.choices) is not bool(new.choices):
            old, new = self.old.flatten_choice(old), self.new.flatten_choice(new)
        if self._compare_with_branch(old, new, direction, report):
            return
        if not self.keywords.compare_types(old, new, report):
            return
        self.keywords.compare_values(old, new, report)
        self._compare_objects(old, new, direction, report)
        self._compare_arrays(old, new, direction)
        self._compare_choices(old, new, direction, report)
        for keyword in sorted(old.undecided.keys() | new.undecided.keys()):
            if canonical(old.undecided.get(keyword)) != canonical(new.undecided.get(keyword)):
                report("composition-changed", f"{here}/{keyword}", f"{keyword} changed.")

    def _compare_objects(
        self, old: SchemaView, new: SchemaView, direction: Direction, report: Report
    ) -> None:
        if not old.allows("object") or not new.allows("object"):
            return
        sent = direction is Direction.REQUEST
        before = {
            name: site for name, site in old.properties.items() if not self.old.hidden(site, sent)
        }
        after = {
            name: site for name, site in new.properties.items() if not self.new.hidden(site, sent)
        }
        for first, second in compare_properties(ObjectSides(old, new, before, after), report):
            self.compare(first, second, direction)
        self._compare_additional(old, new, direction, report)

    def _compare_additional(
        self, old: SchemaView, new: SchemaView, direction: Direction, report: Report
    ) -> None:
        if old.closed and new.closed:
            return
        here = f"{new.site.pointer}/additionalProperties"
        if new.closed:
            message = "Unknown properties are no longer allowed."
            report("additional-properties-closed", new.closed, message)
        elif old.closed:
            report("additional-properties-opened", here, "Unknown properties are allowed now.")
        elif old.additional is not None or new.additional is not None:
            anything = SchemaSite({}, here)
            self.compare(old.additional or anything, new.additional or anything, direction)

    def _compare_arrays(self, old: SchemaView, new: SchemaView, direction: Direction) -> None:
        if old.items is None and new.items is None:
            return
        if old.allows("array") and new.allows("array"):
            anything = SchemaSite({}, new.site.at("items"))
            self.compare(old.items or anything, new.items or anything, direction)

    def _compare_choices(
        self, old: SchemaView, new: SchemaView, direction: Direction, report: Report
    ) -> None:
        here = new.site.pointer
        if len(old.choices) == len(new.choices):
            for before, after in zip(old.choices, new.choices, strict=True):
                if before.exclusive != after.exclusive:
                    message = (
                        "anyOf became oneOf: values that match several branches are refused now."
                        if after.exclusive
                        else "oneOf became anyOf."
                    )
                    report("composition-changed", here, message)
                named = bool(old.discriminator or new.discriminator)
                self._compare_branches(before.branches, after.branches, direction, report, named)
        elif not old.choices and len(new.choices) == 1:
            report("composition-changed", here, "oneOf or anyOf was added.")
        else:
            message = "oneOf or anyOf was removed, or there are more of them."
            report("composition-changed", here, message)

    def _compare_with_branch(
        self, old: SchemaView, new: SchemaView, direction: Direction, report: Report
    ) -> bool:
        """Compare one schema with a choice that has it as a branch; False if none has it.

        Then only the other branches were added or removed.
        """
        plain, choice = (old, new) if new.choices else (new, old)
        if plain.choices or not choice.only_a_choice:
            return False
        branches = choice.choices[0].branches
        if plain.allows("null") and any(only_null(branch.schema) for branch in branches):
            return False
        sides = ([plain.site], branches) if plain is old else (branches, [plain.site])
        ways = list_match_keys(named=False)
        if not any(self.matcher.match(*sides, keys, apart).pairs for keys, apart in ways):
            return False
        self._compare_branches(*sides, direction, report)
        return True

    def _compare_branches(
        self,
        before: list[SchemaSite],
        after: list[SchemaSite],
        direction: Direction,
        report: Report,
        named: bool = False,
    ) -> None:
        """Compare the branches of two choices.

        `named`: a discriminator selects branches by the names of their schemas, so another name
        is another branch.
        """
        for keys, apart in list_match_keys(named):
            pairs, before, after = self.matcher.match(before, after, keys, apart)
            for old, new in pairs:
                self.compare(old, new, direction)
        for branch in before:
            message = f"The alternative {label_branch(branch)} was removed."
            report("alternative-removed", branch.pointer, message)
        for branch in after:
            message = f"The alternative {label_branch(branch)} was added."
            report("alternative-added", branch.pointer, message)


def _is_hidden(view: SchemaView, direction: Direction) -> bool:
    return (direction is Direction.REQUEST and view.read_only) or (
        direction is Direction.RESPONSE and view.write_only
    )
