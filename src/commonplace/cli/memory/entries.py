"""Commands on entries: add, search, show, list, edit, rm, stale."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from commonplace.cli.editor import edit_text, is_unchanged
from commonplace.cli.memory.access import (
    MODEL_SECONDS,
    EntryTypeName,
    Id,
    Limit,
    current_project,
    project_name,
    run,
    service,
    split_tags,
)
from commonplace.cli.memory.code import Here, take_anchors
from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.json_types import JsonObject


def add(
    type_: Annotated[EntryTypeName, typer.Argument(metavar="TYPE", help="Kind of entry.")],
    title: Annotated[str, typer.Argument(help="Symptom and cause in at most 100 characters.")],
    content: Annotated[
        str | None,
        typer.Option("--content", "-c", help="The text; - reads it from standard input."),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", help="A tag; give it several times, or separate with commas."),
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", help="The conversation it comes from.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", "-p", help="Default: the repository or working directory."),
    ] = None,
    confidence: Annotated[
        int | None,
        typer.Option("--confidence", min=0, max=5, help="How sure it is (3 if not given)."),
    ] = None,
    semantic: Annotated[
        bool, typer.Option("--semantic", help="A general rule, not one event.")
    ] = False,
    here: Here = None,
    as_json: JsonFlag = False,
) -> None:
    """Add an entry.

    Examples:
      commonplace memory add bug "Safari drops CORS header" -c "List each header." -t cors,safari
      commonplace memory add pitfall "add commits twice" --here src/store.py:Store.add
    """
    arguments: JsonObject = {
        "type": type_.value,
        "title": title,
        "content": sys.stdin.read() if content == "-" else content or "",
        "tags": split_tags(tags),
        "context": context or "",
        "project": current_project() if project is None else project,
    }
    if confidence is not None:
        arguments["confidence"] = confidence
    if semantic:
        arguments["memory_type"] = "semantic"
    if here:
        arguments["anchors"] = take_anchors(here)
    run(service().prepare(MODEL_SECONDS))
    added = session().call("rekall_add", arguments)
    run(service().settle())
    if as_json:
        print_json(added)
    else:
        _print_added(added)


def _print_added(added: JsonObject) -> None:
    out.print(
        f"{'added' if added['created'] else 'exists already:'} {added['id']}",
        added["title"],
        markup=False,
    )
    for near in added["similar_entries"]:
        out.print(f"  similar ({near['score']:.2f}): {near['id']} {near['title']}", markup=False)
    if added.get("updated_fields"):
        say(f"updated: {', '.join(added['updated_fields'])}")
    for warning in added.get("warnings", ()):
        say(warning)
    for other in added.get("contradicts", ()):
        say(f"contradicts {other['id']}. {other['reason']}")
        link = f"commonplace memory link {added['id']} {other['id']} -r supersedes"
        say(f"  if the new one holds: {link}")
        say(f"  if both hold: commonplace memory suggest --reject {other['suggestion_id']}")
    if added["suggestions_created"]:
        say(f"{added['suggestions_created']} suggestions: commonplace memory suggest")


def search(
    query: Annotated[list[str], typer.Argument(help="Words or a question.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=20, help="Most results.")] = 5,
    type_: Annotated[EntryTypeName | None, typer.Option("--type", help="Only this type.")] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", "-p", help="Only this project; . for the one around you."),
    ] = None,
    context: Annotated[str | None, typer.Option("--context", help="What it is about.")] = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why", "--explain", help="Show the terms that matched, strength and freshness."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Search entries.

    Example:
      commonplace memory search why does safari refuse our header
    """
    arguments: JsonObject = {"query": " ".join(query), "limit": limit, "why": why}
    arguments |= {"type": type_.value} if type_ else {}
    arguments |= {"project": project_name(project)} if project else {}
    arguments |= {"context": context} if context else {}
    absent = run(service().prepare(MODEL_SECONDS))
    found = session().call("rekall_search", arguments)
    if found["mode"] == "lexical" and found["results"]:
        say(
            f"answered by words only: "
            f"{absent or 'nothing is embedded yet; run: commonplace memory embed'}"
        )
    if as_json:
        print_json(found)
        return
    _print_found(found, why=why)


