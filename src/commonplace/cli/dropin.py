"""Command lines of Rekall and oastools as ours. Agents start servers this way too, so nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError


class Command(StrEnum):
    REKALL = "rekall"
    OASTOOLS = "oastools"


def translate(command: Command, arguments: Sequence[str]) -> list[str]:
    """The other program's command line as one of ours."""
    first, rest = (arguments[0], list(arguments[1:])) if arguments else ("--help", [])
    if first in ("--version", "-V", "version"):
        return ["--version"]
    domain = "memory" if command is Command.REKALL else "oas"
    if (command, first) == (Command.REKALL, "mcp-server"):
        return ["serve", "--profile", "rekall", *_port(rest)]
    if (command, first) == (Command.OASTOOLS, "mcp"):
        return ["serve", "--profile", "oastools", *rest]
    return [domain, first, *rest]


def _port(rest: list[str]) -> list[str]:
    """`--port N` is Streamable HTTP on loopback."""
    made: list[str] = []
    values = iter(rest)
    for value in values:
        name, _, given = value.partition("=")
        if name != "--port":
            made.append(value)
            continue
        number = given or next(values, "")
        if not number.isdigit():
            raise CommonplaceError(INVALID_ARGUMENT, f"--port takes a number, not {number!r}.")
        made += ["--http", f"127.0.0.1:{number}"]
    return made
