"""Which settings the clients of one server may have each for themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from commonplace.kernel.config.catalog import leaves, value_of
from commonplace.kernel.settings import Section, Settings, StorageSettings

SQLITE = "sqlite:///"

AnchoredSection = TypeVar("AnchoredSection", bound=Section)

OF_A_CLIENT = frozenset(
    {
        "mcp.instructions.mutation_enabled",
        "server.all_tools",
        "server.exclude_tools",
        "server.read_only",
        "server.tools",
        "server.toolsets",
    }
)
"""Settings that have their effect on one client of a shared server."""
WITHOUT_EFFECT_ON_STDIO = (
    "auth.",
    "dashboard.host",
    "dashboard.port",
    "dashboard.tries",
    "mcp.files.index.workers",  # the shared server indexes for all
    "server.",
)
"""Settings, or sections of them, that change nothing for a client on stdin and stdout."""
_IN_EFFECT = {
    "mcp.instructions.directory": "instructions_directory",
    "storage.models": "models_directory",
    "storage.url": "database_url",
    "trace.directory": "trace_directory",
}  # what holds where a setting is unset


def find_process_differences(own: Settings, other: Settings) -> list[str]:
    """Return the names of settings that would need a process of their own, in order."""
    return [
        name
        for name, _ in leaves()
        if name not in OF_A_CLIENT
        and not name.startswith(WITHOUT_EFFECT_ON_STDIO)
        and _value(own, name) != _value(other, name)
    ]


def _value(settings: Settings, name: str) -> Any:
    return value_of(settings, _IN_EFFECT.get(name, name))


def anchor_paths(section: AnchoredSection, folder: Path) -> AnchoredSection:
    """Return settings whose relative paths start at a folder, not where the process is."""
    changes: dict[str, Any] = {}
    for name in section.defaults:
        value = getattr(section, name)
        if isinstance(value, Section):
            changes[name] = anchor_paths(value, folder)
        elif name in section.specs and section.specs[name].path and value:
            texts = (value,) if isinstance(value, str) else value
            anchored = tuple(_anchor(text, folder) for text in texts)
            changes[name] = anchored[0] if isinstance(value, str) else anchored
    if isinstance(section, StorageSettings) and section.url.startswith(SQLITE):
        changes["url"] = SQLITE + _anchor(section.url.removeprefix(SQLITE), folder)
    return section.replace(**changes)


def _anchor(path: str, folder: Path) -> str:
    return path if path.startswith("~") else str(folder / path)
