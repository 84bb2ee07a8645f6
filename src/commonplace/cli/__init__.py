"""The command line. `serve` is started by every agent, so it has a way of its own that imports neither Typer nor Rich."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code (docs/reference/commands.md lists them)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:2] == ["shim", "run"]:
        return _drop_in(arguments[2:])
    if arguments[:1] == ["serve"]:
        from commonplace.cli.serve import serve

        return serve(arguments[1:])
    if arguments in (["--version"], ["-V"]):
        from commonplace import __version__

        sys.stdout.write(f"commonplace {__version__}\n")
        return 0
    from commonplace.cli.commands import run

    return run(arguments)


def _drop_in(arguments: list[str]) -> int:
    """What the commands of `shim install` call: `shim run rekall mcp-server`."""
    from commonplace.cli.dropin import Command, translate
    from commonplace.kernel.errors import CommonplaceError

    try:
        return main(translate(Command(arguments[0]), arguments[1:]))
    except (IndexError, ValueError):
        sys.stderr.write(f"error: shim run takes one of {', '.join(Command)} and its arguments\n")
        return 2
    except CommonplaceError as error:
        from commonplace.cli.serve import report

        return report(error)
