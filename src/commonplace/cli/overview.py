"""The list of commands: where each is implemented, and its line in `commonplace --help`.

Imports neither Typer nor Rich.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

HELP = "Rules, files, lessons and API descriptions for coding agents, behind one MCP server."
EPILOG = (
    "Exit codes: 0 done, 1 a check found something or data is damaged, 2 wrong arguments or "
    "configuration, 3 not found, 4 not allowed, 5 conflict, 6 over a limit, 7 not "
    "available now, 70 a defect in commonplace, 130 interrupted."
)
OPTIONS = (
    ("--config PATH", "Configuration file. Also accepted after the command."),
    ("--data PATH", "Folder of all state. Also accepted after the command."),
    ("-V, --version", "Print the version."),
    ("-h, --help", "Show this message and exit. Also accepted after every command."),
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A command or group: `attribute` of `commonplace.cli.MODULE`, imported when used."""

    name: str
    module: str
    attribute: str
    summary: str

    @property
    def is_group(self) -> bool:
        return self.attribute == "app"


COMMANDS = (
    Listed(
        "serve",
        "commands",
        "serve_command",
        "Serve MCP: on stdin and stdout, or over HTTP with --http.",
    ),
    Listed(
        "up",
        "local.commands",
        "up",
        "Start the local server that many clients share, or show it with --status.",
    ),
    Listed("down", "local.commands", "down", "Stop the local server."),
    Listed(
        "search",
        "finding",
        "search",
        "Search rules, lessons, files and operations of stored APIs at once.",
    ),
    Listed("open", "finding", "open_", "Print what references name."),
    Listed("call", "call", "call", "Run one tool as the local user."),
    Listed(
        "tools",
        "call",
        "tools",
        "Show the tools that a client sees, and what the listing costs in tokens.",
    ),
    Listed(
        "context",
        "context",
        "context",
        "Show what matters for a task: rules, lessons, passages of files, API operations.",
    ),
    Listed(
        "doctor",
        "doctor.command",
        "doctor",
        "Check configuration, data folder, audit trail, keys, toolsets, extras and stored text.",
    ),
    Listed(
        "connect",
        "connect.command",
        "connect",
        "Print the entry a client needs to start this server, or write it to the client's file.",
    ),
    Listed("hook", "hook", "hook", "Answer a hook of a client: its JSON on stdin."),
    Listed("console", "console", "console", "Serve the web console for a server elsewhere."),
    Listed("backup", "backup", "backup", "Write all canonical state into one archive."),
    Listed("restore", "backup", "restore", "Check an archive and put its state back."),
    Listed(
        "migrate",
        "migrate",
        "migrate",
        "Bring the schema of the database up to this version of commonplace.",
    ),
    Listed(
        "rebuild",
        "rebuild",
        "rebuild",
        "Rebuild damaged SQLite files from the data that cannot be derived, and reindex.",
    ),
    Listed("worker", "worker", "worker", "Index files until stopped (Ctrl-C, SIGTERM)."),
    Listed("completion", "completion", "completion", "Print the completion script of a shell."),
    Listed(
        "init",
        "instructions.transfer",
        "init",
        "Write a starter set of instructions, gates and prompt criteria.",
    ),
    Listed("config", "config", "app", "Show, check and write the configuration."),
    Listed("keys", "keys", "app", "Keys of callers: stored as hashes, shown once."),
    Listed("tenants", "tenants", "app", "Tenants: the owners of files and memory."),
    Listed("audit", "audit", "app", "Read and verify the audit trail."),
    Listed("shim", "dropin.shim", "app", "Drop-in commands: rekall and oastools."),
    Listed(
        "instructions",
        "instructions",
        "app",
        "Governed instructions: find, read, change and check them.",
    ),
    Listed("files", "files", "app", "Files: projects of text files with search."),
    Listed(
        "memory",
        "memory",
        "app",
        "Memory: bugs, patterns, decisions, pitfalls, configuration, references.",
    ),
    Listed(
        "capture",
        "capture",
        "app",
        "Capture: lessons and rules proposed from sessions, and the queue they wait in.",
    ),
    Listed(
        "oas", "openapi", "app", "OpenAPI: validate, query, compare and change API descriptions."
    ),
    Listed(
        "rules",
        "rules.command",
        "app",
        "Rule files of a repository: what clients load, import, export, sync and checks.",
    ),
    Listed("models", "models", "app", "Embedding models: install, use, list, check, remove."),
)


def print_overview() -> None:
    """Print the help of the program, fitted to the width of the terminal."""
    width = _width()
    blocks = ["Usage: commonplace [OPTIONS] COMMAND [ARGS]...", "\n".join(_wrap(HELP, width))]
    blocks.append("Options:\n" + _columns(OPTIONS, width))
    blocks.append(
        "Commands:\n"
        + _columns(tuple((command.name, command.summary) for command in COMMANDS), width)
    )
    blocks.append("\n".join(_wrap(EPILOG, width)))
    sys.stdout.write("\n\n".join(blocks) + "\n")


def _width() -> int:
    text = os.environ.get("COLUMNS", "")
    if text.isdigit() and int(text) > 0:
        return int(text)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 100


def _columns(rows: tuple[tuple[str, str], ...], width: int) -> str:
    first = max(len(name) for name, _ in rows)
    lines = []
    for name, text in rows:
        head, *rest = _wrap(text, max(20, width - first - 4))
        lines.append(f"  {name:<{first}}  {head}")
        lines += [" " * (first + 4) + line for line in rest]
    return "\n".join(lines)


def _wrap(text: str, width: int) -> list[str]:
    """Wrap text to lines of at most `width` characters.

    `textwrap` is not used because importing it takes longer than all of this.
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines
