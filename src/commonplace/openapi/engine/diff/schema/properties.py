"""Comparison of the properties of two object schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from commonplace.openapi.engine.diff.collector import Report
from commonplace.openapi.engine.diff.schema.model import SchemaSite, SchemaView


class ObjectSides(NamedTuple):
    """Two object schemas, and the properties of each that are visible in this direction."""

    old: SchemaView
    new: SchemaView
    before: dict[str, SchemaSite]
    after: dict[str, SchemaSite]


def compare_properties(
    sides: ObjectSides, report: Report
) -> Iterator[tuple[SchemaSite, SchemaSite]]:
    """Report added, removed and required properties; yield the pairs of schemas to compare."""
    old, new, before, after = sides
    required_old, required_new = _list_required(old, before), _list_required(new, after)
    for name in before:
        if name not in after:
            _report_removed(old, new, name, name in required_old, report)
    for name, site in after.items():
        if name in before:
            yield before[name], site
            continue
        required = name in required_new and name not in required_old
        _report_added(old, site, name, required, report)
        was_additional = name not in old.properties and not old.closed
        if was_additional and not required and old.additional is not None:
            yield old.additional, site
    _report_required(sides, required_old, required_new, report)


def _list_required(view: SchemaView, visible: dict[str, SchemaSite]) -> dict[str, str]:
    """Return the names that `required` really requires.

    Requests need no readOnly properties, responses no writeOnly ones.
    """
    return {
        name: where
        for name, where in view.required.items()
        if name in visible or name not in view.properties
    }


def _report_added(
    old: SchemaView, site: SchemaSite, name: str, required: bool, report: Report
) -> None:
    # A property that readOnly or writeOnly hid is new in this direction, though not unknown.
    known = name in old.properties
    what = "is no longer readOnly or writeOnly" if known else "was added"
    if required:
        message = f"The property {name!r} {what} and is required."
        report("required-property-added", site.pointer, message)
    elif old.closed and not known:
        message = f"The property {name!r} was added where none were allowed."
        report("property-added-to-closed", site.pointer, message)
    else:
        report("property-added", site.pointer, f"The property {name!r} {what}.")


def _report_removed(
    old: SchemaView, new: SchemaView, name: str, required: bool, report: Report
) -> None:
    where = old.properties[name].pointer
    if name in new.properties:  # hidden in this direction now, but not unknown
        rule = "required-property-removed" if required else "property-removed"
        report(rule, where, f"The property {name!r} became readOnly or writeOnly.")
        return
    required = required and name not in new.required
    if required:
        message = f"The property {name!r}, which was required, was removed."
        report("required-property-removed", where, message)
    if new.closed:
        message = f"The property {name!r} was removed and unknown ones are refused."
        report("property-removed-from-closed", where, message)
    elif not required:
        report("property-removed", where, f"The property {name!r} was removed.")


def _report_required(
    sides: ObjectSides, required_old: dict[str, str], required_new: dict[str, str], report: Report
) -> None:
    old, new, before, after = sides
    for name, where in required_new.items():
        if name not in required_old and (name in before or name not in new.properties):
            report("property-became-required", where, f"The property {name!r} is required now.")
    for name in required_old:
        if name not in required_new and (name in after or name not in old.properties):
            where = after[name].pointer if name in after else new.site.pointer
            report("property-became-optional", where, f"The property {name!r} is optional now.")
