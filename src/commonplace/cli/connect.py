"""`commonplace connect`: the configuration an MCP client needs, printed or merged into its file."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit

import typer

from commonplace.cli.doctor import executable
from commonplace.cli.printing import JsonFlag, print_json, say
from commonplace.cli.session import session
from commonplace.cli.terminal import write_text
from commonplace.edge.authenticate import KEY_VARIABLE
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, Code, CommonplaceError, Kind
from commonplace.kernel.home import expanded

NAME = "commonplace"
CLIENT_CONFIG = Code(
    "CLIENT_CONFIG_UNREADABLE",
    Kind.INVALID_DATA,
    "A client's configuration file cannot be merged safely.",
)
PROMPT = {
    "id": "commonplace-key",
    "type": "promptString",
    "description": "Key of the Commonplace server",
    "password": True,
}


class Client(StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"


class KeyForm(StrEnum):
    """How a client's file refers to a key without holding it."""

    SHELL = "${%s}"  # Claude Code: command, args, env, url and headers
    CURSOR = "${env:%s}"  # the same fields
    PROMPT = "${input:%s}"  # VS Code asks once and keeps the answer safe
    NAMED = "%s"  # Codex takes names of variables: bearer_token_env_var, env_vars
    LITERAL = ""  # Claude Desktop: values as they are


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client keeps its servers, and under which key."""

    path: Callable[[Path, Path, Mapping[str, str]], Path]  # home, working directory, environment
    key: str
    form: KeyForm
    typed: bool = False  # whether an entry names its transport in `type`
    shared: bool = False  # a file of the project, which is usually committed


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
    place = PLACES[client]
    given = Given(http, key, key_in_file or place.form is KeyForm.LITERAL, mutation)
    entry = _entry(place, client, given)
    path = place.path(expanded("~"), Path.cwd(), os.environ)
    document = {place.key: {NAME: entry}} | ({"inputs": [PROMPT]} if _prompts(place, given) else {})
    text = _toml(entry) if client is Client.CODEX else json.dumps(document, indent=2) + "\n"
    notes = _notes(place, given, path)
    backup = None
    if write:
        for note in notes:
            say(note)
        backup = (
            _merge_toml(path, entry)
            if client is Client.CODEX
            else _merge_json(path, place.key, entry, _prompts(place, given))
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


def _prompts(place: Place, given: Given) -> bool:
    """Whether the client is to ask for the key."""
    return given.key is not None and place.form is KeyForm.PROMPT and not given.key_in_file


def _notes(place: Place, given: Given, path: Path) -> list[str]:
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


def _entry(place: Place, client: Client, given: Given) -> dict[str, Any]:
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


def _http_entry(place: Place, client: Client, given: Given, address: str) -> dict[str, Any]:
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


def _reference(place: Place, key: str, given: Given) -> str:
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


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8") if path.exists() else ""
    except UnicodeDecodeError:
        raise _unsafe(path, "it is not UTF-8 text") from None


def _merge_json(path: Path, key: str, entry: Mapping[str, Any], prompt: bool) -> Path | None:
    text = _read(path)
    try:
        document = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as broken:
        raise _unsafe(
            path,
            f"it is not plain JSON (line {broken.lineno}: {broken.msg}); comments cannot be kept",
        ) from None
    if not isinstance(document, dict) or not isinstance(document.setdefault(key, {}), dict):
        raise _unsafe(path, f"`{key}` is not an object there")
    document[key][NAME] = dict(entry)
    if prompt:
        inputs = document.setdefault("inputs", [])
        if not isinstance(inputs, list):
            raise _unsafe(path, "`inputs` is not a list there")
        document["inputs"] = [
            each
            for each in inputs
            if not (isinstance(each, dict) and each.get("id") == PROMPT["id"])
        ] + [PROMPT]
    return _replace(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _merge_toml(path: Path, entry: Mapping[str, Any]) -> Path | None:
    """Replace or append our own tables; every other byte of the file stays."""
    text = _read(path)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        raise _unsafe(path, f"it is not TOML ({broken})") from None
    ours = re.compile(
        rf"^\[mcp_servers\.(?:{NAME}|\"{NAME}\")(?:\.[^\]]+)?\][^\n]*\n(?:(?!^\[)[^\n]*\n?)*",
        re.MULTILINE,
    )
    kept = ours.sub("", text).rstrip("\n")
    made = f"{kept}\n\n{_toml(entry)}".lstrip("\n")
    after = tomllib.loads(made)
    if _others(after) != _others(before):
        raise _unsafe(path, "merging would change other settings")
    return _replace(path, made)


def _others(document: dict[str, Any]) -> dict[str, Any]:
    servers = {
        name: value for name, value in document.get("mcp_servers", {}).items() if name != NAME
    }
    return {
        **{key: value for key, value in document.items() if key != "mcp_servers"},
        "mcp_servers": servers,
    }


def _toml(entry: Mapping[str, Any]) -> str:
    lines, tables = [f"[mcp_servers.{NAME}]"], []
    for name, value in entry.items():
        if isinstance(value, Mapping):
            tables += [
                "",
                f"[mcp_servers.{NAME}.{name}]",
                *(f"{k} = {json.dumps(v)}" for k, v in value.items()),
            ]
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _replace(path: Path, text: str) -> Path | None:
    """Write atomically; return where the old file was kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    mode = 0o600
    target = path.resolve()  # a dotfile that is a link stays one
    if target.exists():
        stamp = re.sub(r"[^0-9]", "", iso(utc_now()))
        backup = path.with_name(f"{path.name}.{stamp}.bak")
        shutil.copy2(target, backup)
        mode = target.stat().st_mode & 0o777
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.write_text(text, "utf-8")
    temporary.chmod(mode)
    temporary.replace(target)
    return backup


def _unsafe(path: Path, why: str) -> CommonplaceError:
    return CommonplaceError(
        CLIENT_CONFIG,
        f"{path} was not changed: {why}.",
        hint="Run without --write and paste the entry yourself.",
    )


def _desktop(home: Path, cwd: Path, environ: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    if sys.platform == "win32":
        return (
            Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
            / "Claude"
            / "claude_desktop_config.json"
        )
    return (
        Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        / "Claude"
        / "claude_desktop_config.json"
    )


# What each client reads, by its documentation in November 2026: code.claude.com/docs/en/mcp,
# support.claude.com (custom connectors),
# cursor.com/docs/mcp, code.visualstudio.com (MCP configuration reference), the MCP page of the
# Codex documentation.
PLACES: dict[Client, Place] = {
    Client.CLAUDE_CODE: Place(
        lambda home, cwd, environ: cwd / ".mcp.json",
        "mcpServers",
        KeyForm.SHELL,
        typed=True,
        shared=True,
    ),
    Client.CLAUDE_DESKTOP: Place(_desktop, "mcpServers", KeyForm.LITERAL),
    Client.CURSOR: Place(
        lambda home, cwd, environ: home / ".cursor" / "mcp.json", "mcpServers", KeyForm.CURSOR
    ),
    Client.VSCODE: Place(
        lambda home, cwd, environ: cwd / ".vscode" / "mcp.json",
        "servers",
        KeyForm.PROMPT,
        typed=True,
        shared=True,
    ),
    Client.CODEX: Place(
        lambda home, cwd, environ: (
            Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
        ),
        "mcp_servers",
        KeyForm.NAMED,
    ),
}
