"""`commonplace shim`: install the drop-in commands rekall and oastools."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.dropin.translation import Command
from commonplace.cli.printing import JsonFlag, out, print_json, say
from commonplace.cli.program import executable
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.kernel.paths import expand_home

SHADOWS = Code(
    "COMMAND_EXISTS",
    Kind.CONFLICT,
    "A command with that name exists and was not installed by commonplace.",
)
MARK = "# made by: commonplace shim install"

app = typer.Typer(help="Drop-in commands: rekall and oastools.", no_args_is_help=True)


@app.callback()
def shim() -> None:
    """Drop-in commands: rekall and oastools."""


@app.command()
def install(
    command: Annotated[Command, typer.Argument(help="Which command to write.")],
    into: Annotated[
        Path | None,
        typer.Option("--into", help="Folder on PATH (default: beside the commonplace command)."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Install a drop-in command. Never replaces or shadows another program.

    Examples:
      commonplace shim install rekall && rekall mcp-server
      commonplace shim install oastools --into ~/.local/bin
    """
    folder = expand_home(into or executable().parent).absolute()
    target = folder / command.value
    _refuse_to_shadow(command.value, target)
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text(
        f"#!/bin/sh\n{MARK}\nexec {shlex.quote(str(executable().absolute()))} shim run "
        f'{command.value} "$@"\n',
        "utf-8",
    )
    target.chmod(0o755)
    if as_json:
        print_json({"command": command.value, "path": str(target)})
        return
    out.print(f"wrote {target}")
    if str(folder) not in os.environ.get("PATH", "").split(os.pathsep):
        say(f"{folder} is not on your PATH.")


def _refuse_to_shadow(name: str, target: Path) -> None:
    for found in filter(None, (str(target) if target.exists() else None, shutil.which(name))):
        try:
            ours = MARK in Path(found).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            ours = False
        if not ours:
            raise CommonplaceError(
                SHADOWS,
                f"{found} exists and was not installed by commonplace.",
                hint="Remove it first, or choose another folder with --into.",
            )
