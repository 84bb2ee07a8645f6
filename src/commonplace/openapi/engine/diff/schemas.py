"""Two schemas compared by what they accept.

Named schemas are compared once each, however many operations use them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Protocol

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.diff.branches import (
    Keys,
    Shapes,
    deep_key,
    kind_keys,
    name_of,
    own_key,
    plain_key,
)
from commonplace.openapi.engine.diff.model import ALL_TYPES, SchemaIdentity, SchemaSite, SchemaView
from commonplace.openapi.engine.diff.patterns import Witnesses, compare_patterns, constrains
from commonplace.openapi.engine.diff.rules import CHANGE_RULES, ApiChange, Direction
from commonplace.openapi.engine.diff.values import canonical, multiples_rule, only_null
from commonplace.openapi.engine.diff.views import SchemaViews
from commonplace.openapi.engine.pointers import decode_pointer

_MOST_PATTERNS = 300  # pairs of patterns that are compared by strings; the rest are not decided
_GROUPS = {
    "Length": "length",
    "Items": "number of items",
    "Properties": "number of properties",
    "value": "value",
}
Report = Callable[[str, str, str, Direction], None]
"""rule, path, message, direction"""


class Same(Protocol):
    """Tells what need not be compared."""

    def untouched(self, old: Json, new: Json) -> bool: ...


class Collector:
    """Changes by rule, place and message; the same change seen from several operations and
    directions is one.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], tuple[set[Direction], dict[str, None]]] = {}
        self.operation = ""

    def add(
        self, rule: str, path: str, message: str, direction: Direction = Direction.NONE
    ) -> None:
        directions, operations = self._found.setdefault((rule, path, message), (set(), {}))
        directions.add(direction)
        if self.operation:
            operations[self.operation] = None

    def changes(self) -> list[ApiChange]:
        result = []
        for (name, path, message), (directions, operations) in self._found.items():
            rule = CHANGE_RULES[name]
            level = min(
                (rule.level(direction) for direction in directions), key=lambda item: item.rank
            )
            if Direction.NONE in directions and rule.request is rule.response:
                level = rule.request
            shown = tuple(
                sorted(direction for direction in directions if direction is not Direction.NONE)
            )
            result.append(
                ApiChange(rule, level, path, message, shown, tuple(operations)[:5], len(operations))
            )
        return result


