"""The command line. `serve` is started by every agent, so it has a way of its own that imports neither Typer nor Rich."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code (docs/reference/commands.md lists them)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["serve"]:
        from commonplace.cli.serve import serve

        return serve(arguments[1:])
    if arguments in (["--version"], ["-V"]):
        from commonplace import __version__

        sys.stdout.write(f"commonplace {__version__}\n")
        return 0
    from commonplace.cli.commands import run

    return run(arguments)
