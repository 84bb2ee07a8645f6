"""The supported MCP clients: where each keeps its servers and how it spells an entry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from commonplace.kernel.json_types import Json


class Client(StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"
    COPILOT_CLI = "copilot-cli"
    GEMINI = "gemini"
    CLINE = "cline"
    DEVIN = "devin"
    KIRO = "kiro"
    JUNIE = "junie"
    JETBRAINS = "jetbrains"
    ZED = "zed"


class KeyForm(StrEnum):
    """How a client's file refers to a key without containing it."""

    SHELL = "${%s}"  # Claude Code, Gemini CLI, Kiro: command, args, env, url and headers
    CURSOR = "${env:%s}"  # the same fields
    PROMPT = "${input:%s}"  # VS Code asks once and keeps the answer safe
    NAMED = "%s"  # Codex takes names of variables: bearer_token_env_var, env_vars
    LITERAL = ""  # the others document no reference: values as they are


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the place of a client's file depends on."""

    home: Path
    cwd: Path
    environ: Mapping[str, str]

    def folder(self, variable: str, default: str) -> Path:
        """Return a folder that a variable may move."""
        return Path(self.environ.get(variable) or self.home / default)


@dataclass(frozen=True, slots=True)
class ClientFile:
    """The configuration file of a client, and its key for the list of servers.

    `types` names the transports of stdio and HTTP in the field `type`; `address` is the field of
    the address; `fields` are added to every entry. A client without `path` takes the entry in its
    settings dialog.
    """

    path: Callable[[Surroundings], Path] | None
    key: str
    form: KeyForm
    types: tuple[str, str] | None = None
    address: str | None = "url"  # None: it starts its servers itself
    fields: Mapping[str, Json] = field(default_factory=dict)
    shared: bool = False  # a file of the project, which is usually committed


def _desktop(around: Surroundings) -> Path:
    folder = around.folder("XDG_CONFIG_HOME", ".config")
    if sys.platform == "darwin":
        folder = around.home / "Library" / "Application Support"
    if sys.platform == "win32":
        folder = around.folder("APPDATA", "AppData/Roaming")
    return folder / "Claude" / "claude_desktop_config.json"


def _zed(around: Surroundings) -> Path:
    default = around.home / ".config"  # on macOS, too
    folder = default if sys.platform == "darwin" else around.folder("XDG_CONFIG_HOME", ".config")
    return folder / "zed" / "settings.json"


# Sources, read in November 2026, are on the page of each client in docs/clients.
CLIENT_FILES: dict[Client, ClientFile] = {
    Client.CLAUDE_CODE: ClientFile(
        lambda around: around.cwd / ".mcp.json",
        "mcpServers",
        KeyForm.SHELL,
        types=("stdio", "http"),
        shared=True,
    ),
    Client.CLAUDE_DESKTOP: ClientFile(_desktop, "mcpServers", KeyForm.LITERAL, address=None),
    Client.CURSOR: ClientFile(
        lambda around: around.home / ".cursor" / "mcp.json", "mcpServers", KeyForm.CURSOR
    ),
    Client.VSCODE: ClientFile(
        lambda around: around.cwd / ".vscode" / "mcp.json",
        "servers",
        KeyForm.PROMPT,
        types=("stdio", "http"),
        shared=True,
    ),
    Client.CODEX: ClientFile(
        lambda around: around.folder("CODEX_HOME", ".codex") / "config.toml",
        "mcp_servers",
        KeyForm.NAMED,
    ),
    Client.COPILOT_CLI: ClientFile(
        lambda around: around.folder("COPILOT_HOME", ".copilot") / "mcp-config.json",
        "mcpServers",
        KeyForm.LITERAL,
        types=("local", "http"),
        fields={"tools": ["*"]},
    ),
    Client.GEMINI: ClientFile(
        lambda around: around.cwd / ".gemini" / "settings.json",
        "mcpServers",
        KeyForm.SHELL,
        address="httpUrl",
        shared=True,
    ),
    Client.CLINE: ClientFile(
        lambda around: (
            around.folder("CLINE_DIR", ".cline") / "data" / "settings" / "cline_mcp_settings.json"
        ),
        "mcpServers",
        KeyForm.LITERAL,
        types=("stdio", "streamableHttp"),
    ),
    Client.DEVIN: ClientFile(
        lambda around: around.folder("XDG_CONFIG_HOME", ".config") / "devin" / "mcp_config.json",
        "mcpServers",
        KeyForm.LITERAL,
    ),
    Client.KIRO: ClientFile(
        lambda around: around.cwd / ".kiro" / "settings" / "mcp.json",
        "mcpServers",
        KeyForm.SHELL,
        shared=True,
    ),
    Client.JUNIE: ClientFile(
        lambda around: around.cwd / ".junie" / "mcp" / "mcp.json",
        "mcpServers",
        KeyForm.LITERAL,
        shared=True,
    ),
    Client.JETBRAINS: ClientFile(None, "mcpServers", KeyForm.LITERAL),
    Client.ZED: ClientFile(_zed, "context_servers", KeyForm.LITERAL),
}
