"""The settings by their dotted names: sections, leaves, types and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from commonplace.kernel.settings import Section, Settings, SettingSpec


@cache
def sections() -> Mapping[str, type[Section]]:
    """Return every section by its dotted name; the root has the empty name."""
    found: dict[str, type[Section]] = {}
    _collect(Settings, "", found)
    return MappingProxyType(found)


def leaves() -> Iterator[tuple[str, SettingSpec]]:
    """Yield every setting with its dotted name, in the order of declaration."""
    for place, section in sections().items():
        for name, spec in section.specs.items():
            yield join_name(place, name), spec


def children(place: str) -> list[str]:
    """Return the names of the sections directly below a section."""
    return [
        name for name, default in sections()[place].defaults.items() if isinstance(default, Section)
    ]


def join_name(place: str, name: str) -> str:
    """Return the dotted name of a member of a section."""
    return f"{place}.{name}" if place else name


def value_of(settings: Settings, name: str) -> Any:
    """Return the value of a setting by its dotted name."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def type_of(name: str) -> Any:
    """Return the annotated type of a setting by its dotted name."""
    place, _, leaf = name.rpartition(".")
    return get_type_hints(sections()[place])[leaf]


def type_name(kind: Any) -> str:
    """Describe a type for people."""
    if get_origin(kind) is Literal:
        return " | ".join(f"`{choice}`" for choice in get_args(kind))
    optional = type(None) in get_args(kind)
    core = (
        next((arm for arm in get_args(kind) if arm is not type(None)), kind) if optional else kind
    )
    plain = {bool: "true or false", int: "whole number", float: "number", str: "text"}.get(core)
    if plain is None:
        plain = "list of texts" if get_origin(core) is tuple else "map of texts"
    return f"{plain}, may be unset" if optional else plain


def _collect(section: type[Section], place: str, found: dict[str, type[Section]]) -> None:
    found[place] = section
    for name, default in section.defaults.items():
        if isinstance(default, Section):
            _collect(type(default), join_name(place, name), found)
