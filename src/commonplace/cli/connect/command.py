"""`commonplace connect`: the configuration an MCP client needs, printed or merged."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

import typer

from commonplace.cli.connect.clients import CLIENT_FILES, Client, ClientFile, KeyForm
from commonplace.cli.connect.merging import NAME, PROMPT, merge_json, merge_toml, to_toml
from commonplace.cli.printing import JsonFlag, print_json, say
from commonplace.cli.program import executable
from commonplace.cli.session import session
from commonplace.cli.terminal import write_text
from commonplace.edge.authenticate import KEY_VARIABLE
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.paths import expand_home


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """The options of `connect` that shape a client's entry."""

    http: str | None
    key: str | None
    key_in_file: bool
    mutation: bool


def connect(
    client: Annotated[Client, typer.Argument(help="Your MCP client.")],
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Merge it into the client's file; a copy of the old file is kept."
        ),
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="URL", help="Connect to a running server instead of starting one."
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", help="Key to call with; the file refers to it and does not hold it."),
    ] = None,
    key_in_file: Annotated[
        bool, typer.Option("--key-in-file", help="Put the key itself into the file.")
    ] = False,
    mutation: Annotated[
        bool, typer.Option("--mutation", help="Let this client change the instruction catalogue.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print the entry a client needs to start this server, or write it to the client's file.

    Examples:
      commonplace connect claude-code
      commonplace connect cursor --write
      commonplace connect vscode --http http://127.0.0.1:8787/mcp --key cp_...
    """
    file = CLIENT_FILES[client]
    options = ConnectOptions(http, key, key_in_file or file.form is KeyForm.LITERAL, mutation)
    entry = _entry(file, client, options)
    path = file.path(expand_home("~"), Path.cwd(), os.environ)
    notes = _notes(file, options, path)
    asks_for_key = _asks_for_key(file, options)
    backup = _merge(client, file, path, entry, notes, asks_for_key) if write else None
    if as_json:
        print_json(
            {
                "client": client.value,
                "path": str(path),
                "entry": entry,
                "written": write,
                "backup": str(backup) if backup else None,
                "notes": notes,
            }
        )
    elif write:
        say(f"wrote {path}" + (f" (the old file is {backup})" if backup else ""))
        say("Restart the client, or reload its MCP servers.")
    else:
        write_text(_as_text(client, file, entry, asks_for_key))
        for note in notes:
            say(note)
        say(f"This goes into {path}; --write merges it there.")


def _as_text(client: Client, file: ClientFile, entry: JsonObject, asks_for_key: bool) -> str:
    """Return the entry as it would be in a new file."""
    if client is Client.CODEX:
        return to_toml(entry)
    document = {file.key: {NAME: entry}} | ({"inputs": [PROMPT]} if asks_for_key else {})
    return json.dumps(document, indent=2) + "\n"


def _merge(
    client: Client,
    file: ClientFile,
    path: Path,
    entry: JsonObject,
    notes: list[str],
    asks_for_key: bool,
) -> Path | None:
    """Merge the entry into the client's file and return the backup of the old one."""
    for note in notes:  # a warning about the key comes before the key is written
        say(note)
    if client is Client.CODEX:
        return merge_toml(path, entry)
    return merge_json(path, file.key, entry, asks_for_key)


def _asks_for_key(file: ClientFile, options: ConnectOptions) -> bool:
    """Tell whether the client asks the user for the key."""
    return options.key is not None and file.form is KeyForm.PROMPT and not options.key_in_file


def _notes(file: ClientFile, options: ConnectOptions, path: Path) -> list[str]:
    """Return warnings about the key, or how the client gets it."""
    if options.key is None:
        return []
    if options.key_in_file:
        warning = f"warning: {path.name} then holds the key in plain text"
        if file.shared:
            return [
                (
                    f"{warning}, and this file is usually committed. "
                    "Leave out --key-in-file to refer to it instead."
                )
            ]
        return [f"{warning}; do not share that file."]
    if file.form is KeyForm.PROMPT:
        return ["The client asks for the key when it starts the server."]
    return [
        (
            f"Start the client with {KEY_VARIABLE} in its environment: "
            f"export {KEY_VARIABLE}={options.key}"
        )
    ]


def _entry(file: ClientFile, client: Client, options: ConnectOptions) -> JsonObject:
    if options.http is not None:
        return _http_entry(file, client, options, options.http)
    entry: JsonObject = {"type": "stdio"} if file.typed else {}
    entry |= {"command": str(executable().absolute()), "args": ["serve", *_same_state()]}
    variables = {"MCP_ENABLE_MUTATION": "1"} if options.mutation else {}
    if options.key and file.form is KeyForm.NAMED and not options.key_in_file:
        entry["env_vars"] = [KEY_VARIABLE]
    elif options.key:
        variables[KEY_VARIABLE] = _reference(file, options.key, options)
    return entry | ({"env": variables} if variables else {})


def _http_entry(
    file: ClientFile, client: Client, options: ConnectOptions, address: str
) -> JsonObject:
    if options.mutation:
        hint = "Start that server with MCP_ENABLE_MUTATION=1 instead."
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "--mutation cannot open the catalogue of a server that runs elsewhere.",
            hint=hint,
        )
    url = _endpoint(address)
    if client is Client.CLAUDE_DESKTOP:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "Claude Desktop starts the servers of its file itself and skips entries with an "
            "address.",
            hint=f"Leave out --http to let it start one on this data folder. For {url} add a "
            f"custom connector under Settings > Connectors; "
            "that needs an https address that can be reached from the internet.",
        )
    entry: JsonObject = (
        {"url": url} if client in (Client.CURSOR, Client.CODEX) else {"type": "http", "url": url}
    )
    if options.key and file.form is KeyForm.NAMED and not options.key_in_file:
        entry["bearer_token_env_var"] = KEY_VARIABLE
    elif options.key:
        name = "http_headers" if client is Client.CODEX else "headers"
        entry[name] = {"Authorization": f"Bearer {_reference(file, options.key, options)}"}
    return entry


def _reference(file: ClientFile, key: str, options: ConnectOptions) -> str:
    if options.key_in_file:
        return key
    return file.form.value % (PROMPT["id"] if file.form is KeyForm.PROMPT else KEY_VARIABLE)


def _endpoint(url: str) -> str:
    """Return the MCP endpoint; the address of a server without a path means its /mcp."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{url!r} is not an http or https address.",
            hint="For example http://127.0.0.1:8787/mcp.",
        )
    return urlunsplit(parts._replace(path="/mcp")) if parts.path in ("", "/") else url


def _same_state() -> list[str]:
    """Return flags that give a server started by a client the state of this command."""
    run = session()
    config = run.config()
    flags = []
    if config.file is not None and (
        run.config_file is not None or config.file.parent == Path.cwd()
    ):
        flags += ["--config", str(config.file)]
    if config.sources["data"] != "default":
        flags += ["--data", str(config.settings.data)]
    return flags
