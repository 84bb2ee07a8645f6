"""Comparison of what two schemas say about a value itself: types, values, limits, annotations."""

from __future__ import annotations

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.diff.collector import ChangeCollector, Report
from commonplace.openapi.engine.diff.schema.model import ALL_TYPES, SchemaView
from commonplace.openapi.engine.diff.schema.patterns import Witnesses, compare_patterns, constrains
from commonplace.openapi.engine.diff.schema.values import canonical, find_multiples_rule

_MAX_PATTERN_PAIRS = 300  # pairs that are compared by sample strings; further ones are undecided
_BOUND_LABELS = {
    "Length": "length",
    "Items": "number of items",
    "Properties": "number of properties",
    "value": "value",
}


class KeywordDiff:
    """Compares the keywords of two schemas that contain no other schema."""

    def __init__(self, changes: ChangeCollector) -> None:
        self.changes = changes
        self._compared_patterns = 0

    def compare_annotations(self, old: SchemaView, new: SchemaView, report: Report) -> None:
        """Compare what does not decide by itself which values are valid."""
        here = new.site.pointer
        if old.description != new.description:
            self.changes.add("description-changed", here, "The description changed.")
        if new.deprecated and not old.deprecated:
            self.changes.add("schema-deprecated", here, "It became deprecated.")
        if (old.read_only, old.write_only) != (new.read_only, new.write_only):
            report("read-write-changed", here, "readOnly or writeOnly changed.")
        if old.has_default != new.has_default or canonical(old.default) != canonical(new.default):
            before, after = _describe_default(old), _describe_default(new)
            message = f"The default changed from {before} to {after}."
            self.changes.add("default-changed", here, message)
        _compare_discriminators(old, new, report)

    def compare_types(self, old: SchemaView, new: SchemaView, report: Report) -> bool:
        """Report a change of types; return False if nothing else is worth comparing."""
        before, after = _expand_types(old), _expand_types(new)
        if before == after or (old.enum is not None and new.enum is not None):
            return True  # two lists of values are compared exactly
        removed, added = before - after, after - before
        here = f"{new.site.pointer}/type"
        message = f"The type changed from {_describe_types(old)} to {_describe_types(new)}."
        if removed and added:
            report("type-changed", here, message)
            return bool(before & after)
        if removed and new.enum is None:
            report("type-narrowed", here, message)
        elif added and old.enum is None:
            report("type-widened", here, message)
        return True

    def compare_values(self, old: SchemaView, new: SchemaView, report: Report) -> None:
        """Compare lists of values or, if neither side has one, formats, patterns and limits."""
        here = new.site.pointer
        if old.enum is not None or new.enum is not None:
            _compare_enums(old.enum, new.enum, f"{here}/enum", report)
            return
        if old.patterns != new.patterns and old.allows("string") and new.allows("string"):
            self._compare_patterns(old.patterns, new.patterns, f"{here}/pattern", report)
        if old.formats != new.formats:
            before, after = _describe_set(old.formats), _describe_set(new.formats)
            message = f"The format changed from {before} to {after}."
            report("format-changed", f"{here}/format", message)
        if old.multiples != new.multiples:
            _compare_multiples(old, new, f"{here}/multipleOf", report)
        _compare_bounds(old, new, here, report)

    def _compare_patterns(self, old: set[str], new: set[str], here: str, report: Report) -> None:
        removed = sorted(filter(constrains, old - new))
        added = sorted(filter(constrains, new - old))
        change = f"The pattern changed from {_describe_set(old)} to {_describe_set(new)}"
        if not removed or not added:
            if removed or added:
                report("pattern-narrowed" if added else "pattern-widened", here, f"{change}.")
            return
        self._compared_patterns += 1
        examples = Witnesses()
        if len(removed) == len(added) == 1 and self._compared_patterns <= _MAX_PATTERN_PAIRS:
            examples = compare_patterns(removed[0], added[0])
        if examples.refused is not None:
            value = _describe_value(examples.refused)
            report("pattern-narrowed", here, f"{change}: {value} is no longer allowed.")
        if examples.accepted is not None:
            value = _describe_value(examples.accepted)
            report("pattern-widened", here, f"{change}: {value} is allowed now.")
        if examples == Witnesses():
            report("pattern-changed", here, f"{change}.")


