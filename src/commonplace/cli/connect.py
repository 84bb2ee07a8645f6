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
from commonplace.edge.authenticate import KEY_VARIABLE
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, Code, CommonplaceError, Kind
from commonplace.kernel.home import expanded

NAME = "commonplace"
CLIENT_CONFIG = Code("CLIENT_CONFIG_UNREADABLE", Kind.INVALID_DATA, "A client's configuration file cannot be merged safely.")


class Client(StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client keeps its servers, and under which key."""

    path: Callable[[Path, Path, Mapping[str, str]], Path]  # home, working directory, environment
    key: str
    typed: bool = False  # whether an entry names its transport in `type`


def connect(
    client: Annotated[Client, typer.Argument(help="Your MCP client.")],
    write: Annotated[bool, typer.Option("--write", help="Merge it into the client's file; a copy of the old file is kept.")] = False,
    http: Annotated[str | None, typer.Option("--http", metavar="URL", help="Connect to a running server instead of starting one.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Key to call with, put into the file as it is.")] = None,
    mutation: Annotated[bool, typer.Option("--mutation", help="Let this client change the instruction catalogue.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print what a client needs to start this server, or write it.

    Examples:
      commonplace connect claude-code
      commonplace connect cursor --write
      commonplace connect vscode --http http://127.0.0.1:8787/mcp --key cp_...
    """
    place = PLACES[client]
    entry = _entry(place, client, http, key, mutation)
    path = place.path(expanded("~"), Path.cwd(), os.environ)
    text = _toml(entry) if client is Client.CODEX else json.dumps({place.key: {NAME: entry}}, indent=2) + "\n"
    backup = None
    if write:
        backup = _merge_toml(path, entry) if client is Client.CODEX else _merge_json(path, place.key, entry)
    if as_json:
        kept = str(backup) if backup else None
        print_json({"client": client.value, "path": str(path), "entry": entry, "written": write, "backup": kept})
        return
    if write:
        say(f"wrote {path}" + (f" (the old file is {backup})" if backup else ""))
        say("Restart the client, or reload its MCP servers.")
    else:
        typer.echo(text, nl=False)
        say(f"This goes into {path}; --write merges it there.")


def _entry(place: Place, client: Client, http: str | None, key: str | None, mutation: bool) -> dict[str, Any]:
    if http is not None:
        if mutation:
            hint = "Start that server with MCP_ENABLE_MUTATION=1 instead."
            raise CommonplaceError(INVALID_ARGUMENT, "--mutation cannot open the catalogue of a server that runs elsewhere.", hint=hint)
        url = _endpoint(http)
        entry: dict[str, Any] = {"url": url} if client in (Client.CURSOR, Client.CODEX) else {"type": "http", "url": url}
        if key:
            name = "http_headers" if client is Client.CODEX else "headers"
            entry[name] = {"Authorization": f"Bearer {key}"}
        return entry
    entry = {"type": "stdio"} if place.typed else {}
    entry |= {"command": str(executable().absolute()), "args": ["serve", *_same_state()]}
    variables = {"MCP_ENABLE_MUTATION": "1"} if mutation else {}
    if key:
        variables[KEY_VARIABLE] = key
    return entry | ({"env": variables} if variables else {})


def _endpoint(url: str) -> str:
    """The address as a client needs it: that of a server alone leads to its /mcp."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CommonplaceError(INVALID_ARGUMENT, f"{url!r} is no address.", hint="For example http://127.0.0.1:8787/mcp.")
    return urlunsplit(parts._replace(path="/mcp")) if parts.path in ("", "/") else url


def _same_state() -> list[str]:
    """Flags that lead a server started elsewhere, with another environment, to what this command sees."""
    run = session()
    config = run.config()
    flags = []
    if config.file is not None and (run.config_file is not None or config.file.parent == Path.cwd()):
        flags += ["--config", str(config.file)]
    if config.sources["data"] != "default":
        flags += ["--data", str(config.settings.data)]
    return flags


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8") if path.exists() else ""
    except UnicodeDecodeError:
        raise _unsafe(path, "it is not UTF-8 text") from None


def _merge_json(path: Path, key: str, entry: Mapping[str, Any]) -> Path | None:
    text = _read(path)
    try:
        document = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as broken:
        raise _unsafe(path, f"it is not plain JSON (line {broken.lineno}: {broken.msg}); comments cannot be kept") from None
    if not isinstance(document, dict) or not isinstance(document.setdefault(key, {}), dict):
        raise _unsafe(path, f"`{key}` is not an object there")
    document[key][NAME] = dict(entry)
    return _replace(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _merge_toml(path: Path, entry: Mapping[str, Any]) -> Path | None:
    """Replace or append our own tables; every other byte of the file stays."""
    text = _read(path)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        raise _unsafe(path, f"it is not TOML ({broken})") from None
    ours = re.compile(rf"^\[mcp_servers\.(?:{NAME}|\"{NAME}\")(?:\.[^\]]+)?\][^\n]*\n(?:(?!^\[)[^\n]*\n?)*", re.MULTILINE)
    kept = ours.sub("", text).rstrip("\n")
    made = f"{kept}\n\n{_toml(entry)}".lstrip("\n")
    after = tomllib.loads(made)
    if _others(after) != _others(before):
        raise _unsafe(path, "merging would change other settings")
    return _replace(path, made)


def _others(document: dict[str, Any]) -> dict[str, Any]:
    servers = {name: value for name, value in document.get("mcp_servers", {}).items() if name != NAME}
    return {**{key: value for key, value in document.items() if key != "mcp_servers"}, "mcp_servers": servers}


def _toml(entry: Mapping[str, Any]) -> str:
    lines, tables = [f"[mcp_servers.{NAME}]"], []
    for name, value in entry.items():
        if isinstance(value, Mapping):
            tables += ["", f"[mcp_servers.{NAME}.{name}]", *(f"{k} = {json.dumps(v)}" for k, v in value.items())]
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
    return CommonplaceError(CLIENT_CONFIG, f"{path} was not changed: {why}.", hint="Run without --write and paste the entry yourself.")


def _desktop(home: Path, cwd: Path, environ: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming") / "Claude" / "claude_desktop_config.json"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "Claude" / "claude_desktop_config.json"


PLACES: dict[Client, Place] = {
    Client.CLAUDE_CODE: Place(lambda home, cwd, environ: cwd / ".mcp.json", "mcpServers", typed=True),
    Client.CLAUDE_DESKTOP: Place(_desktop, "mcpServers"),
    Client.CURSOR: Place(lambda home, cwd, environ: home / ".cursor" / "mcp.json", "mcpServers"),
    Client.VSCODE: Place(lambda home, cwd, environ: cwd / ".vscode" / "mcp.json", "servers", typed=True),
    Client.CODEX: Place(lambda home, cwd, environ: Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml", "mcp_servers"),
}
