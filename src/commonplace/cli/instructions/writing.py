"""Commands that change the catalogue: add, edit, groom."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from commonplace.cli.editor import edit_text, is_unchanged
from commonplace.cli.instructions.access import Id, call, existing_item
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.kernel.json_types import JsonObject


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
    owner: Annotated[str | None, typer.Option(help="Owner.")] = None,
    applies_to: Annotated[
        list[str] | None,
        typer.Option(
            "--applies-to", help="Glob over repository paths; ! excludes; repeat for more."
        ),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="Only files of this language; repeat for more.")
    ] = None,
    activation: Annotated[
        str | None, typer.Option(help="always, glob, description or manual.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Change an existing instruction.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add an instruction.

    Examples:
      commonplace instructions add no-secrets "Never commit secrets." -c security --owner sec
      commonplace instructions add style - < style.md
      commonplace instructions add api-errors "Return typed errors." --applies-to "src/api/**"
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
        "appliesTo": applies_to,
        "languages": language,
        "activation": activation,
    }
    _report_write(
        call(
            "instructions_add",
            entry={k: v for k, v in entry.items() if v is not None},
            lax=True,
            overwrite=overwrite,
        ),
        as_json,
    )


def _report_write(answer: JsonObject, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif "error" in answer:
        say(f"refused: {answer['error']}. {answer['feedbackHint']}")
    elif answer["skipped"]:
        say(f"{answer['id']} exists; use --overwrite to change it")
    elif answer.get("proposed"):
        say(f"proposed a change of {answer['id']}; commonplace instructions review shows it")
    else:
        say(f"{'added' if answer['created'] else 'changed'} {answer['id']} {answer['version']}")
    if "error" in answer or answer["skipped"]:
        raise typer.Exit(1)


def edit(id_: Id) -> None:
    """Change the body of an instruction in $VISUAL or $EDITOR.

    Example:
      EDITOR=vim commonplace instructions edit no-force-push
    """
    item = existing_item(id_)
    with edit_text(id_, item["body"], "use instructions add --overwrite") as body:
        _save(id_, item, body)


def _save(id_: str, item: JsonObject, body: str) -> None:
    if is_unchanged(item["body"], body):
        say("nothing changed")
        return
    entry = {"id": id_, "body": body}
    _report_write(
        call(
            "instructions_add",
            entry=entry,
            lax=True,
            overwrite=True,
            expectedHash=item["governanceHash"],
        ),
        False,
    )


def groom(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report.")] = False,
    merge: Annotated[
        bool, typer.Option("--merge-duplicates", help="Merge entries with the same body.")
    ] = False,
    remove_deprecated: Annotated[
        bool,
        typer.Option(
            "--remove-deprecated", help="Delete deprecated entries that have a replacement."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Correct hashes and categories, merge duplicates, remove replaced entries.

    Example:
      commonplace instructions groom --dry-run
    """
    answer = call(
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
