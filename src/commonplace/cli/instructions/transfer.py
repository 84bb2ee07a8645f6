"""Commands that fill and copy the catalogue: init, import, export."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from commonplace.cli.instructions.access import call
from commonplace.cli.printing import JsonFlag, err, print_json, say
from commonplace.cli.session import session
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.kernel.settings import Settings

CHUNK = 200


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            help="A JSON file (one entry, a list, or {entries}), or a folder of such files, for "
            "example a catalogue, or of rule files (as `rules import`)."
        ),
    ],
    mode: Annotated[str, typer.Option(help="If an id exists: skip, overwrite or merge.")] = "skip",
    as_json: JsonFlag = False,
) -> None:
    """Import instructions.

    Example:
      commonplace instructions import rules.json --mode overwrite
      commonplace instructions import ~/src/shop
    """
    from rich.progress import Progress

    entries = list(_entries(source))
    total: JsonObject = {
        "imported": 0,
        "skipped": 0,
        "overwritten": 0,
        "total": len(entries),
        "errors": [],
    }
    with Progress(console=err, disable=not err.is_terminal, transient=True) as progress:
        task = progress.add_task("importing", total=len(entries))
        for start in range(0, len(entries), CHUNK):
            chunk = entries[start : start + CHUNK]
            answer = call("instructions_import", entries=chunk, mode=mode)
            for name in ("imported", "skipped", "overwritten"):
                total[name] += answer[name]
            total["errors"] += [
                {**error, "index": error["index"] + start} for error in answer["errors"]
            ]
            progress.advance(task, len(chunk))
    if source.is_dir():
        _import_rule_files(source, mode, total)
    if as_json:
        print_json(total)
    else:
        for error in total["errors"][:50]:
            place = f"entry {error['index']}" if "index" in error else error["file"]
            say(f"{place} ({error.get('id') or '?'}): {error['error']}")
        say(
            f"imported {total['imported']}, overwritten {total['overwritten']}, skipped "
            f"{total['skipped']}, failed {len(total['errors'])}"
        )
    raise typer.Exit(1 if total["errors"] else 0)


def _import_rule_files(source: Path, mode: str, total: JsonObject) -> None:
    """Import the rule files of a folder too, and add what became of them to the totals."""
    from commonplace.cli.rules.transfer import run_import

    if not any(_find_rule_files(source)):
        return
    report = run_import(
        source, "", overwrite=mode == "overwrite", dry_run=False, update=mode != "skip"
    )
    counts, rules = report.counts, [file for file in report.files if file.client]
    total["imported"] += counts["imported"]
    total["overwritten"] += counts["updated"]
    total["skipped"] += len(rules) - counts["imported"] - counts["updated"]
    total["total"] += len(rules)
    total["files"] = [asdict(file) for file in report.files]
    for file in rules:
        if file.status in ("failed", "conflict", "blocked"):
            total["skipped"] -= 1
            total["errors"].append({"file": file.path, "id": file.id, "error": file.reason})


def _find_rule_files(source: Path) -> Iterator[str]:
    from commonplace.instructions.rulefiles.formats import find_format
    from commonplace.instructions.use_cases.rule_files.repository import RuleRepository

    yield from filter(find_format, RuleRepository.at(source).survey().files)


def _entries(source: Path) -> Iterator[Any]:
    from commonplace.instructions.store.directory import may_be_instruction

    members = (
        [path for path in sorted(source.glob("*.json")) if may_be_instruction(path.name)]
        if source.is_dir()
        else [source]
    )
    for path in members:
        try:
            value = orjson.loads(path.read_bytes())
        except (OSError, orjson.JSONDecodeError) as broken:
            raise CommonplaceError(
                INVALID_ARGUMENT, f"{path.name}: {broken}.", hint="Correct the file and repeat."
            ) from None
        if isinstance(value, dict) and isinstance(value.get("entries"), list):
            value = value["entries"]
        yield from value if isinstance(value, list) else [value]


def export(
    target: Annotated[
        Path | None,
        typer.Argument(
            help="A file, or an existing folder for one file per entry; default stdout."
        ),
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="Only this id; repeat for more.")
    ] = None,
) -> None:
    """Export instructions as JSON.

    Examples:
      commonplace instructions export rules.json
      commonplace instructions export --id no-force-push
    """
    items = call("instructions_export", ids=ids)["items"]
    if target is None:
        print_json({"entries": items})
    elif target.is_dir():
        for item in items:
            (target / f"{item['id']}.json").write_bytes(
                orjson.dumps(item, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            )
    else:
        target.write_bytes(
            orjson.dumps({"entries": items}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
    if target is not None:
        say(f"exported {len(items)} to {target}")


def init() -> None:
    """Write a starter set of instructions, gates and prompt criteria. Existing files are kept.

    On PostgreSQL they are stored in the catalogue of the team.

    Example:
      commonplace init
    """
    from commonplace.bootstrap.team import on_postgres
    from commonplace.instructions.starter import write_starter

    settings = session().config().settings
    if on_postgres(settings):
        _store_starter(settings)
        return
    written = write_starter(settings.instructions_directory)
    say(f"wrote {', '.join(written)}" if written else "all starter files exist already")


def _store_starter(settings: Settings) -> None:
    """Store the starter set in the catalogue of a team, as if a folder moved in."""
    import tempfile

    from commonplace.bootstrap.move_instructions import InstructionMover
    from commonplace.instructions.starter import write_starter

    mover = InstructionMover(settings, session().app().services.postgres)
    with tempfile.TemporaryDirectory() as name:
        write_starter(Path(name) / "instructions")
        moved = session().record_change(
            "instructions_init", {}, lambda: mover.move(Path(name), lambda done, total: None)
        )
    say(
        f"stored {moved.added} starter files in the database"
        if moved.added
        else "all starter files exist already"
    )
