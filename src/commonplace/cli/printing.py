"""Output of commands: tables for people, one JSON document for programs (`--json`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.highlighter import JSONHighlighter
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from commonplace.cli.terminal import write_json
from commonplace.cli.wording import as_typed
from commonplace.kernel.hidden_characters import reveal, reveal_json

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of a table.")
]

GAP = 2
UNBOUNDED = 100_000  # columns of a pipe or a file


class _Revealed:
    """A renderable with its hidden characters made visible.

    Rich's own escape sequences are control segments and styles, so they pass.
    """

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._inner, options):
            yield segment if segment.control else segment._replace(text=reveal(segment.text))


class _RevealHook(RenderHook):
    """Reveal hidden characters in everything a console prints, trees and progress bars too."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Revealed(item) for item in renderables]


def _console(stderr: bool) -> Console:
    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if made.is_terminal:
        made.push_render_hook(_RevealHook())
    return made


out = _console(stderr=False)
err = _console(stderr=True)


def fit_width() -> None:
    """Do not cut or wrap lines for a pipe or a file, unless COLUMNS gives a width."""
    if "COLUMNS" not in os.environ:
        for console in (out, err):
            if not console.is_terminal:
                console.width = UNBOUNDED


fit_width()


def print_json(value: Any) -> None:
    write_json(orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2).decode() + "\n")


def print_coloured_json(value: Any) -> None:
    """Print JSON, in colours on a terminal."""
    text = orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2).decode()
    out.print(
        JSONHighlighter()(Text(reveal_json(text) if out.is_terminal else text)), soft_wrap=True
    )


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, one_line: bool = False
) -> TextTable:
    """Make a table whose cells are plain text, never markup.

    `one_line` cuts what does not fit instead of wrapping it.
    """
    texts = [
        [
            cell if isinstance(cell, Text) else plain_text("" if cell is None else str(cell))
            for cell in row
        ]
        for row in rows
    ]
    return TextTable([Text(column, "bold") for column in columns], texts, one_line)


def plain_text(value: str, style: str = "") -> Text:
    """Return user content as text, with hidden characters made visible on a terminal.

    This happens before layout, so that columns keep their width.
    """
    return Text(reveal(value) if out.is_terminal else value, style)


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table that fits its columns to the width of the output.

    The first column, which identifies the row, and short columns are kept whole.
    """

    columns: list[Text]
    rows: list[list[Text]]
    one_line: bool

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        every = [self.columns, *self.rows]
        widths = [
            max(line.cell_len for row in every for line in row[n].split(allow_blank=True))
            for n in range(len(self.columns))
        ]
        room = options.max_width - GAP * (len(widths) - 1)
        if sum(widths) <= room and not any("\n" in cell.plain for row in every for cell in row):
            yield from (_join_cells(row, widths) for row in every)
            return
        made = Table(box=None, pad_edge=False)
        for column, width in zip(self.columns, _fit_widths(widths, room), strict=True):
            made.add_column(
                column,
                width=width,
                no_wrap=self.one_line,
                overflow="ellipsis" if self.one_line else "fold",
            )
        for row in self.rows:
            made.add_row(*row)
        yield made


def _join_cells(row: list[Text], widths: list[int]) -> Text:
    """Join the cells of a row to a line without trailing blanks."""
    line = Text()
    for cell, width in zip(row, widths, strict=True):
        line.append_text(cell).append(" " * (width - cell.cell_len + GAP))
    line.rstrip()
    return line


def _fit_widths(widths: list[int], room: int) -> list[int]:
    """Shrink column widths: the first to at most two thirds, then the widest of the others."""
    first, *others = widths
    first = max(1, min(first, room * 2 // 3 if others else room))
    left = max(len(others), room - first)
    cap = max(others, default=0)
    while sum(min(width, cap) for width in others) > left:
        cap -= 1
    return [first, *(min(width, max(1, cap)) for width in others)]


def say(text: str) -> None:
    """Print a line for people to stderr, so that stdout stays data."""
    err.print(Text(as_typed(text)))
