"""Commands for what leaves the catalogue: remove, restore, archive, and the list of all that."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.instructions.access import call
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.kernel.json_types import JsonObject

Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of instructions.")]
COLUMNS = {
    "removed": ("id", "title", "version", "at", "by", "action"),
    "archived": ("id", "title", "version", "at"),
    "backups": ("backup", "count", "at", "by", "action"),
}


def remove(
    ids: Ids,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Also remove what depends on them.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove instructions; `restore` brings them back.

    More than 10 are saved in a backup first.

    Examples:
      commonplace instructions remove no-force-push --yes
      commonplace instructions remove no-force-push --cascade --dry-run
    """
    if not yes and not dry_run and not typer.confirm(f"Remove {', '.join(ids)}?"):
        raise typer.Exit(1)
    answer = call("instructions_remove", ids=ids, confirm=True, cascade=cascade, dryRun=dry_run)
    if as_json:
        print_json(answer)
    else:
        _report_removal(answer)
    raise typer.Exit(1 if answer["missing"] or answer["errorCount"] else 0)


def _report_removal(answer: JsonObject) -> None:
    text = f"removed {answer['removed']}"
    if answer.get("dryRun"):
        would = [*answer["wouldRemove"], *answer.get("cascadeRemovals", ())]
        text = f"would remove {len(would)}" + (f": {', '.join(would)}" if would else "")
    if answer["missing"]:
        text += f", missing: {', '.join(answer['missing'])}"
    say(text)
    if answer.get("backup"):
        say(f"saved first: commonplace instructions restore --backup {answer['backup']}")


def restore(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Ids of instructions.")
    ] = None,
    change: Annotated[
        int | None, typer.Option(help="Number of the change to undo (show --history lists them).")
    ] = None,
    backup: Annotated[
        str | None, typer.Option(help="Bring back a bulk removal (removed --backups lists them).")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Undo the latest change or removal of instructions, or a numbered one.

    Examples:
      commonplace instructions restore no-force-push
      commonplace instructions restore --backup 20261117-190501123-9f3a2b1c
    """
    if (backup is None) == (not ids):
        raise typer.BadParameter("give ids, or --backup")
    if backup is not None:
        answer = call("instructions_restore", backup=backup)
        answers = [answer]
        text = f"restored {len(answer['ids'])}, {len(answer['present'])} were there"
        failed = bool(answer["errors"])
    else:
        answers = [call("instructions_restore", id=id_, change=change) for id_ in ids or ()]
        text = "\n".join(
            f"restored {answer['id']} as it was before change #{answer['change']}"
            for answer in answers
        )
        failed = False
    if as_json:
        print_json(answers[0] if len(answers) == 1 else {"restored": answers})
    else:
        say(text)
    raise typer.Exit(1 if failed else 0)


def archive(
    ids: Ids,
    restore: Annotated[
        bool, typer.Option("--restore", help="Bring archived instructions back.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Archive instructions: out of lists and search, but kept and readable by id.

    Examples:
      commonplace instructions archive old-rule
      commonplace instructions archive old-rule --restore
    """
    answer = call("instructions_archive", ids=ids, restore=restore)
    if as_json:
        print_json(answer)
    else:
        done = answer["restored" if restore else "archived"]
        say(f"{'brought back' if restore else 'archived'} {', '.join(done) or 'nothing'}")
        for item in answer["unchanged"]:
            say(f"{item['id']}: {item['reason']}")
    raise typer.Exit(1 if answer["unchanged"] else 0)


def removed(
    archived: Annotated[
        bool, typer.Option("--archived", help="Archived instructions instead.")
    ] = False,
    backups: Annotated[
        bool, typer.Option("--backups", help="Backups of bulk removals instead.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Most entries shown.")] = 50,
    as_json: JsonFlag = False,
) -> None:
    """List removed instructions, which `restore` brings back.

    Examples:
      commonplace instructions removed
      commonplace instructions removed --archived
      commonplace instructions removed --backups
    """
    kind = "backups" if backups else "archived" if archived else "removed"
    answer = call("instructions_removed", kind=kind, limit=limit)
    if as_json:
        print_json(answer)
        return
    columns = COLUMNS[kind]
    rows = [[item.get(column, "") for column in columns] for item in answer["items"]]
    if rows:
        out.print(table(columns, rows))
    say(f"{len(rows)} of {answer['count']}")
