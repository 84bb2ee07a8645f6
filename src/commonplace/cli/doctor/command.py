"""`commonplace doctor`: check everything and say how to repair what is wrong."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from commonplace.cli.doctor.examination import examine
from commonplace.cli.doctor.hidden import scan
from commonplace.cli.printing import JsonFlag, out, print_json, table
from commonplace.cli.session import session
from commonplace.cli.wording import as_typed
from commonplace.kernel.hidden_characters import summarize

STYLE = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "bold red"}


def doctor(
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden",
            help="Only list every stored text with hidden characters.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check configuration, data folder, audit trail, keys, toolsets, extras and stored text.

    Exit code 1 if a check fails.

    Examples:
      commonplace doctor
      commonplace doctor --json
      commonplace doctor --hidden
    """
    if hidden:
        _list_hidden(as_json)
        return
    checks = list(examine())
    failed = any(check.status == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        rows = [
            (
                Text(c.status, STYLE[c.status]),
                c.name,
                as_typed(f"{c.finding}{f'  ->  {c.fix}' if c.fix else ''}"),
            )
            for c in checks
        ]
        out.print(table(("", "check", "finding"), rows))
    if failed:
        raise typer.Exit(1)


def _list_hidden(as_json: bool) -> None:
    found = scan(session().app().services, None)
    if as_json:
        print_json({"texts_read": found.read, "hidden": [text.as_dict() for text in found.found]})
    elif found.found:
        out.print(
            table(
                ("where", "hidden characters"),
                [(text.where, summarize(text.counted)) for text in found.found],
            )
        )
    else:
        out.print(found.finding)
