"""`commonplace instructions`: the catalogue from the command line, through the same tools as any
client.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from commonplace.cli.printing import JsonFlag, err, out, plain_text, print_json, say, table
from commonplace.cli.session import session
from commonplace.cli.terminal import write_text
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

app = typer.Typer(
    help="Governed instructions: find, read, change and check them.", no_args_is_help=True
)
CHUNK = 200
Id = Annotated[str, typer.Argument(metavar="ID", help="The instruction's id.")]


def _call(tool: str, **arguments: Any) -> Any:
    return session().call(
        tool, {name: value for name, value in arguments.items() if value is not None}
    )


def _rows(items: list[dict[str, Any]]) -> Any:
    cells = [
        [
            item["id"],
            item["title"],
            item["priority"],
            item["requirement"],
            item["status"],
            ", ".join(item["categories"]),
        ]
        for item in items
    ]
    return table(("id", "title", "priority", "requirement", "status", "categories"), cells)


@app.command("list")
def list_(
    category: Annotated[
        str | None, typer.Option("--category", "-c", help="Only this category.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Most entries shown.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """List instructions.

    Examples:
      commonplace instructions list
      commonplace instructions list -c security --json
    """
    answer = _call("instructions_list", category=category, limit=limit)
    if as_json:
        print_json(answer)
        return
    out.print(_rows(answer["items"]))
    say(f"{len(answer['items'])} of {answer['count']}")


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="Words, an identifier, or a part of the text.")],
    limit: Annotated[int, typer.Option(help="Most entries shown.")] = 10,
    as_json: JsonFlag = False,
) -> None:
    """Search titles and bodies, best first.

    Example:
      commonplace instructions search "force push" --limit 5
    """
    answer = _call("instructions_search", q=query, limit=limit, highlight=True)
    if as_json:
        print_json(answer)
        return
    for item, marks in zip(answer["items"], answer["highlights"], strict=True):
        out.print(plain_text(f"{item['id']}  {item['title']}", style="bold"))
        out.print(plain_text(f"  {marks['snippet']}"))
    say(
        f"{len(answer['items'])} of {answer['count']}"
        + (" (no text has all the words)" if answer.get("relaxed") else "")
    )


@app.command()
def show(
    id_: Id,
    history: Annotated[
        bool, typer.Option("--history", help="Its changes, with differences.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show one instruction.

    Example:
      commonplace instructions show no-force-push --history
    """
    item = _existing(id_)
    changes = _call("instructions_history", id=id_) if history else None
    if as_json:
        print_json(changes if changes is not None else item)
        return
    if changes is not None:
        for change in changes["changes"]:
            who = f"{change['by']} ({change['agent']})" if "agent" in change else change["by"]
            out.print(
                plain_text(
                    f"#{change['change']} {change['at']} {change['action']} by {who}", style="bold"
                )
            )
            for name, values in change["diff"]["fields"].items():
                out.print(plain_text(f"  {name}: {values['from']} -> {values['to']}"))
            out.print(plain_text(change["diff"]["bodyDiff"]))
        return
    facts = (
        "version",
        "status",
        "owner",
        "priority",
        "priorityTier",
        "requirement",
        "categories",
        "nextReviewDue",
        "updatedAt",
        "sourceHash",
    )
    out.print(plain_text(item["title"], style="bold"))
    out.print(table(("", ""), [[name, _shown(item.get(name))] for name in facts]))
    out.print()
    out.print(plain_text(item["body"]))


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)


def _existing(id_: str) -> dict[str, Any]:
    answer = _call("instructions_get", id=id_)
    if answer.get("notFound"):
        from commonplace.instructions.errors import INSTRUCTION_NOT_FOUND

        raise CommonplaceError(
            INSTRUCTION_NOT_FOUND,
            f"There is no instruction {id_}.",
            hint="commonplace instructions search finds it.",
        )
    item: dict[str, Any] = answer["item"]
    return item


