"""The command line.

Agents start `serve` often, so `serve` and `--help` run without importing Typer or Rich.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from commonplace.cli.streams import tolerate_stderr
from commonplace.kernel.platform import unsupported_platform

HELP_OPTIONS = frozenset({"-h", "--help"})
COMPLETION_VARIABLE = "_COMMONPLACE_COMPLETE"  # set by a shell that asks for completions


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code (docs/reference/commands.md lists them)."""
    tolerate_stderr()
    if (problem := unsupported_platform()) is not None:
        sys.stderr.write(f"{problem}\n")
        return 1
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        if argv is None and arguments[:1] == ["hook"]:
            os._exit(code)  # taking the interpreter down takes milliseconds that a client waits for
        return code
    except ModuleNotFoundError as error:
        return _report_missing_module(error)


def _run(arguments: list[str]) -> int:
    if arguments[:2] == ["shim", "run"]:
        return _drop_in(arguments[2:])
    if arguments[:1] == ["serve"]:
        from commonplace.cli.serve import serve

        return serve(arguments[1:])
    if arguments[:1] == ["hook"] and not HELP_OPTIONS & set(arguments):
        from commonplace.cli.hooks.entry import run_hook

        return run_hook(arguments[1:])
    if arguments in (["--version"], ["-V"]):
        from commonplace import __version__

        sys.stdout.write(f"commonplace {__version__}\n")
        return 0
    if arguments in ([], ["--help"], ["-h"]) and COMPLETION_VARIABLE not in os.environ:
        return _overview(bool(arguments))
    from commonplace.cli.commands import run

    return run(arguments)


def _report_missing_module(error: ModuleNotFoundError) -> int:
    """Say which extra is not installed."""
    from commonplace.cli.serve import report
    from commonplace.kernel.config.extras import explain_missing_module

    explained = explain_missing_module(error)
    if explained is None:
        raise error
    return report(explained)


def _overview(asked: bool) -> int:
    """Print the commands; exit code 2 unless help was requested."""
    from commonplace.cli.overview import print_overview

    print_overview()
    return 0 if asked else 2


def _drop_in(arguments: list[str]) -> int:
    """Run a drop-in command: the scripts of `shim install` call `shim run rekall ...`."""
    from commonplace.cli.dropin.translation import Command, print_rekall_help, translate
    from commonplace.kernel.errors import CommonplaceError

    try:
        command, rest = Command(arguments[0]), arguments[1:]
        ours = translate(command, rest)
        if ours is not None:
            return main(ours)
        if command is Command.OASTOOLS:
            from commonplace.cli.dropin.oastools import run as run_oastools

            return run_oastools(rest)
        return print_rekall_help(rest)
    except (IndexError, ValueError):
        sys.stderr.write(f"error: shim run takes one of {', '.join(Command)} and its arguments\n")
        return 2
    except CommonplaceError as error:
        from commonplace.cli.serve import report

        return report(error)
