"""`commonplace connect`: the configuration an MCP client needs, printed or merged."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
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
from commonplace.kernel.paths import expanded


@dataclass(frozen=True, slots=True)
class Given:
    """What was asked for on the command line."""

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
    """Print what a client needs to start this server, or write it.

    Examples:
      commonplace connect claude-code
      commonplace connect cursor --write
      commonplace connect vscode --http http://127.0.0.1:8787/mcp --key cp_...
    """
    place = CLIENT_FILES[client]
    given = Given(http, key, key_in_file or place.form is KeyForm.LITERAL, mutation)
    entry = _entry(place, client, given)
    path = place.path(expanded("~"), Path.cwd(), os.environ)
    document = {place.key: {NAME: entry}} | ({"inputs": [PROMPT]} if _prompts(place, given) else {})
    text = to_toml(entry) if client is Client.CODEX else json.dumps(document, indent=2) + "\n"
    notes = _notes(place, given, path)
    backup = None
    if write:
        for note in notes:
            say(note)
        backup = (
            merge_toml(path, entry)
            if client is Client.CODEX
            else merge_json(path, place.key, entry, _prompts(place, given))
        )
    if as_json:
        kept = str(backup) if backup else None
        print_json(
            {
                "client": client.value,
                "path": str(path),
                "entry": entry,
                "written": write,
                "backup": kept,
                "notes": notes,
            }
        )
        return
    if write:
        say(f"wrote {path}" + (f" (the old file is {backup})" if backup else ""))
        say("Restart the client, or reload its MCP servers.")
    else:
        write_text(text)
        for note in notes:
            say(note)
        say(f"This goes into {path}; --write merges it there.")


def _prompts(place: ClientFile, given: Given) -> bool:
    """Whether the client is to ask for the key."""
    return given.key is not None and place.form is KeyForm.PROMPT and not given.key_in_file


def _notes(place: ClientFile, given: Given, path: Path) -> list[str]:
    """What to know of the key before it is written, or how the client gets it."""
    if given.key is None:
        return []
    if given.key_in_file:
        warning = f"warning: {path.name} then holds the key in plain text"
        if place.shared:
            return [
                (
                    f"{warning}, and this file is usually committed. Leave out --key-in-file to "
                    f"refer to it instead."
                )
            ]
        return [f"{warning}; do not share that file."]
    if place.form is KeyForm.PROMPT:
        return ["The client asks for the key when it starts the server."]
    return [
        (
            f"Start the client with {KEY_VARIABLE} in its environment: export "
            f"{KEY_VARIABLE}={given.key}"
        )
    ]


def _entry(place: ClientFile, client: Client, given: Given) -> dict[str, Any]:
    if given.http is not None:
        return _http_entry(place, client, given, given.http)
    entry: dict[str, Any] = {"type": "stdio"} if place.typed else {}
    entry |= {"command": str(executable().absolute()), "args": ["serve", *_same_state()]}
    variables = {"MCP_ENABLE_MUTATION": "1"} if given.mutation else {}
    if given.key and place.form is KeyForm.NAMED and not given.key_in_file:
        entry["env_vars"] = [KEY_VARIABLE]
    elif given.key:
        variables[KEY_VARIABLE] = _reference(place, given.key, given)
    return entry | ({"env": variables} if variables else {})


def _http_entry(place: ClientFile, client: Client, given: Given, address: str) -> dict[str, Any]:
    if given.mutation:
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
    entry: dict[str, Any] = (
        {"url": url} if client in (Client.CURSOR, Client.CODEX) else {"type": "http", "url": url}
    )
    if given.key and place.form is KeyForm.NAMED and not given.key_in_file:
        entry["bearer_token_env_var"] = KEY_VARIABLE
    elif given.key:
        name = "http_headers" if client is Client.CODEX else "headers"
        entry[name] = {"Authorization": f"Bearer {_reference(place, given.key, given)}"}
    return entry


def _reference(place: ClientFile, key: str, given: Given) -> str:
    if given.key_in_file:
        return key
    return place.form.value % (PROMPT["id"] if place.form is KeyForm.PROMPT else KEY_VARIABLE)


def _endpoint(url: str) -> str:
    """The address as a client needs it: that of a server alone leads to its /mcp."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{url!r} is no address.",
            hint="For example http://127.0.0.1:8787/mcp.",
        )
    return urlunsplit(parts._replace(path="/mcp")) if parts.path in ("", "/") else url


def _same_state() -> list[str]:
    """Flags that lead a server started elsewhere, with another environment, to what this command
    sees.
    """
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
