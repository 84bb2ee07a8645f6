"""A plugin for Claude Code: the server, the hooks, skills for the toolsets and commands."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from commonplace import __version__
from commonplace.cli.connect.clients import Client
from commonplace.cli.connect.files import ClientFileChange, write_client_file
from commonplace.cli.connect.hooks import claude_code_hooks, command_line
from commonplace.cli.connect.merging import NAME
from commonplace.cli.program import executable
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

SERVER = f"plugin:{NAME}:{NAME}"  # as Claude Code names a plugin's server in hooks
MANIFEST = Path(".claude-plugin") / "plugin.json"
_FILES = "plugin_files"


def write_plugin(folder: Path, entry: JsonObject, is_remote: bool) -> list[ClientFileChange]:
    """Write the plugin into a folder that is new, empty, or has an older version of it."""
    if folder.is_dir() and any(folder.iterdir()) and not _is_ours(folder):
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{folder} contains something else.",
            hint="Name a new folder, or the one of an older version of this plugin.",
        )
    return [
        write_client_file(folder / path, text, copy=False)
        for path, text in plugin_files(entry, is_remote).items()
    ]


def plugin_files(entry: JsonObject, is_remote: bool) -> dict[Path, str]:
    """Return the files of the plugin by their paths."""
    hooks = claude_code_hooks(is_remote, SERVER, _portable_command)
    files = {
        MANIFEST: _dump(
            {
                "name": NAME,
                "version": __version__,
                "description": "Rules, lessons, project files and API descriptions of a team, "
                "delivered when they are needed.",
                "author": {"name": "Commonplace"},
                "keywords": ["mcp", "rules", "memory", "context", "openapi"],
            }
        ),
        Path(".mcp.json"): _dump({"mcpServers": {NAME: _portable_entry(entry)}}),
        Path("hooks") / "hooks.json": _dump(
            {"description": "Bring context and rules without being asked for.", "hooks": hooks}
        ),
    }
    packed = resources.files("commonplace.cli.connect") / _FILES
    return files | dict(_texts(packed, Path()))


def _texts(folder: Traversable, path: Path) -> Iterator[tuple[Path, str]]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            yield from _texts(entry, path / entry.name)
        elif entry.name.endswith(".md"):
            yield path / entry.name, entry.read_text("utf-8")


def _portable_entry(entry: JsonObject) -> JsonObject:
    """Return the entry with the name of this program where it is on PATH: plugins travel."""
    return entry | {"command": NAME} if "command" in entry and _is_on_path() else entry


def _portable_command(event: str) -> str:
    line = command_line(Client.CLAUDE_CODE, event)
    return NAME + line[line.index(" hook ") :] if _is_on_path() else line


def _is_on_path() -> bool:
    found = shutil.which(NAME)
    return found is not None and os.path.realpath(found) == os.path.realpath(executable())


def _is_ours(folder: Path) -> bool:
    try:
        manifest: Json = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("name") == NAME


def _dump(value: Json) -> str:
    return json.dumps(value, indent=2) + "\n"