class SchemaDiff:
    """Compares schemas of two documents.

    Pairs of references wait in a queue, so cycles end and each pair is judged once.
    """

    def __init__(
        self, old: SchemaViews, new: SchemaViews, collector: Collector, same: Same
    ) -> None:
        self.same = same
        self.old, self.new = old, new
        self.old_shapes, self.new_shapes = Shapes(old), Shapes(new)
        self.collector = collector
        self._queue: deque[tuple[SchemaSite, SchemaSite, Direction]] = deque()
        self._seen: set[tuple[str, str, Direction]] = set()
        self._inline: set[tuple[SchemaIdentity, SchemaIdentity, Direction]] = set()
        self._sampled_patterns = 0

    def compare(self, old: SchemaSite, new: SchemaSite, direction: Direction) -> None:
        """Judge a pair of schemas; pairs of references are judged later, by `drain`."""
        if len(old.also) == len(new.also) and all(
            self.same.untouched(before.schema, after.schema)
            for before, after in zip((old, *old.also), (new, *new.also), strict=True)
        ):
            return
        target_old, target_new = self.old.reference(old), self.new.reference(new)
        if target_old is not None and target_new is not None:
            key = (target_old.pointer, target_new.pointer, direction)
            if key not in self._seen:
                self._seen.add(key)
                self._queue.append((target_old, target_new, direction))
            return
        inline = (old.identity, new.identity, direction)
        if inline in self._inline:
            return
        self._inline.add(inline)
        self._views(self.old.view(old), self.new.view(new), direction)

    def drain(self) -> None:
        self.collector.operation = (
            ""  # a named schema is judged once, for all operations that use it
        )
        while self._queue:
            old, new, direction = self._queue.popleft()
            if self.same.untouched(old.schema, new.schema):
                continue
            following_old, following_new = self.old.reference(old), self.new.reference(new)
            if following_old is not None and following_new is not None:
                self.compare(old, new, direction)
            else:
                self._views(self.old.view(old), self.new.view(new), direction)

    @property
    def reached(self) -> set[str]:
        """Pointers of the named schemas that operations use, on either side."""
        return {pointer for old, new, _ in self._seen for pointer in (old, new)}

    def _views(self, old: SchemaView, new: SchemaView, direction: Direction) -> None:
        here = new.site.pointer

        def report(rule: str, path: str, message: str) -> None:
            self.collector.add(rule, path, message, direction)

        if self._hidden(new, direction) and self._hidden(old, direction):
            return
        self._annotations(old, new, here, report)
        if old.empty or new.empty:
            if old.empty != new.empty:
                rule, told = (
                    ("type-narrowed", "Nothing is allowed now.")
                    if new.empty
                    else ("type-widened", "Nothing was allowed before.")
                )
                report(rule, here, told)
            return
        if bool(old.choices) is not bool(new.choices):
            old, new = self.old.levelled(old), self.new.levelled(new)
        if self._one_among_several(old, new, direction, report) or not self._types(
            old, new, here, report
        ):
            return
        self._values(old, new, here, report)
        if old.enum is None and new.enum is None:
            self._bounds(old, new, here, report)
        self._objects(old, new, here, direction, report)
        self._arrays(old, new, direction)
        self._choices(old, new, here, direction, report)
        for keyword in sorted(old.undecided.keys() | new.undecided.keys()):
            if canonical(old.undecided.get(keyword)) != canonical(new.undecided.get(keyword)):
                report("composition-changed", f"{here}/{keyword}", f"{keyword} changed.")

    @staticmethod
    def _hidden(view: SchemaView, direction: Direction) -> bool:
        return (direction is Direction.REQUEST and view.read_only) or (
            direction is Direction.RESPONSE and view.write_only
        )

    def _annotations(
        self, old: SchemaView, new: SchemaView, here: str, report: Callable[[str, str, str], None]
    ) -> None:
        if old.description != new.description:
            self.collector.add("description-changed", here, "The description changed.")
        if new.deprecated and not old.deprecated:
            self.collector.add("schema-deprecated", here, "It became deprecated.")
        if (old.read_only, old.write_only) != (new.read_only, new.write_only):
            report("read-write-changed", here, "readOnly or writeOnly changed.")
        if old.has_default != new.has_default or canonical(old.default) != canonical(new.default):
            self.collector.add(
                "default-changed",
                here,
                f"The default changed from {_shown(old, 'default')} to {_shown(new, 'default')}.",
            )
        if old.discriminator != new.discriminator and old.discriminator and new.discriminator:
            report(
                "discriminator-changed",
                here,
                f"The discriminator changed from {old.discriminator!r} to {new.discriminator!r}.",
            )
        elif bool(old.discriminator) != bool(new.discriminator):
            gone = old.discriminator and not new.discriminator
            what = (
                f"The discriminator {old.discriminator!r} is gone."
                if gone
                else f"There is a discriminator now, {new.discriminator!r}."
            )
            report("discriminator-mapping-changed", f"{here}/discriminator", what)
        elif old.mapping != new.mapping:
            names = ", ".join(
                repr(key)
                for key in sorted(old.mapping.keys() | new.mapping.keys())
                if old.mapping.get(key) != new.mapping.get(key)
            )
            report(
                "discriminator-mapping-changed",
                f"{here}/discriminator/mapping",
                f"The mapping of the discriminator changed for {names}.",
            )

    def _types(
        self, old: SchemaView, new: SchemaView, here: str, report: Callable[[str, str, str], None]
    ) -> bool:
        """Report a change of types; False where nothing else is worth comparing."""
        before, after = _expanded(old), _expanded(new)
        if before == after:
            return True
        if old.enum is not None and new.enum is not None:
            return True  # the lists of values tell it exactly
        gone, come = before - after, after - before
        told = f"from {_named(old)} to {_named(new)}"
        if gone and come:
            report("type-changed", f"{here}/type", f"The type changed {told}.")
            return bool(before & after)
        if old.enum is None and new.enum is None:
            report(
                "type-narrowed" if gone else "type-widened",
                f"{here}/type",
                f"The type changed {told}.",
            )
        elif gone and new.enum is None:
            report("type-narrowed", f"{here}/type", f"The type changed {told}.")
        elif come and old.enum is None:
            report("type-widened", f"{here}/type", f"The type changed {told}.")
        return True

    def _values(
        self, old: SchemaView, new: SchemaView, here: str, report: Callable[[str, str, str], None]
    ) -> None:
        if old.enum is None and new.enum is None:
            if old.patterns != new.patterns and old.allows("string") and new.allows("string"):
                self._patterns(old.patterns, new.patterns, f"{here}/pattern", report)
            if old.formats != new.formats:
                report(
                    "format-changed",
                    f"{here}/format",
                    f"The format changed from {_listed(old.formats)} to {_listed(new.formats)}.",
                )
            if old.multiples != new.multiples:
                whole = [
                    view.types is not None and "number" not in view.types for view in (old, new)
                ]
                rule = multiples_rule(
                    old.multiples, new.multiples, old_whole=whole[0], new_whole=whole[1]
                )
                if rule:
                    told = (
                        f"multipleOf changed from {_steps(old.multiples)} to "
                        f"{_steps(new.multiples)}."
                    )
                    report(rule, f"{here}/multipleOf", told)
            return
        if old.enum is None:
            report("enum-added", f"{here}/enum", f"Only {_some(new.enum)} are allowed now.")
            return
        if new.enum is None:
            report(
                "enum-removed",
                f"{here}/enum",
                f"Other values than {_some(old.enum)} are allowed now.",
            )
            return
        before = {canonical(value): value for value in old.enum}
        after = {canonical(value): value for value in new.enum}
        for key, value in before.items():
            if key not in after:
                report(
                    "enum-value-removed", f"{here}/enum", f"{_text(value)} is no longer allowed."
                )
        for key, value in after.items():
            if key not in before:
                report("enum-value-added", f"{here}/enum", f"{_text(value)} is allowed now.")

    def _patterns(
        self, old: set[str], new: set[str], here: str, report: Callable[[str, str, str], None]
    ) -> None:
        gone, come = sorted(filter(constrains, old - new)), sorted(filter(constrains, new - old))
        told = f"The pattern changed from {_listed(old)} to {_listed(new)}"
        if not gone or not come:
            if gone or come:
                report("pattern-narrowed" if come else "pattern-widened", here, f"{told}.")
            return
        self._sampled_patterns += 1
        known = Witnesses()
        if len(gone) == len(come) == 1 and self._sampled_patterns <= _MOST_PATTERNS:
            known = compare_patterns(gone[0], come[0])
        if known.refused is not None:
            report(
                "pattern-narrowed", here, f"{told}: {_text(known.refused)} is no longer allowed."
            )
        if known.accepted is not None:
            report("pattern-widened", here, f"{told}: {_text(known.accepted)} is allowed now.")
        if known == Witnesses():
            report("pattern-changed", here, f"{told}.")

    def _bounds(
        self, old: SchemaView, new: SchemaView, here: str, report: Callable[[str, str, str], None]
    ) -> None:
        for group, what in _GROUPS.items():
            for name, before, after, sign in (
                ("minimum", old.lower.get(group), new.lower.get(group), 1),
                ("maximum", old.upper.get(group), new.upper.get(group), -1),
            ):
                if before == after:
                    continue
                tighter = after is not None and (
                    before is None or (sign * after[0], after[1]) > (sign * before[0], before[1])
                )
                rule = "bound-tightened" if tighter else "bound-loosened"
                report(
                    rule,
                    here,
                    f"The {name} {what} changed from {_limit(before)} to {_limit(after)}.",
                )
        if old.unique != new.unique:
            rule = "unique-items-added" if new.unique else "unique-items-removed"
            report(
                rule,
                f"{here}/uniqueItems",
                "Items must differ now." if new.unique else "Items may repeat now.",
            )

    def _objects(
        self,
        old: SchemaView,
        new: SchemaView,
        here: str,
        direction: Direction,
        report: Callable[[str, str, str], None],
    ) -> None:
        if not old.allows("object") or not new.allows("object"):
            return
        before = {
            name: site
            for name, site in old.properties.items()
            if not self.old.hidden(site, direction is Direction.REQUEST)
        }
        after = {
            name: site
            for name, site in new.properties.items()
            if not self.new.hidden(site, direction is Direction.REQUEST)
        }
        needed_old, needed_new = _needed(old, before), _needed(new, after)
        for name in [name for name in before if name not in after]:
            self._property_removed(old, new, name, needed_old, report)
        for name in after:
            if name in before:
                self.compare(before[name], after[name], direction)
            else:
                self._property_added(
                    old,
                    after[name],
                    name,
                    name in needed_new and name not in needed_old,
                    direction,
                    report,
                )
        self._required(new, before, after, needed_old, needed_new, old.properties, report)
        self._additional(old, new, here, direction, report)

    def _property_added(
        self,
        old: SchemaView,
        site: SchemaSite,
        name: str,
        required: bool,
        direction: Direction,
        report: Callable[[str, str, str], None],
    ) -> None:
        # What was hidden by readOnly or writeOnly is new in this direction, though its name was
        # known.
        known = name in old.properties
        what = "is no longer readOnly or writeOnly" if known else "was added"
        if required:
            report(
                "required-property-added",
                site.pointer,
                f"The property {name!r} {what} and is required.",
            )
        elif known:
            report("property-added", site.pointer, f"The property {name!r} {what}.")
        elif old.closed:
            report(
                "property-added-to-closed",
                site.pointer,
                f"The property {name!r} was added where none were allowed.",
            )
        else:
            report("property-added", site.pointer, f"The property {name!r} was added.")
            if old.additional is not None:
                self.compare(old.additional, site, direction)

    def _property_removed(
        self,
        old: SchemaView,
        new: SchemaView,
        name: str,
        needed_old: dict[str, str],
        report: Callable[[str, str, str], None],
    ) -> None:
        where = old.properties[name].pointer
        if (
            name in new.properties
        ):  # hidden by readOnly or writeOnly now: gone in this direction, yet not unknown
            rule = "required-property-removed" if name in needed_old else "property-removed"
            report(rule, where, f"The property {name!r} became readOnly or writeOnly.")
            return
        if name in needed_old and name not in new.required:
            report(
                "required-property-removed",
                where,
                f"The property {name!r}, which was required, was removed.",
            )
            if new.closed:
                report(
                    "property-removed-from-closed",
                    where,
                    f"The property {name!r} was removed and unknown ones are refused.",
                )
        elif new.closed:
            report(
                "property-removed-from-closed",
                where,
                f"The property {name!r} was removed and unknown ones are refused.",
            )
        else:
            report("property-removed", where, f"The property {name!r} was removed.")

    def _required(
        self,
        new: SchemaView,
        before: dict[str, SchemaSite],
        after: dict[str, SchemaSite],
        needed_old: dict[str, str],
        needed_new: dict[str, str],
        declared_old: dict[str, SchemaSite],
        report: Callable[[str, str, str], None],
    ) -> None:
        for name, where in needed_new.items():
            if name not in needed_old and (name in before or name not in new.properties):
                report("property-became-required", where, f"The property {name!r} is required now.")
        for name in needed_old:
            if name not in needed_new and (name in after or name not in declared_old):
                where = after[name].pointer if name in after else new.site.pointer
                report(
                    "property-became-optional", where, f"The property {name!r} may be missing now."
                )

    def _additional(
        self,
        old: SchemaView,
        new: SchemaView,
        here: str,
        direction: Direction,
        report: Callable[[str, str, str], None],
    ) -> None:
        if old.closed and new.closed:
            return
        if new.closed:
            report(
                "additional-properties-closed",
                new.closed,
                "Unknown properties are no longer allowed.",
            )
        elif old.closed:
            report(
                "additional-properties-opened",
                f"{here}/additionalProperties",
                "Unknown properties are allowed now.",
            )
        elif old.additional is not None or new.additional is not None:
            anything = SchemaSite({}, f"{here}/additionalProperties")
            self.compare(old.additional or anything, new.additional or anything, direction)

    def _arrays(self, old: SchemaView, new: SchemaView, direction: Direction) -> None:
        if (
            (old.items is None and new.items is None)
            or not old.allows("array")
            or not new.allows("array")
        ):
            return
        here = new.site.at("items")
        self.compare(
            old.items or SchemaSite({}, here), new.items or SchemaSite({}, here), direction
        )

    def _choices(
        self,
        old: SchemaView,
        new: SchemaView,
        here: str,
        direction: Direction,
        report: Callable[[str, str, str], None],
    ) -> None:
        if len(old.choices) == len(new.choices):
            for before, after in zip(old.choices, new.choices, strict=True):
                if before.exclusive != after.exclusive:
                    told = (
                        "anyOf became oneOf: what fits several branches is refused now."
                        if after.exclusive
                        else "oneOf became anyOf."
                    )
                    report("composition-changed", here, told)
                named = bool(old.discriminator or new.discriminator)
                self._branches(before.branches, after.branches, direction, report, named)
            return
        if not old.choices and len(new.choices) == 1:
            # What was one schema may now be one branch of several: that is only more.
            report("composition-changed", here, "oneOf or anyOf was added.")
        else:
            report(
                "composition-changed",
                here,
                "oneOf or anyOf was removed, or there are more of them.",
            )

    def _one_among_several(
        self,
        old: SchemaView,
        new: SchemaView,
        direction: Direction,
        report: Callable[[str, str, str], None],
    ) -> bool:
        """What was one schema is now a branch beside others, or the reverse: only the others
        came or went.
        """
        plain, several = (old, new) if new.choices else (new, old)
        if (
            plain.choices
            or not several.only_a_choice
            or (
                plain.allows("null")
                and any(only_null(one.schema) for one in several.choices[0].branches)
            )
        ):
            return False
        branches = several.choices[0].branches
        sides = ([plain.site], branches) if plain is old else (branches, [plain.site])
        if not any(self._matched(*sides, keys, apart)[0] for keys, apart in _ways(False)):
            return False
        self._branches(*sides, direction, report)
        return True

    def _branches(
        self,
        before: list[SchemaSite],
        after: list[SchemaSite],
        direction: Direction,
        report: Callable[[str, str, str], None],
        named: bool = False,
    ) -> None:
        """`named`: a discriminator tells branches by the names of their schemas, so that another
        name is another branch.
        """
        # What is alike in kind is the same branch, changed; the rest came or went.
        for keys, apart in _ways(named):
            pairs, before, after = self._matched(before, after, keys, apart)
            for old, new in pairs:
                self.compare(old, new, direction)
        for branch in before:
            report(
                "alternative-removed",
                branch.pointer,
                f"The alternative {_label(branch)} was removed.",
            )
        for branch in after:
            report(
                "alternative-added", branch.pointer, f"The alternative {_label(branch)} was added."
            )

    def _matched(
        self, before: list[SchemaSite], after: list[SchemaSite], keys: Keys, apart: bool
    ) -> tuple[list[tuple[SchemaSite, SchemaSite]], list[SchemaSite], list[SchemaSite]]:
        """Pairs of branches that share a key, and what is left of both sides.

        `apart`: not two that both have names.
        """
        waiting: dict[Hashable, deque[int]] = {}
        for position, site in enumerate(after if before else ()):
            for key in keys(self.new_shapes, site, True):
                waiting.setdefault((key, apart and bool(name_of(site))), deque()).append(position)
        taken: set[int] = set()
        pairs, left = [], []
        for branch in before:
            sorts = (False, True) if apart and not name_of(branch) else (False,)
            free = (
                waiting.get((key, sort))
                for key in keys(self.old_shapes, branch, False)
                for sort in sorts
            )
            match = next(
                (one for queue in free if queue and (one := _first(queue, taken)) is not None), None
            )
            if match is None:
                left.append(branch)
            else:
                taken.add(match)
                pairs.append((branch, after[match]))
        return pairs, left, [site for position, site in enumerate(after) if position not in taken]