@app.command()
def add(
    id_: Id,
    body: Annotated[
        str | None, typer.Argument(help="The text; - or nothing reads it from stdin.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title.")] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", "-c", help="Category; repeat for more.")
    ] = None,
    priority: Annotated[int | None, typer.Option(help="1 (most important) to 100.")] = None,
    requirement: Annotated[
        str | None, typer.Option(help="mandatory, critical, recommended, optional or deprecated.")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Who answers for it.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Change an existing instruction.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add an instruction.

    Examples:
      commonplace instructions add no-secrets "Never commit secrets." -c security --owner sec
      commonplace instructions add style - < style.md
    """
    text = sys.stdin.read() if body in (None, "-") else body
    entry = {
        "id": id_,
        "body": text,
        "title": title,
        "categories": category,
        "priority": priority,
        "requirement": requirement,
        "owner": owner,
    }
    _report_write(
        _call(
            "instructions_add",
            entry={k: v for k, v in entry.items() if v is not None},
            lax=True,
            overwrite=overwrite,
        ),
        as_json,
    )


def _report_write(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif "error" in answer:
        say(f"refused: {answer['error']}. {answer['feedbackHint']}")
    elif answer["skipped"]:
        say(f"{answer['id']} exists; use --overwrite to change it")
    else:
        say(f"{'added' if answer['created'] else 'changed'} {answer['id']} {answer['version']}")
    if "error" in answer or answer["skipped"]:
        raise typer.Exit(1)


@app.command()
def edit(id_: Id) -> None:
    """Change the body of an instruction in $VISUAL or $EDITOR.

    Example:
      EDITOR=vim commonplace instructions edit no-force-push
    """
    item = _existing(id_)
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "No editor is set.",
            hint="Set EDITOR, or use instructions add --overwrite.",
        )
    folder = Path(tempfile.mkdtemp(prefix="commonplace-"))
    draft = folder / f"{id_}.md"
    before = f"{item['body']}\n".encode()
    draft.write_bytes(before)
    saved = False
    try:
        _save(id_, item, _edited(editor, draft))
        saved = True
    finally:
        if saved or draft.read_bytes() == before:
            shutil.rmtree(folder)
        else:
            say(f"your text is kept in {draft}")


def _edited(editor: str, draft: Path) -> str:
    """What the user made of the draft."""
    ended = subprocess.run([*shlex.split(editor), str(draft)], check=False)  # noqa: S603 - the user's own editor
    if ended.returncode:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{editor} ended with {ended.returncode}; nothing was changed.",
            hint="Set EDITOR to another.",
        )
    try:
        return draft.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "The text is not UTF-8; nothing was changed.",
            hint="Save it as UTF-8.",
        ) from None


def _save(id_: str, item: dict[str, Any], body: str) -> None:
    if body in (item["body"], item["body"] + "\n"):
        say("nothing changed")
        return
    entry = {"id": id_, "body": body}
    _report_write(
        _call(
            "instructions_add",
            entry=entry,
            lax=True,
            overwrite=True,
            expectedHash=item["governanceHash"],
        ),
        False,
    )


@app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids to remove.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove instructions; `restore` brings them back.

    Example:
      commonplace instructions remove no-force-push --yes
    """
    if not yes and not typer.confirm(f"Remove {', '.join(ids)}?"):
        raise typer.Exit(1)
    answer = _call("instructions_remove", ids=ids, confirm=True)
    say(
        f"removed {answer['removed']}"
        + (f", missing: {', '.join(answer['missing'])}" if answer["missing"] else "")
    )
    raise typer.Exit(1 if answer["missing"] or answer["errorCount"] else 0)


@app.command()
def restore(
    id_: Id,
    change: Annotated[
        int | None, typer.Option(help="Number of the change to undo (show --history lists them).")
    ] = None,
) -> None:
    """Undo the latest change or removal of an instruction, or a numbered one.

    Example:
      commonplace instructions restore no-force-push
    """
    answer = _call("instructions_restore", id=id_, change=change)
    say(f"restored {id_} as it was before change #{answer['change']}")


@app.command()
def lint(as_json: JsonFlag = False) -> None:
    """Check the catalogue: broken files, drift, duplicates, dangling references, overdue
    reviews, gates.

    Exit 1 on problems.

    Example:
      commonplace instructions lint && git commit -m "Rules"
    """
    problems = list(_problems())
    if as_json:
        print_json({"problems": problems, "count": len(problems)})
    elif problems:
        out.print(
            table(
                ("severity", "where", "problem"),
                [[p["severity"], p["where"], p["problem"]] for p in problems],
            )
        )
    else:
        say("nothing to mend")
    if any(problem["severity"] == "error" for problem in problems):
        raise typer.Exit(1)


def _problems() -> Iterator[dict[str, str]]:
    def problem(severity: str, where: str, text: str) -> dict[str, str]:
        return {"severity": severity, "where": where, "problem": text}

    inspected = _call("instructions_inspect", scope="catalog")["data"]
    validation = inspected["validation"]
    for rejected in validation["rejected"]:
        if rejected["reason"] not in ("non-instruction-config", "template", "governance-denylist"):
            yield problem("error", rejected["file"], f"{rejected['reason']}: {rejected['detail']}")
    for name, text in validation["configuration"].items():
        yield problem("error", name, text)
    for id_ in validation["drifted"]:
        yield problem("error", id_, "sourceHash does not fit the body: run repair")
    for line in (*validation["unreadable"], *validation["unknownFields"]):
        yield problem("warn", line["id"], f"{line['field']}: {line['problem']}")
    for folder in inspected["filesystem"]["ignoredFolders"]:
        yield problem(
            "warn",
            f"{folder}/",
            "files in subfolders are not read; move them into the instruction folder itself",
        )
    items = _call("instructions_export", metaOnly=True)["items"]
    ids = {item["id"] for item in items}
    bodies: dict[str, str] = {}
    for item in items:
        for field in ("deprecatedBy", "supersedes"):
            if item.get(field) and item[field] not in ids:
                yield problem(
                    "warn", item["id"], f"{field} names {item[field]}, which does not exist"
                )
        for dependency in item.get("dependencies", ()):
            if dependency not in ids:
                yield problem("warn", item["id"], f"depends on {dependency}, which does not exist")
        if item["requirement"] != "deprecated":
            first = bodies.setdefault(item["sourceHash"], item["id"])
            if first != item["id"]:
                yield problem(
                    "warn", item["id"], f"has the same body as {first}: groom merges them"
                )
    for id_ in _call("instructions_inspect", scope="governance")["data"]["validation"][
        "overdueReviews"
    ]:
        yield problem("warn", id_, "its review is overdue")
    if "gates.json" not in validation["configuration"]:
        for gate in _call("gates_evaluate")["results"]:
            if not gate["passed"]:
                yield problem(
                    gate["severity"],
                    f"gate {gate['id']}",
                    f"{gate['count']} {gate['op']} {gate['value']} does not hold",
                )


@app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(
            help="A JSON file (one entry, a list, or {entries}), or a folder of them; a "
            "catalogue is one."
        ),
    ],
    mode: Annotated[
        str, typer.Option(help="What to do with ids that exist: skip, overwrite or merge.")
    ] = "skip",
    as_json: JsonFlag = False,
) -> None:
    """Import instructions.

    Example:
      commonplace instructions import rules.json --mode overwrite
    """
    from rich.progress import Progress

    entries = list(_entries(source))
    total: dict[str, Any] = {
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
            answer = _call("instructions_import", entries=chunk, mode=mode)
            for name in ("imported", "skipped", "overwritten"):
                total[name] += answer[name]
            total["errors"] += [
                {**error, "index": error["index"] + start} for error in answer["errors"]
            ]
            progress.advance(task, len(chunk))
    if as_json:
        print_json(total)
    else:
        for error in total["errors"][:50]:
            say(f"entry {error['index']} ({error.get('id', '?')}): {error['error']}")
        say(
            f"imported {total['imported']}, overwritten {total['overwritten']}, skipped "
            f"{total['skipped']}, failed {len(total['errors'])}"
        )
    raise typer.Exit(1 if total["errors"] else 0)


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
                INVALID_ARGUMENT, f"{path.name}: {broken}.", hint="Mend the file and repeat."
            ) from None
        if isinstance(value, dict) and isinstance(value.get("entries"), list):
            value = value["entries"]
        yield from value if isinstance(value, list) else [value]