def _print_found(found: JsonObject, *, why: bool) -> None:
    """Print results with what speaks against them; without results, the nearest entries."""
    results = found["results"]
    explained = ("why", "strength", "freshness") if why else ()
    rows = [
        (
            r["id"],
            f"{r['score']:.2f}",
            r["type"],
            r["title"],
            r["snippet"],
            *(_explain(r["why"]) if why else ()),
        )
        for r in results
    ]
    if rows:
        out.print(table(("id", "score", "type", "title", "snippet", *explained), rows))
    for result in results:
        if marks := _marks(result):
            out.print(plain_text(f"  {result['id']}: {marks}"), soft_wrap=True)
    for near in found.get("nearest", ()):
        out.print(f"  nearest: {near['id']} {near['title']}", markup=False)
    if not rows:
        say(found["hint"])
    else:
        if found.get("doubtful"):
            say("only weak matches: they may not answer this")
        say(f"{len(rows)} of {found['total']} ({found['mode']}); commonplace memory show ID")


def _marks(result: JsonObject) -> str:
    """Return why a result may not hold: its status, its successor, contradictions, its code."""
    marks = [result["status"]] if result.get("status", "active") != "active" else []
    if "superseded_by" in result:
        marks.append(f"superseded by {result['superseded_by']['id']}")
    if result.get("contradicts"):
        marks.append(f"contradicts {', '.join(result['contradicts'])}")
    if "stale" in result:
        marks.append(f"stale: {result['stale']}")
    return "; ".join(marks)


def _explain(why: JsonObject) -> tuple[str, str, str]:
    return " ".join(why["terms"]), f"{why['strength']:.2f}", f"{why['freshness']:.2f}"


def show(id_: Id, as_json: JsonFlag = False) -> None:
    """Show an entry with its links.

    Example:
      commonplace memory show 01M7KPP5BJ
    """
    entry = session().call("rekall_show", {"id": id_})
    if as_json:
        print_json(entry)
        return
    facts = (
        "id",
        "type",
        "project",
        "confidence",
        "status",
        "memory_type",
        "created_at",
        "updated_at",
        "access_count",
        "consolidation_score",
    )
    out.print(plain_text(entry["title"], style="bold"))
    out.print(
        table(
            ("", ""),
            [
                *((name, entry[name]) for name in facts),
                ("strength", _describe_strength(entry["reliability"])),
                ("tags", ", ".join(entry["tags"])),
            ],
        )
    )
    for anchor in entry.get("anchors", ()):
        out.print(plain_text(_describe_anchor(anchor), style="yellow" * _is_stale(anchor)))
    if entry.get("superseded_by"):
        out.print(
            plain_text(
                f"superseded by {entry['superseded_by']['id']} {entry['superseded_by']['title']}",
                style="yellow",
            )
        )
    for other in entry.get("contradicts", ()):
        out.print(
            plain_text(f"contradicts {other['id']} {other['title']}: undecided", style="yellow")
        )
    out.print()
    out.print(plain_text(entry["content"]))
    for link in entry["links"]["outgoing"]:
        out.print(
            plain_text(f"→ {link['relation_type']} {link['target_id']} {link['target_title']}")
        )
    for link in entry["links"]["incoming"]:
        out.print(
            plain_text(f"← {link['relation_type']} {link['source_id']} {link['source_title']}")
        )


def _describe_strength(reliability: JsonObject) -> str:
    return (
        f"{reliability['strength']:.2f} ({reliability['confirmed']} confirmed, "
        f"{reliability['refuted']} refuted; freshness {reliability['freshness']:.2f})"
    )


def _describe_commit(anchor: JsonObject) -> str:
    """Return the beginning of a commit, or that the change is not committed."""
    commit = str(anchor.get("commit", ""))
    return commit if " " in commit else commit[:12]


def _is_stale(anchor: JsonObject) -> bool:
    return anchor["state"] in ("changed", "gone")


def _describe_anchor(anchor: JsonObject) -> str:
    part = anchor.get("symbol") or anchor.get("lines")
    place = f"{anchor['path']}:{part}" if part else anchor["path"]
    details = [f"now {anchor['now']}" if "now" in anchor else "", anchor.get("reason", "")]
    shown = ", ".join([anchor["state"], *filter(None, details)])
    return f"code {place} of {anchor['repository']}: {shown}"


