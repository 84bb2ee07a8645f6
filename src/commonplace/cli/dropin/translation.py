"""Translate command lines of Rekall and oastools to ours.

Agents start servers this way too, so imports stay light.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError


class Command(StrEnum):
    REKALL = "rekall"
    OASTOOLS = "oastools"


def translate(command: Command, arguments: Sequence[str]) -> list[str] | None:
    """Return our command line for one of the other program, or None if it needs special care."""
    first, rest = (arguments[0], list(arguments[1:])) if arguments else ("--help", [])
    if first in ("--version", "-V", "-v", "version"):
        return ["--version"]
    if (command, first) == (Command.REKALL, "mcp-server"):
        return ["serve", "--profile", "rekall", *_port(rest)]
    if (command, first) == (Command.OASTOOLS, "mcp"):
        return ["serve", "--profile", "oastools", *rest]
    asks_for_help = not arguments or bool({"--help", "-h"} & set(arguments))
    return ["memory", first, *rest] if command is Command.REKALL and not asks_for_help else None


def print_rekall_help(arguments: Sequence[str]) -> int:
    """Print the help of the memory commands under the name `rekall`, with `mcp-server`."""
    import contextlib
    import io
    import sys

    from commonplace.cli.commands import run
    from commonplace.cli.memory import app
    from commonplace.cli.program import find_program_name

    app.command(
        "mcp-server", help="Serve the memory to agents: standard input and output, or --port N."
    )(_serve)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = run(["memory", *(arguments or ["--help"])])
    sys.stdout.write(
        text.getvalue()
        .replace(f"{find_program_name()} memory", "rekall")
        .replace("commonplace memory", "rekall")
    )
    return code


def _serve() -> None:
    """Placeholder that lists `mcp-server` in the help; it is never called."""


def _port(rest: list[str]) -> list[str]:
    """Replace `--port N` by Streamable HTTP on loopback."""
    translated: list[str] = []
    values = iter(rest)
    for value in values:
        name, _, given = value.partition("=")
        if name != "--port":
            translated.append(value)
            continue
        number = given or next(values, "")
        if not number.isdigit():
            raise CommonplaceError(INVALID_ARGUMENT, f"--port takes a number, not {number!r}.")
        translated += ["--http", f"127.0.0.1:{number}"]
    return translated
