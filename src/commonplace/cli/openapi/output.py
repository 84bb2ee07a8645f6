"""How a changed document is shown and written: a preview first, then the file."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from commonplace.cli.openapi.source import call
from commonplace.cli.printing import err, print_json, say
from commonplace.cli.terminal import write_text
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

PREVIEW_LINES = 200


_STYLES = {"+": "green", "-": "red", "@": "cyan"}


Output = Annotated[
    str | None, typer.Option("--output", "-o", help="Write the result to this file.")
]


Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]


Check = Annotated[
    bool, typer.Option("--check", help="Write nothing; exit code 1 if the file would change.")
]


def document_text(answer: JsonObject, output: str | None) -> str:
    """Return the document of an answer as JSON or YAML, by the name of the output file."""
    if "document" not in answer:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            answer.get("document_omitted", "There is no document."),
            hint="Use --output.",
        )
    from commonplace.openapi.engine.document.load import parse_text
    from commonplace.openapi.engine.render import format_for
    from commonplace.openapi.engine.yaml.emit import to_text

    text, wanted = str(answer["document"]), format_for(output)
    if wanted is None or (wanted == "json") == text.lstrip().startswith("{"):
        return text
    tree = parse_text(text)
    return to_text(tree.data, wanted, tree.numbers)


def current_text(target: Path) -> str | None:
    """Return the content of the output file, or None if there is none."""
    try:
        return target.read_text(errors="replace")
    except OSError:
        return None


def _preview(name: str, before: str, after: str) -> bool:
    """Print the change as a diff and tell whether there is one."""
    if before == after:
        return False
    lines = list(
        difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=2)
    )
    for line in lines[:PREVIEW_LINES]:
        err.print(Text(line, style=_STYLES.get(line[:1], "")), soft_wrap=True)
    if len(lines) > PREVIEW_LINES:
        say(f"... {len(lines) - PREVIEW_LINES} more lines")
    return True


def write_result(
    tool: str,
    arguments: JsonObject,
    answer: JsonObject,
    output: str | None,
    *,
    yes: bool,
    check: bool,
    as_json: bool,
) -> None:
    """Print the document, or preview the change of the output file and write it."""
    if check:
        if as_json:
            print_json(answer)
        raise typer.Exit(1 if _would_change(answer, output) else 0)
    if as_json:
        print_json(
            answer if not output else call(tool, {**arguments, "output": output, "overwrite": yes})
        )
        return
    if output is None:
        write_text(document_text(answer, None))
        return
    before = current_text(Path(output))
    if before is not None:
        if not _preview(output, before, document_text(answer, output)):
            say(f"{output} is up to date")
            return
        if not yes and sys.stdin.isatty() and not typer.confirm(f"Write {output}?", err=True):
            raise typer.Exit(1)
    asked = before is not None and (yes or sys.stdin.isatty())
    written = call(tool, {**arguments, "output": output, "overwrite": asked})
    say(f"wrote {written['written_to']}")


def _would_change(answer: JsonObject, output: str | None) -> bool:
    """Tell whether the output file, or without one the source, would change."""
    if output is not None:
        return document_text(answer, output) != current_text(Path(output))
    if "fix_count" in answer:
        return bool(answer["fix_count"])
    raise CommonplaceError(
        INVALID_ARGUMENT, "--check compares with a file.", hint="Name it with --output."
    )