def _compare_discriminators(old: SchemaView, new: SchemaView, report: Report) -> None:
    here = f"{new.site.pointer}/discriminator"
    before, after = old.discriminator, new.discriminator
    if before and after and before != after:
        message = f"The discriminator changed from {before!r} to {after!r}."
        report("discriminator-changed", new.site.pointer, message)
    elif bool(before) != bool(after):
        message = (
            f"The discriminator {before!r} was removed."
            if before
            else f"The discriminator {after!r} was added."
        )
        report("discriminator-mapping-changed", here, message)
    elif old.mapping != new.mapping:
        names = ", ".join(
            repr(key)
            for key in sorted(old.mapping.keys() | new.mapping.keys())
            if old.mapping.get(key) != new.mapping.get(key)
        )
        message = f"The mapping of the discriminator changed for {names}."
        report("discriminator-mapping-changed", f"{here}/mapping", message)


def _compare_enums(
    old: list[Json] | None, new: list[Json] | None, here: str, report: Report
) -> None:
    if old is None:
        report("enum-added", here, f"Only {_describe_values(new)} are allowed now.")
        return
    if new is None:
        report("enum-removed", here, f"Other values than {_describe_values(old)} are allowed now.")
        return
    before = {canonical(value): value for value in old}
    after = {canonical(value): value for value in new}
    for key, value in before.items():
        if key not in after:
            report("enum-value-removed", here, f"{_describe_value(value)} is no longer allowed.")
    for key, value in after.items():
        if key not in before:
            report("enum-value-added", here, f"{_describe_value(value)} is allowed now.")


def _compare_multiples(old: SchemaView, new: SchemaView, here: str, report: Report) -> None:
    old_whole, new_whole = (
        view.types is not None and "number" not in view.types for view in (old, new)
    )
    rule = find_multiples_rule(
        old.multiples, new.multiples, old_whole=old_whole, new_whole=new_whole
    )
    if rule:
        before, after = _describe_multiples(old.multiples), _describe_multiples(new.multiples)
        report(rule, here, f"multipleOf changed from {before} to {after}.")


def _compare_bounds(old: SchemaView, new: SchemaView, here: str, report: Report) -> None:
    for group, label in _BOUND_LABELS.items():
        for name, before, after, sign in (
            ("minimum", old.lower.get(group), new.lower.get(group), 1),
            ("maximum", old.upper.get(group), new.upper.get(group), -1),
        ):
            if before == after:
                continue
            tighter = after is not None and (
                before is None or (sign * after[0], after[1]) > (sign * before[0], before[1])
            )
            limits = f"from {_describe_bound(before)} to {_describe_bound(after)}"
            rule = "bound-tightened" if tighter else "bound-loosened"
            report(rule, here, f"The {name} {label} changed {limits}.")
    if old.unique != new.unique:
        rule = "unique-items-added" if new.unique else "unique-items-removed"
        message = "Items must differ now." if new.unique else "Items may repeat now."
        report(rule, f"{here}/uniqueItems", message)


def _expand_types(view: SchemaView) -> frozenset[str]:
    types = ALL_TYPES if view.types is None else view.types
    return types | {"integer"} if "number" in types else types


def _describe_types(view: SchemaView) -> str:
    return "any" if view.types is None else " or ".join(sorted(view.types)) or "nothing"


def _describe_set(values: set[str]) -> str:
    return " and ".join(repr(value[:60]) for value in sorted(values)) or "none"


def _describe_multiples(values: set[float]) -> str:
    return " and ".join(map(str, sorted(values))) or "none"


def _describe_values(values: list[Json] | None) -> str:
    shown = ", ".join(_describe_value(value) for value in (values or [])[:8])
    return shown + (", ..." if values and len(values) > 8 else "")


def _describe_value(value: Json) -> str:
    text = canonical(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."


def _describe_bound(bound: tuple[float, bool] | None) -> str:
    return "none" if bound is None else f"{bound[0]}{' (exclusive)' if bound[1] else ''}"


def _describe_default(view: SchemaView) -> str:
    return _describe_value(view.default) if view.has_default else "none"
