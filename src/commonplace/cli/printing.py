"""How commands print: tables for people, one JSON document for programs (`--json`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]

MAX_CELL = 40

out = Console(highlight=False, soft_wrap=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    sys.stdout.write(orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2).decode() + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, one_line: bool = False) -> Table:
    """Cells are text, never markup: they hold what others wrote. `one_line` cuts the last column instead of wrapping it."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    texts = [[cell if isinstance(cell, Text) else Text("" if cell is None else str(cell)) for cell in row] for row in rows]
    used = 0
    for number, column in enumerate(columns[:-1]):
        width = min(MAX_CELL, max([len(column), *(row[number].cell_len for row in texts)]))
        made.add_column(column, no_wrap=True, overflow="ellipsis", width=width)
        used += width + 2
    made.add_column(columns[-1], no_wrap=one_line, overflow="ellipsis" if one_line else "fold", max_width=max(20, out.width - used))
    for row in texts:
        made.add_row(*row)
    return made


def say(text: str) -> None:
    """A line for people, on stderr, so that stdout stays data."""
    err.print(Text(text))
