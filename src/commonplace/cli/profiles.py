"""Profiles: the tools that a drop-in for another server lists. They do not restrict calls."""

from __future__ import annotations

from commonplace.dispatch.registry import Selection

PROFILES = {
    "rekall": Selection(toolsets=frozenset({"memory"}), renamed=True, lists_only=True),
    "oastools": Selection(toolsets=frozenset({"openapi"}), renamed=True, lists_only=True),
}
