"""`commonplace shim`: the commands of Rekall and oastools, answered by this program."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.doctor import executable
from commonplace.cli.printing import JsonFlag, out, print_json, say
from commonplace.kernel.errors import INVALID_ARGUMENT, Code, CommonplaceError, Kind

SHADOWS = Code("COMMAND_EXISTS", Kind.CONFLICT, "A command of that name is there already and is not ours.")
MARK = "# made by: commonplace shim install"

app = typer.Typer(help="Drop-in commands: rekall and oastools.", no_args_is_help=True)


class Command(StrEnum):
    REKALL = "rekall"
    OASTOOLS = "oastools"


@app.command()
def install(
    command: Annotated[Command, typer.Argument(help="Which command to write.")],
    into: Annotated[Path | None, typer.Option("--into", help="Folder on PATH (default: beside the commonplace command).")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the command. Refuses to replace or shadow one that is not ours.

    Examples:
      commonplace shim install rekall && rekall mcp-server
      commonplace shim install oastools --into ~/.local/bin
    """
    folder = (into or executable().parent).expanduser().absolute()
    target = folder / command.value
    _refuse_to_shadow(command.value, target)
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text(f'#!/bin/sh\n{MARK}\nexec {shlex.quote(str(executable().absolute()))} shim run {command.value} -- "$@"\n', "utf-8")
    target.chmod(0o755)
    if as_json:
        print_json({"command": command.value, "path": str(target)})
        return
    out.print(f"wrote {target}")
    if str(folder) not in os.environ.get("PATH", "").split(os.pathsep):
        say(f"{folder} is not on your PATH.")


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def run(
    command: Annotated[Command, typer.Argument(help="Whose command line this is.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
) -> None:
    """Answer a command line of Rekall or oastools (what the written commands call)."""
    from commonplace.cli import main

    sys.exit(main(translate(command, arguments or [])))


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


def _refuse_to_shadow(name: str, target: Path) -> None:
    for found in filter(None, (str(target) if target.exists() else None, shutil.which(name))):
        try:
            ours = MARK in Path(found).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            ours = False
        if not ours:
            raise CommonplaceError(SHADOWS, f"{found} is there already.", hint="Remove it first, or choose another folder with --into.")
