"""Files of a project that are wholly ours: hook scripts of Cline, and rule files.

A rule file says when to call `context`, for clients without hooks or whose hooks come too late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from commonplace.cli.connect.clients import Client, Surroundings
from commonplace.cli.connect.files import (
    ClientFileChange,
    read_client_file,
    take_back_owned,
    write_client_file,
)
from commonplace.cli.connect.hooks import command_line

MARKER = "Written by `commonplace connect"
CLINE_EVENTS = ("UserPromptSubmit", "PreToolUse", "PreCompact")
RULE = """\
# Commonplace

The MCP server `commonplace` has what this team shares: rules, lessons learned, project files and \
API descriptions.

- At the start of a task, the tool `context` with the task returns what matters for it.
- Before a file is written or created, the tool `rules_for` with its path returns the rules in \
effect for it.
- After the conversation was shortened, both are needed again.
"""


@dataclass(frozen=True, slots=True)
class RulePlan:
    """The place of a rule file that always applies, and its front matter."""

    path: Callable[[Surroundings], Path]
    header: str = ""


RULE_PLANS: dict[Client, RulePlan] = {
    Client.CURSOR: RulePlan(
        lambda around: around.cwd / ".cursor" / "rules" / "commonplace.mdc",
        "---\ndescription: When to ask Commonplace\nalwaysApply: true\n---\n\n",
    ),
    Client.DEVIN: RulePlan(
        lambda around: around.cwd / ".devin" / "rules" / "commonplace.md",
        "---\ntrigger: always_on\n---\n\n",
    ),
    Client.KIRO: RulePlan(
        lambda around: around.cwd / ".kiro" / "steering" / "commonplace.md",
        "---\ninclusion: always\n---\n\n",
    ),
}


def owned_files(client: Client, around: Surroundings) -> dict[Path, str]:
    """Return the files of a client that are wholly ours, with their texts."""
    files: dict[Path, str] = {}
    if client is Client.CLINE:
        folder = around.cwd / ".clinerules" / "hooks"
        files |= {folder / event: _script(event) for event in CLINE_EVENTS}
    if client in RULE_PLANS:
        plan = RULE_PLANS[client]
        note = f"<!-- {MARKER} {client} --hooks`; `--remove` deletes it. -->\n"
        files[plan.path(around)] = plan.header + note + RULE
    return files


def write_owned_files(client: Client, around: Surroundings) -> list[ClientFileChange]:
    """Write our files; a file of somebody else under the same name is kept."""
    changes = []
    for path, text in owned_files(client, around).items():
        if path.exists() and not _is_ours(read_client_file(path)):
            note = "a file of this name exists and is not ours: add the command to it yourself"
            changes.append(ClientFileChange(path, "kept", note=note))
        else:
            is_script = client is Client.CLINE
            changes.append(write_client_file(path, text, executable=is_script, copy=False))
    return changes


def remove_owned_files(client: Client, around: Surroundings) -> list[ClientFileChange]:
    """Delete our files, and the folders that are empty then."""
    changes = (take_back_owned(path, _is_ours) for path in owned_files(client, around))
    return [change for change in changes if change is not None]


def _script(event: str) -> str:
    """Return a hook script of Cline: it blocks the action of a hook that fails."""
    return (
        f"#!/bin/sh\n# {MARKER} cline --hooks`; `--remove` deletes it.\n"
        f"{command_line(Client.CLINE, event)} || :\n"
    )


def _is_ours(text: str) -> bool:
    return MARKER in text
