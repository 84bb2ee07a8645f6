"""`commonplace connect`: what an MCP client needs, printed or written, and taken back."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.connect.changes import check_hooks, remove_all, show_hooks, write_all
from commonplace.cli.connect.clients import (
    CLIENT_FILES,
    Client,
    ClientFile,
    KeyForm,
    Surroundings,
)
from commonplace.cli.connect.entries import ConnectOptions, make_entry
from commonplace.cli.connect.files import ClientFileChange
from commonplace.cli.connect.hooks import HOOK_PLANS
from commonplace.cli.connect.links import LINKS
from commonplace.cli.connect.merging import NAME, PROMPT, to_toml
from commonplace.cli.connect.options import (
    AttachOption,
    DryRunOption,
    HooksOption,
    HttpOption,
    KeyInFileOption,
    KeyOption,
    LinkOption,
    MutationOption,
    PluginOption,
    RemoveOption,
    WriteOption,
)
from commonplace.cli.printing import JsonFlag, print_json, say
from commonplace.cli.session import session
from commonplace.cli.terminal import write_text
from commonplace.edge.authenticate import KEY_VARIABLE
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.paths import expand_home


def connect(
    client: Annotated[Client, typer.Argument(help="Your MCP client.")],
    write: WriteOption = False,
    hooks: HooksOption = False,
    remove: RemoveOption = False,
    plugin: PluginOption = None,
    link: LinkOption = False,
    http: HttpOption = None,
    key: KeyOption = None,
    key_in_file: KeyInFileOption = False,
    mutation: MutationOption = False,
    attach: AttachOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonFlag = False,
) -> None:
    """Print the entry a client needs to start this server, or write it to the client's file.

    Examples:
      commonplace connect claude-code
      commonplace connect cursor --write
      commonplace connect claude-code --attach --write
      commonplace connect codex --hooks
      commonplace connect codex --remove
      commonplace connect vscode --http http://127.0.0.1:8787/mcp --key cp_...
    """
    file = CLIENT_FILES[client]
    around = Surroundings(expand_home("~"), Path.cwd(), os.environ)
    if dry_run and (remove or plugin is not None):
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "--dry-run is for --write and --hooks; nothing was changed.",
            hint="Leave it out to remove the entry or to write the plugin.",
        )
    if remove:
        _report(client, remove_all(client, around), as_json)
        return
    in_file = key_in_file or file.form is KeyForm.LITERAL
    options = ConnectOptions(http, key, in_file, mutation, attach)
    entry = make_entry(client, options)
    if plugin is not None:
        _write_plugin(client, plugin, entry, options, as_json)
    elif link:
        _print_link(client, entry, as_json)
    elif (write or hooks) and not dry_run:
        _write(client, around, entry, options, hooks, as_json)
    else:
        _print(client, around, entry, options, hooks, as_json)


def _write(
    client: Client,
    around: Surroundings,
    entry: JsonObject,
    options: ConnectOptions,
    hooks: bool,
    as_json: bool,
) -> None:
    file = CLIENT_FILES[client]
    if hooks:
        check_hooks(client, options.http is not None)
    path = None if file.path is None else file.path(around)
    notes = _notes(file, options, path)
    for note in notes:  # a warning about the key comes before the key is written
        say(note)
    asks_for_key = _asks_for_key(file, options)
    with_hooks = options.http is not None if hooks else None
    changes = write_all(client, around, entry, asks_for_key, with_hooks)
    if with_hooks is False:
        _prepare_rules()
    if hooks and client in HOOK_PLANS and HOOK_PLANS[client].note:
        notes.append(HOOK_PLANS[client].note)
    if as_json:
        print_json(
            {
                "client": client.value,
                "path": str(path),
                "entry": entry,
                "written": True,
                "backup": str(changes[0].backup) if changes[0].backup else None,
                "notes": notes,
                "files": [change.as_json() for change in changes],
            }
        )
        return
    _say_changes(changes)
    if hooks and client in HOOK_PLANS and HOOK_PLANS[client].note:
        say(HOOK_PLANS[client].note)
    say("Restart the client, or reload its MCP servers.")


def _prepare_rules() -> None:
    """Make the index that hooks read without a server, so that the first one has it."""
    from commonplace.cli.hooks.refresh import keep_rules

    with contextlib.suppress(CommonplaceError, OSError):  # hooks make it again by themselves
        keep_rules(session().app())


def _print(
    client: Client,
    around: Surroundings,
    entry: JsonObject,
    options: ConnectOptions,
    hooks: bool,
    as_json: bool,
) -> None:
    file = CLIENT_FILES[client]
    path = None if file.path is None else file.path(around)
    notes = _notes(file, options, path)
    shown = {}
    if hooks:
        check_hooks(client, options.http is not None)
        shown = show_hooks(client, options.http is not None)
    if as_json:
        answer: JsonObject = {
            "client": client.value,
            "path": None if path is None else str(path),
            "entry": entry,
            "written": False,
            "backup": None,
            "notes": notes,
        }
        print_json(answer | ({"hooks": shown} if hooks else {}))
        return
    write_text(_as_text(client, file, entry, _asks_for_key(file, options)))
    for note in notes:
        say(note)
    if path is None:
        say("Paste this into the settings for MCP servers of your IDE.")
    else:
        say(f"This goes into {path}; --write merges it there.")
    if shown:
        write_text(json.dumps(shown, indent=2) + "\n")
        say(f"This goes into {HOOK_PLANS[client].path(around)}; --hooks merges both.")


def _write_plugin(
    client: Client, folder: Path, entry: JsonObject, options: ConnectOptions, as_json: bool
) -> None:
    from commonplace.cli.connect.plugin import write_plugin

    if client is not Client.CLAUDE_CODE:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "--plugin writes a plugin for Claude Code.",
            hint="For this client use --hooks.",
        )
    changes = write_plugin(folder, entry, is_remote=options.http is not None)
    _report(client, changes, as_json)
    if not as_json:
        say(f"Try it with `claude --plugin-dir {folder}`.")


def _print_link(client: Client, entry: JsonObject, as_json: bool) -> None:
    if client not in LINKS:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"No link that adds a server to {client} is documented.",
            hint=f"Links exist for {', '.join(LINKS)}.",
        )
    address = LINKS[client](entry)
    if as_json:
        print_json({"client": client.value, "link": address})
    else:
        write_text(address + "\n")


def _report(client: Client, changes: list[ClientFileChange], as_json: bool) -> None:
    if as_json:
        print_json({"client": client.value, "files": [change.as_json() for change in changes]})
        return
    _say_changes(changes)
    if not changes:
        say("There is nothing of ours.")


def _say_changes(changes: list[ClientFileChange]) -> None:
    words = {"created": "wrote", "changed": "wrote", "unchanged": "left as it is:"}
    for change in changes:
        about = f" (the old file is {change.backup})" if change.backup else ""
        about += f": {change.note}" if change.note else ""
        say(f"{words.get(change.change, change.change)} {change.path}{about}")


def _as_text(client: Client, file: ClientFile, entry: JsonObject, asks_for_key: bool) -> str:
    """Return the entry as it would be in a new file."""
    if client is Client.CODEX:
        return to_toml(entry)
    document = {file.key: {NAME: entry}} | ({"inputs": [PROMPT]} if asks_for_key else {})
    return json.dumps(document, indent=2) + "\n"


def _asks_for_key(file: ClientFile, options: ConnectOptions) -> bool:
    """Tell whether the client asks the user for the key."""
    return options.key is not None and file.form is KeyForm.PROMPT and not options.key_in_file


def _notes(file: ClientFile, options: ConnectOptions, path: Path | None) -> list[str]:
    """Return warnings about the key, or how the client gets it."""
    if options.key is None:
        return []
    if options.key_in_file:
        warning = f"warning: {path.name if path else 'the entry'} then holds the key in plain text"
        if file.shared:
            has_reference = file.form is not KeyForm.LITERAL
            instead = " Leave out --key-in-file to refer to it instead." if has_reference else ""
            return [f"{warning}, and this file is usually committed.{instead}"]
        return [f"{warning}; do not share that file."]
    if file.form is KeyForm.PROMPT:
        return ["The client asks for the key when it starts the server."]
    return [
        (
            f"Start the client with {KEY_VARIABLE} in its environment: "
            f"export {KEY_VARIABLE}={options.key}"
        )
    ]
