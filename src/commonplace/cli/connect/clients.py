"""The supported MCP clients: where each keeps its servers and how it refers to a key."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Client(StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"


class KeyForm(StrEnum):
    """How a client's file refers to a key without containing it."""

    SHELL = "${%s}"  # Claude Code: command, args, env, url and headers
    CURSOR = "${env:%s}"  # the same fields
    PROMPT = "${input:%s}"  # VS Code asks once and keeps the answer safe
    NAMED = "%s"  # Codex takes names of variables: bearer_token_env_var, env_vars
    LITERAL = ""  # Claude Desktop: values as they are


@dataclass(frozen=True, slots=True)
class ClientFile:
    """The configuration file of a client, and its key for the list of servers."""

    path: Callable[[Path, Path, Mapping[str, str]], Path]  # home, working directory, environment
    key: str
    form: KeyForm
    typed: bool = False  # whether an entry names its transport in `type`
    shared: bool = False  # a file of the project, which is usually committed


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


# Sources, read in November 2026: code.claude.com/docs/en/mcp, support.claude.com (custom
# connectors), cursor.com/docs/mcp, code.visualstudio.com (MCP configuration reference), the MCP
# page of the Codex documentation.
CLIENT_FILES: dict[Client, ClientFile] = {
    Client.CLAUDE_CODE: ClientFile(
        lambda home, cwd, environ: cwd / ".mcp.json",
        "mcpServers",
        KeyForm.SHELL,
        typed=True,
        shared=True,
    ),
    Client.CLAUDE_DESKTOP: ClientFile(_desktop, "mcpServers", KeyForm.LITERAL),
    Client.CURSOR: ClientFile(
        lambda home, cwd, environ: home / ".cursor" / "mcp.json", "mcpServers", KeyForm.CURSOR
    ),
    Client.VSCODE: ClientFile(
        lambda home, cwd, environ: cwd / ".vscode" / "mcp.json",
        "servers",
        KeyForm.PROMPT,
        typed=True,
        shared=True,
    ),
    Client.CODEX: ClientFile(
        lambda home, cwd, environ: (
            Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
        ),
        "mcp_servers",
        KeyForm.NAMED,
    ),
}
