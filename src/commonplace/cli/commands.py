"""The Typer application: global options, running a command line, exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

# Pydantic looks for plugins by reading the metadata of every installed package.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

import typer

from commonplace import __version__
from commonplace.cli import COMPLETION_VARIABLE
from commonplace.cli.groups import CommandGroup, lazily
from commonplace.cli.overview import COMMANDS, EPILOG, HELP
from commonplace.cli.program import NAME, find_program_name
from commonplace.cli.serve import SUMMARY, serve
from commonplace.cli.session import begin, fail, session
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.hidden_characters import reveal
from commonplace.storage.disk.access import unusable_path

app = typer.Typer(
    name="commonplace",
    help=HELP,
    epilog=EPILOG,
    cls=CommandGroup,
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
    config_file: Annotated[
        Path | None, typer.Option("--config", help="Configuration file.")
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Folder of all state.")] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    begin(config_file, data)


serve_command = typer.Typer(add_completion=False)


@serve_command.command(
    "serve",
    help=SUMMARY,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def serve_with_options(context: typer.Context) -> None:
    here = session()
    before = [
        f"--{name}={value}"
        for name, value in (("config", here.config_file), ("data", here.data))
        if value is not None
    ]
    raise typer.Exit(serve([*before, *context.args]))


def program() -> Any:
    """Return the root command; the others are imported when they are looked up."""
    root = typer.main.get_command(app)
    root.commands = lazily(COMMANDS)  # type: ignore[attr-defined]
    return root


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    _prepare_completion()
    if printing := sys.modules.get("commonplace.cli.printing"):
        printing.fit_width()  # stdout may have changed since the previous run in this process
    try:
        try:
            code = _exit_code(arguments)
        finally:
            session().close()
        sys.stdout.flush()  # a full disk behind a redirection shows only now
        return code
    except CommonplaceError as error:
        return fail(error)
    except BrokenPipeError:
        _give_up_output()
        return 1
    except OSError as error:
        _give_up_output()
        return fail(unusable_path(error))
    except KeyboardInterrupt:
        return 130


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        name = NAME if COMPLETION_VARIABLE in os.environ else find_program_name()
        code = program().main(args=list(arguments), prog_name=name, standalone_mode=False)
    except SystemExit as ended:
        code = ended.code
    except typer.Abort:
        from commonplace.cli.printing import say

        say("Aborted.")
        return 1
    except Exception as error:  # Typer bundles its own Click: no base class is public
        return _usage_error(error)
    return code if isinstance(code, int) else 0 if code is None else 1


def _usage_error(error: Exception) -> int:
    """Print a usage error of Typer and return its exit code; raise any other error again.

    The message quotes arguments, so hidden characters in it are made visible.
    """
    from typer.rich_utils import rich_format_error

    exit_code, message = getattr(error, "exit_code", None), getattr(error, "message", None)
    if not isinstance(exit_code, int) or not isinstance(message, str):
        raise error
    error.message = reveal(message)  # type: ignore[attr-defined]
    rich_format_error(error)  # type: ignore[arg-type]
    return exit_code


def _prepare_completion() -> None:
    if COMPLETION_VARIABLE in os.environ:
        from commonplace.cli.completion import prepare

        prepare()


def _give_up_output() -> None:
    """Send stdout to the null device, so that Python does not fail on it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        # A stream that a test put in place has no descriptor.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
