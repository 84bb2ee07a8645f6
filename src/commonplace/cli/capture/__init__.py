"""`commonplace capture`: propose lessons and rules from a session, and decide about them.

`commonplace capture FILE` is short for `commonplace capture read FILE`.
"""

from __future__ import annotations

import typer

from commonplace.cli.capture import queue, reading
from commonplace.cli.groups import ClickContext, CommandGroup

_VALUED = ("--data", "--config")


class CaptureGroup(CommandGroup):
    """A group whose first command is meant where none is named."""

    def parse_args(self, ctx: ClickContext, args: list[str]) -> list[str]:
        words = [
            word
            for before, word in zip(["", *args], args, strict=False)
            if not word.startswith("-") and before not in _VALUED
        ]
        is_named = bool(words) and words[0] in self.commands
        if not is_named and not {"-h", "--help"} & set(args):
            args = ["read", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=CaptureGroup,
    help="Capture: lessons and rules proposed from sessions, and the queue they wait in.",
)

app.command()(reading.read)
app.command("list")(queue.list_proposals)
app.command()(queue.show)
app.command()(queue.accept)
app.command()(queue.edit)
app.command()(queue.reject)
