"""The options of `commonplace connect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WriteOption = Annotated[
    bool,
    typer.Option(
        "--write", help="Merge it into the client's file; a copy of the old file is kept."
    ),
]
HooksOption = Annotated[
    bool,
    typer.Option(
        "--hooks",
        help="Write the entry, and hooks that bring context and rules without being asked for.",
    ),
]
RemoveOption = Annotated[
    bool, typer.Option("--remove", help="Take back all that this command wrote.")
]
PluginOption = Annotated[
    Path | None,
    typer.Option("--plugin", metavar="DIR", help="Write a plugin for Claude Code into a folder."),
]
LinkOption = Annotated[bool, typer.Option("--link", help="Print a link that adds it.")]
HttpOption = Annotated[
    str | None,
    typer.Option(
        "--http", metavar="URL", help="Connect to a running server instead of starting one."
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option("--key", help="Key to call with; the file refers to it and does not hold it."),
]
KeyInFileOption = Annotated[
    bool, typer.Option("--key-in-file", help="Put the key itself into the file.")
]
MutationOption = Annotated[
    bool, typer.Option("--mutation", help="Let this client change the instruction catalogue.")
]
AttachOption = Annotated[
    bool, typer.Option("--attach", help="Share the local server of the data folder with others.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print what --hooks would write, and write nothing.")
]
