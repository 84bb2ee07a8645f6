"""All commands but `serve`, assembled: ours here, each domain's from its own module."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from commonplace import __version__
from commonplace.cli import (
    audit,
    backup,
    call,
    completion,
    config,
    connect,
    console,
    doctor,
    instructions,
    keys,
    migrate,
    shim,
    tenants,
    worker,
)
from commonplace.cli.printing import fit
from commonplace.cli.serve import SUMMARY, serve
from commonplace.cli.session import begin, fail, session
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk import unusable

DOMAINS = (("instructions", "instructions"), ("files", "files"), ("memory", "memory"), ("oas", "openapi"), ("models", "models"))
EPILOG = (
    "Exit codes: 0 done, 1 a check found something, 2 wrong arguments or configuration, 3 not found, 4 not allowed, "
    "5 conflict, 6 over a limit, 7 not available now, 70 a defect of ours, 130 interrupted."
)

app = typer.Typer(
    name="commonplace",
    help="Rules, files, lessons and API descriptions for coding agents, behind one MCP server.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"commonplace {__version__}")
        raise typer.Exit


@app.callback()
def root(
    config_file: Annotated[Path | None, typer.Option("--config", help="Configuration file.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Folder of all state.")] = None,
    version: Annotated[bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    begin(config_file, data)


@app.command("serve", help=SUMMARY, add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def serve_command(context: typer.Context) -> None:
    here = session()
    before = [f"--{name}={value}" for name, value in (("config", here.config_file), ("data", here.data)) if value is not None]
    raise typer.Exit(serve([*before, *context.args]))


app.command("call")(call.call)
app.command("tools")(call.tools)
app.command("doctor")(doctor.doctor)
app.command("connect")(connect.connect)
app.command("console")(console.console)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("migrate")(migrate.migrate)
app.command("worker")(worker.worker)
app.command("completion")(completion.completion)
app.add_typer(config.app, name="config")
app.add_typer(keys.app, name="keys")
app.add_typer(tenants.app, name="tenants")
app.add_typer(audit.app, name="audit")
app.add_typer(shim.app, name="shim")


def _add_domains() -> None:
    for name, module in DOMAINS:
        if find_spec(f"commonplace.cli.{module}") is not None:
            app.add_typer(import_module(f"commonplace.cli.{module}").app, name=name)


_add_domains()
app.command("init")(instructions.init)


def run(arguments: Sequence[str], prog_name: str = "commonplace") -> int:
    """Run a command line to its exit code."""
    completion.prepare()
    fit()
    try:
        try:
            code = _exit_code(arguments, prog_name)
        finally:
            session().close()
        sys.stdout.flush()  # a full disk behind a redirection is known only now
        return code
    except CommonplaceError as error:
        return fail(error)
    except BrokenPipeError:
        _give_up_output()
        return 1
    except OSError as error:
        _give_up_output()
        return fail(unusable(error))
    except KeyboardInterrupt:
        return 130


def _exit_code(arguments: Sequence[str], prog_name: str) -> int:
    try:
        typer.main.get_command(app).main(args=list(arguments), prog_name=prog_name)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    return 0


def _give_up_output() -> None:
    """Python writes what is left when it ends, and would complain once more about an output that takes nothing."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):  # one that stands for another thing, in a test, has no descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