@app.command()
def export(
    target: Annotated[
        Path | None,
        typer.Argument(help="A file, or an existing folder for one file each; stdout when absent."),
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
    items = _call("instructions_export", ids=ids)["items"]
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


@app.command()
def graph(
    format_: Annotated[
        str, typer.Option("--format", "-f", help="mermaid, dot or json.")
    ] = "mermaid",
    enrich: Annotated[bool, typer.Option(help="Metadata and categories as nodes.")] = False,
    max_edges: Annotated[int | None, typer.Option(help="Cut the edges after this many.")] = None,
) -> None:
    """Draw how instructions share categories.

    Example:
      commonplace instructions graph --format dot | dot -Tsvg > graph.svg
    """
    answer = _call(
        "graph_export",
        format=format_,
        enrich=enrich,
        includeCategoryNodes=enrich,
        maxEdges=max_edges,
    )
    if format_ == "json":
        print_json(answer)
    else:
        write_text(answer[format_])


@app.command()
def groom(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report.")] = False,
    merge: Annotated[
        bool, typer.Option("--merge-duplicates", help="Merge entries with the same body.")
    ] = False,
    remove_deprecated: Annotated[
        bool,
        typer.Option("--remove-deprecated", help="Delete deprecated entries that are replaced."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Correct hashes and categories, merge duplicates, drop what is replaced.

    Example:
      commonplace instructions groom --dry-run
    """
    answer = _call(
        "instructions_groom",
        mode={"dryRun": dry_run, "mergeDuplicates": merge, "removeDeprecated": remove_deprecated},
    )
    if as_json:
        print_json(answer)
    else:
        counts = (
            "scanned",
            "repairedHashes",
            "normalizedCategories",
            "duplicatesMerged",
            "deprecatedRemoved",
            "filesRewritten",
        )
        out.print(table(("", ""), [[name, answer[name]] for name in counts]))
        for note in answer["notes"]:
            say(note)


@app.command()
def init() -> None:
    """Write a small starter set of instructions, gates and prompt criteria; what exists is left
    alone.

    Example:
      commonplace init
    """
    from commonplace.instructions.starter import write_starter

    written = write_starter(session().config().settings.instructions_directory)
    say(f"wrote {', '.join(written)}" if written else "everything is there already")
