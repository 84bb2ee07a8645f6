"""Connect a client and disconnect it: its server entry, its hooks and the files that are ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from commonplace.cli.connect.clients import CLIENT_FILES, Client, Surroundings
from commonplace.cli.connect.files import (
    ClientFileChange,
    Strip,
    Stripped,
    read_client_file,
    take_back,
    write_client_file,
)
from commonplace.cli.connect.hooks import HOOK_PLANS, add_hooks, merge_hooks, strip_hooks
from commonplace.cli.connect.merging import merge_json, merge_toml, strip_json, strip_toml
from commonplace.cli.connect.owned_files import (
    RULE,
    RULE_PLANS,
    remove_owned_files,
    write_owned_files,
)
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

_CALL_TOOLS = (Client.CLAUDE_CODE, Client.CODEX)  # their hooks can call a server elsewhere

Merge = Callable[[Path, str], str]


def check_hooks(client: Client, is_remote: bool) -> None:
    """Refuse hooks that the client does not have, or that could not reach the server."""
    if client not in HOOK_PLANS and client not in RULE_PLANS and client is not Client.CLINE:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{client} has neither hooks nor a rule file of its own that this command could write.",
            hint=f"Add this to the instructions that it reads, such as AGENTS.md:\n\n{RULE}",
        )
    if is_remote and client not in _CALL_TOOLS and client not in (Client.DEVIN, Client.KIRO):
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"The hooks of {client} run a command that answers from the data folder of this "
            "machine, not from a server elsewhere.",
            hint="Leave out --hooks or --http.",
        )


def write_all(
    client: Client,
    around: Surroundings,
    entry: JsonObject,
    asks_for_key: bool,
    hooks: bool | None,
) -> list[ClientFileChange]:
    """Write the server entry first; `hooks` is None without them, else whether it is remote."""
    file = CLIENT_FILES[client]
    if file.path is None:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"No file of {client} is documented to which the entry could be written.",
            hint="Leave out --write, and paste the entry into its settings for MCP servers.",
        )

    def merge_server(path: Path, text: str) -> str:
        if client is Client.CODEX:
            return merge_toml(path, text, entry)
        return merge_json(path, text, file.key, entry, asks_for_key)

    merges: dict[Path, list[Merge]] = {file.path(around): [merge_server]}
    plan = HOOK_PLANS.get(client)
    if hooks is not None and plan is not None:
        is_remote = hooks
        merges.setdefault(plan.path(around), []).append(
            lambda path, text: merge_hooks(path, text, plan, is_remote)
        )
    texts = {path: _merged(path, steps) for path, steps in merges.items()}  # before any is written
    changes = [write_client_file(path, text) for path, text in texts.items()]
    return changes + (write_owned_files(client, around) if hooks is not None else [])


def _merged(path: Path, steps: list[Merge]) -> str:
    text = read_client_file(path)
    for step in steps:
        text = step(path, text)
    return text


def show_hooks(client: Client, is_remote: bool) -> JsonObject:
    """Return our hooks as they would be in a new file."""
    plan = HOOK_PLANS.get(client)
    return {} if plan is None else add_hooks({}, plan, is_remote)


def remove_all(client: Client, around: Surroundings) -> list[ClientFileChange]:
    """Take back the hooks, our files and the server entry, whatever of them is there."""
    file = CLIENT_FILES[client]
    strips: dict[Path, list[Callable[[Path, str], Stripped]]] = {}
    if client in HOOK_PLANS:
        strips.setdefault(HOOK_PLANS[client].path(around), []).append(strip_hooks)
    if file.path is not None:
        strips.setdefault(file.path(around), []).append(
            strip_toml
            if client is Client.CODEX
            else lambda path, text: strip_json(path, text, file.key)
        )
    changes = [take_back(path, _combined(path, steps)) for path, steps in strips.items()]
    return [
        *(change for change in changes if change is not None),
        *remove_owned_files(client, around),
    ]


def _combined(path: Path, steps: list[Callable[[Path, str], Stripped]]) -> Strip:
    def strip(text: str) -> Stripped:
        had_ours = False
        stripped = Stripped(text, had_ours=False, is_empty=False)
        for step in steps:
            stripped = step(path, stripped.rest)
            had_ours = had_ours or stripped.had_ours
        return replace(stripped, had_ours=had_ours)

    return strip
