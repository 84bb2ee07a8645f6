"""Commands that compare entries with code and texts: verify, cite check; and `--here`."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.memory.access import run, service
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.memory.anchors import AnchorState, AnchorVerdict
    from commonplace.memory.model import Entry
    from commonplace.memory.results import AnchoredEntry, CheckedCitation
    from commonplace.memory.use_cases.verification import VerifiedFolder

Here = Annotated[
    list[str] | None,
    typer.Option(
        "--here",
        metavar="PATH[:LINES|:SYMBOL]",
        help="Code it speaks of, as it is in this checkout; several times for several places.",
    ),
]

OTHERS_SHOWN = 5  # names of other repositories

cite = typer.Typer(help="Citations of entries, such as [01HX123] Fix CORS Safari.")


def take_anchors(places: list[str]) -> list[JsonObject]:
    """Return the anchors of places in the checkout around, as the tools take them."""
    from commonplace.memory.tools.anchors import join_hash
    from commonplace.memory.use_cases.verification import take_from_checkout

    anchors = []
    for place in places:
        anchor = take_from_checkout(place, Path.cwd())
        record: JsonObject = {"repository": anchor.repository, "path": anchor.path}
        record |= {"symbol": anchor.symbol} if anchor.symbol else {}
        record |= {"lines": f"{anchor.lines[0]}-{anchor.lines[1]}"} if anchor.lines else {}
        anchors.append(record | {"hash": join_hash(anchor)})
    return anchors


def verify(
    repo: Annotated[Path, typer.Option("--repo", help="Checkout of the repository.")] = Path(),
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name in the anchors; default: of its origin or its folder."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Entries of an export instead of the stored ones."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List valid anchors too.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare the code that entries speak of with a checkout; exit code 1 if some is stale.

    Examples:
      commonplace memory verify --repo .
      commonplace memory verify --repo . --from memory.jsonl --json
    """
    from commonplace.memory.anchors import AnchorState
    from commonplace.memory.code.git import is_bare
    from commonplace.memory.use_cases.verification import count_states, verify_folder

    folder = repo.resolve()
    if not folder.is_dir() or is_bare(folder):
        problem = "has no checked-out files" if folder.is_dir() else "is not a folder"
        raise CommonplaceError(
            INVALID_ARGUMENT, f"{repo} {problem}.", hint="Name a checkout with --repo."
        )
    entries = _read_export(source) if source is not None else None
    verified = run(verify_folder(service().store, LOCAL_TENANT, folder, name, entries))
    rows = verified.rows
    counts = count_states(rows)
    shown = [(row, v) for row in rows for v in row.verdicts if every or v.state != "valid"]
    if as_json:
        print_json(
            {
                "repository": list(verified.names),
                "other_repositories": dict(verified.others),
                "entries": len(rows),
                "stale": sum(row.is_stale for row in rows),
                "anchors": {state.value: count for state, count in counts.items()},
                "results": [_as_record(row) for row in rows if every or _is_notable(row)],
            }
        )
    else:
        if shown:
            lines = [
                (v.state.value, row.entry.id, v.anchor.place, _describe_now(v), row.entry.title)
                for row, v in shown
            ]
            out.print(table(("state", "id", "code", "now", "title"), lines))
    _say_verified(verified, counts)
    if counts[AnchorState.CHANGED] or counts[AnchorState.GONE]:
        raise typer.Exit(1)


def _say_verified(verified: VerifiedFolder, counts: Mapping[AnchorState, int]) -> None:
    """Say how many anchors have each state, or why none was compared."""
    if verified.rows:
        said = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        say(f"{len(verified.rows)} entries speak of this repository: {said}")
        return
    names = " or ".join(verified.names)
    if not verified.others:
        say(f"no entry speaks of {names}; tie one to it: memory add --here PATH")
        return
    others = [f"{name} ({count})" for name, count in verified.others.items()][:OTHERS_SHOWN]
    say(f"no entry speaks of {names}, but of {', '.join(others)}")
    say("nothing was compared; if one of these is this repository, name it with --name")


@cite.command("check")
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Text; - reads standard input.")],
    as_json: JsonFlag = False,
) -> None:
    """Check the citations of a text; exit code 1 if one names no entry that holds.

    Examples:
      commonplace memory cite check notes.md
      commonplace memory cite check - < answer.txt
    """
    text = sys.stdin.read() if file == "-" else _read_text(Path(file))
    checked = run(service().check_citations(LOCAL_TENANT, text))
    if as_json:
        print_json({"citations": [_citation_record(found) for found in checked]})
    elif checked:
        rows = [
            (
                f"{found.citation.line}:{found.citation.column}",
                found.citation.reference,
                found.status.value,
                _explain(found),
            )
            for found in checked
        ]
        out.print(table(("place", "id", "status", "entry"), rows))
    wrong = sum(found.status != "ok" for found in checked)
    if not as_json:
        say(f"{len(checked)} citations, {wrong} to correct")
    if wrong:
        raise typer.Exit(1)


@cite.callback()
def cite_group() -> None:
    """Check citations of entries, such as [01HX123] Fix CORS Safari."""


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CommonplaceError(
            INVALID_ARGUMENT, f"{path} cannot be read: {error.strerror or error}."
        ) from error
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf_16 else "utf-8", errors="replace")


def _read_export(path: Path) -> list[Entry]:
    from commonplace.memory.use_cases.transfer import read_entries

    return read_entries(path, service().new_id)


def _describe_now(verdict: AnchorVerdict) -> str:
    return verdict.reason or (verdict.now if verdict.now != verdict.anchor.place else "")


def _is_notable(row: AnchoredEntry) -> bool:
    return any(verdict.state != "valid" for verdict in row.verdicts)


def _as_record(row: AnchoredEntry) -> JsonObject:
    from commonplace.memory.tools.anchors import show_anchor

    return {
        "id": row.entry.id,
        "title": row.entry.title,
        "stale": row.is_stale,
        "anchors": [show_anchor(verdict) for verdict in row.verdicts],
    }


def _citation_record(found: CheckedCitation) -> JsonObject:
    record: JsonObject = {
        "line": found.citation.line,
        "column": found.citation.column,
        "reference": found.citation.reference,
        "status": found.status.value,
    }
    if found.entry is not None:
        record |= {"id": found.entry.id, "title": found.entry.title}
    if found.successor is not None:
        record["superseded_by"] = found.successor.id
    if found.anchors:
        record["stale"] = [f"{v.state} {v.anchor.place}" for v in found.anchors]
    return record


def _explain(found: CheckedCitation) -> str:
    if found.entry is None:
        return ""
    if found.successor is not None:
        return f"{found.entry.title}; now {found.successor.id} {found.successor.title}"
    stale = ", ".join(f"{v.state} {v.anchor.place}" for v in found.anchors)
    return f"{found.entry.title}; {stale}" if stale else found.entry.title
