"""Profiles: the tools that are listed instead of the default ones. They do not restrict calls."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.dispatch.registry import Selection


@dataclass(frozen=True, slots=True)
class Profile:
    """A selection of tools, and the toolsets that they belong to."""

    selection: Selection
    toolsets: frozenset[str]


def _contract(toolset: str) -> Profile:
    """List exactly the tools of another server, under its names."""
    toolsets = frozenset({toolset})
    return Profile(Selection(toolsets=toolsets, renamed=True, lists_only=True), toolsets)


CORE = frozenset({"context", "rules_for", "search_all", "open_ref", "file_write", "rekall_add"})
PROFILES = {
    "core": Profile(
        Selection(tools=CORE, lists_only=True),
        frozenset({"context", "instructions", "files", "memory"}),
    ),
    "rekall": _contract("memory"),
    "oastools": _contract("openapi"),
}
