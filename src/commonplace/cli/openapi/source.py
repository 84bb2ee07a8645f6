"""Shared parts of the `commonplace oas` commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from commonplace.cli.printing import err
from commonplace.cli.session import session
from commonplace.kernel.json_types import JsonObject

_STYLES = {"critical": "bold red", "error": "red", "warning": "yellow", "info": "dim"}
STORED = ("file:", "openapi:")
Source = Annotated[
    str,
    typer.Argument(
        help="A file, a URL, file:PROJECT/PATH for a stored file, or - for standard input."
    ),
]


def spec(source: str) -> dict[str, str]:
    """Convert a command-line argument to the `spec` argument of a tool."""
    if source == "-":
        return {"content": sys.stdin.buffer.read().decode("utf-8", "surrogateescape")}
    if source.startswith(("http://", "https://")):
        return {"url": source}
    return (
        {"ref": source}
        if source.startswith(STORED) and not Path(source).exists()
        else {"file": source}
    )


def call(tool: str, arguments: JsonObject) -> Any:
    """Call a tool, with a spinner on a terminal."""
    if not err.is_terminal:
        return session().call(tool, arguments)
    with err.status(f"{tool.removeprefix('oas_').replace('_', ' ')} ..."):
        return session().call(tool, arguments)


def mark(severity: str) -> Text:
    return Text(severity, style=_STYLES[severity])