def list_entries(
    limit: Limit = 20,
    type_: Annotated[EntryTypeName | None, typer.Option("--type", help="Only this type.")] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", "-p", help="Only this project; . for the one around you."),
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", "-t", help="Only entries with this tag.")
    ] = None,
    obsolete: Annotated[bool, typer.Option("--obsolete", help="Only obsolete entries.")] = False,
    deleted: Annotated[bool, typer.Option("--deleted", help="Deleted entries instead.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """List entries, newest first.

    Example:
      commonplace memory list --type bug --tag sqlite
    """
    arguments: JsonObject = {"limit": min(max(limit, 1), 200), "deleted": deleted}
    arguments |= {"type": type_.value} if type_ else {}
    arguments |= {"project": project_name(project)} if project else {}
    arguments |= {"tag": tag} if tag else {}
    arguments |= {"status": "obsolete"} if obsolete else {}
    found = session().call("memory_list", arguments)
    if as_json:
        print_json(found)
        return
    rows = [
        (e["id"], e["type"], e["project"], e["title"], ", ".join(e["tags"]), e["created_at"][:10])
        for e in found["entries"]
    ]
    out.print(table(("id", "type", "project", "title", "tags", "created"), rows))
    say(f"{len(rows)} of {found['total']}")


def edit(
    id_: Id,
    title: Annotated[str | None, typer.Option("--title", help="New title.")] = None,
    content: Annotated[
        str | None,
        typer.Option("--content", "-c", help="New text; - reads it from standard input."),
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="New tags, replacing the old ones.")
    ] = None,
    type_: Annotated[EntryTypeName | None, typer.Option("--type", help="New type.")] = None,
    project: Annotated[str | None, typer.Option("--project", "-p", help="New project.")] = None,
    confidence: Annotated[
        int | None, typer.Option("--confidence", min=0, max=5, help="New confidence.")
    ] = None,
    obsolete: Annotated[
        bool | None, typer.Option("--obsolete/--active", help="Retire it, or bring it back.")
    ] = None,
    here: Here = None,
    as_json: JsonFlag = False,
) -> None:
    """Change an entry; the old version stays in its history.

    Without options the text opens in $EDITOR.

    Example:
      commonplace memory edit 01M7KPP5BJ --title "Importer waits for the lock" --confidence 4
    """
    changes: JsonObject = {
        "title": title,
        "content": sys.stdin.read() if content == "-" else content,
        "tags": split_tags(tags) if tags else None,
        "type": type_.value if type_ else None,
        "project": project,
        "confidence": confidence,
        "status": None if obsolete is None else "obsolete" if obsolete else "active",
        "anchors": take_anchors(here) if here else None,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    if given:
        _update(id_, given, as_json)
        return
    entry = session().call("rekall_show", {"id": id_})
    with edit_text(entry["id"], entry["content"], "use --content") as content:
        if is_unchanged(entry["content"], content):
            say("nothing changed")
        else:
            _update(id_, {"content": content.removesuffix("\n")}, as_json)


def _update(id_: str, changes: JsonObject, as_json: bool) -> None:
    changed = session().call("memory_update", {"id": id_, **changes})
    run(service().settle())
    if as_json:
        print_json(changed)
    elif not changed["changed"]:
        say("nothing changed")
    else:
        names, entry = ", ".join(changed["changed"]), changed["entry"]["id"]
        out.print(f"changed {names} of {entry}", markup=False)


def rm(
    id_: Id,
    restore: Annotated[bool, typer.Option("--restore", help="Bring a deleted entry back.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete an entry; --restore brings it back.

    Examples:
      commonplace memory rm 01M7KPP5BJ
      commonplace memory rm 01M7KPP5BJ --restore
    """
    done = session().call("memory_delete", {"id": id_, "restore": restore})
    run(service().settle())
    if as_json:
        print_json(done)
    else:
        out.print(
            f"{'deleted' if done['deleted'] else 'restored'} {done['id']} {done['title']}",
            markup=False,
        )


def stale(
    days: Annotated[
        int | None, typer.Option("--days", min=1, help="Days without a read or a change.")
    ] = None,
    limit: Limit = 20,
    as_json: JsonFlag = False,
) -> None:
    """List entries whose code changed, and entries that were not read or changed for long.

    Example:
      commonplace memory stale --days 180
    """
    found = session().call(
        "memory_stale", {"limit": min(max(limit, 1), 200), **({"days": days} if days else {})}
    )
    if as_json:
        print_json(found)
        return
    changed = [
        (e["id"], a["state"], a["place"], a.get("now", ""), _describe_commit(a), e["title"])
        for e in found["code"]
        for a in e["anchors"]
    ]
    if changed:
        out.print(table(("id", "state", "code", "now", "commit", "title"), changed))
        say(f"{len(found['code'])} of {found['code_total']} whose code changed or is gone")
    rows = [
        (e["id"], e["type"], e["title"], (e["last_accessed"] or "never")[:10], e["access_count"])
        for e in found["entries"]
    ]
    out.print(table(("id", "type", "title", "last read", "reads"), rows))
    say(f"{len(rows)} of {found['total']} not read or changed for {found['days']} days")