def _ways(named: bool) -> tuple[tuple[Keys, bool], ...]:
    """How branches are found again, the surest first, and whether not by another name.

    `named`: a discriminator tells by the name.
    """
    return (own_key, False), (deep_key, named), (plain_key, named), (kind_keys, True)


def _first(queue: deque[int], taken: set[int]) -> int | None:
    while queue and queue[0] in taken:
        queue.popleft()
    return queue[0] if queue else None


def _label(site: SchemaSite) -> str:
    schema = site.schema
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            return f"#{decode_pointer(schema['$ref'].partition('#')[2])}"
        if isinstance(schema.get("title"), str):
            return repr(schema["title"])
    return f"at {site.pointer}"


def _needed(view: SchemaView, visible: dict[str, SchemaSite]) -> dict[str, str]:
    """The names that `required` really asks for: readOnly ones are not asked for in requests,
    nor writeOnly ones in responses.
    """
    return {
        name: where
        for name, where in view.required.items()
        if name in visible or name not in view.properties
    }


def _expanded(view: SchemaView) -> frozenset[str]:
    types = ALL_TYPES if view.types is None else view.types
    return types | {"integer"} if "number" in types else types


def _named(view: SchemaView) -> str:
    return "any" if view.types is None else " or ".join(sorted(view.types)) or "nothing"


def _listed(values: set[str]) -> str:
    return " and ".join(repr(value[:60]) for value in sorted(values)) or "none"


def _steps(values: set[float]) -> str:
    return " and ".join(map(str, sorted(values))) or "none"


def _some(values: list[Json] | None) -> str:
    shown = ", ".join(_text(value) for value in (values or [])[:8])
    return shown + (", ..." if values and len(values) > 8 else "")


def _text(value: Json) -> str:
    text = canonical(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."


def _limit(bound: tuple[float, bool] | None) -> str:
    return "none" if bound is None else f"{bound[0]}{' (exclusive)' if bound[1] else ''}"


def _shown(view: SchemaView, what: str) -> str:
    return _text(getattr(view, what)) if view.has_default else "none"
