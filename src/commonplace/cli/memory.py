"""`commonplace memory`: what was learned, from the command line.

Also answers `rekall add|search|show|generalize|...` through the shim.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer
from rich.tree import Tree

from commonplace.cli import memory_store
from commonplace.cli.memory_store import MODEL_SECONDS, run, service
from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.auth import LOCAL_TENANT

if TYPE_CHECKING:
    from commonplace.memory.results import Generalized

app = typer.Typer(
    help="Memory: bugs, patterns, decisions, pitfalls, configuration, references.",
    no_args_is_help=True,
)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the entry, or its first 5 characters or more.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Most results.")]


class Type(StrEnum):
    BUG = "bug"
    PATTERN = "pattern"
    DECISION = "decision"
    PITFALL = "pitfall"
    CONFIG = "config"
    REFERENCE = "reference"


class Relation(StrEnum):
    RELATED = "related"
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"
    CONTRADICTS = "contradicts"


def current_project(start: Path | None = None) -> str:
    """The name of the repository around the working directory, else of the directory."""
    here = (start or Path.cwd()).resolve()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return root.name


@app.command()
def add(
    type_: Annotated[Type, typer.Argument(metavar="TYPE", help="Kind of entry.")],
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
        bool, typer.Option("--semantic", help="A rule that holds, not one event.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Keep what was learned.

    Example:
      commonplace memory add bug "Safari drops CORS header" -c "List each header." -t cors,safari
    """
    arguments: dict[str, Any] = {
        "type": type_.value,
        "title": title,
        "content": sys.stdin.read() if content == "-" else content or "",
        "tags": _split(tags),
        "context": context or "",
        "project": current_project() if project is None else project,
    }
    if confidence is not None:
        arguments["confidence"] = confidence
    if semantic:
        arguments["memory_type"] = "semantic"
    run(service().prepare(MODEL_SECONDS))
    added = session().call("rekall_add", arguments)
    if as_json:
        print_json(added)
        return
    out.print(
        f"{'added' if added['created'] else 'known already:'} {added['id']}",
        added["title"],
        markup=False,
    )
    for near in added["similar_entries"]:
        out.print(f"  similar ({near['score']:.2f}): {near['id']} {near['title']}", markup=False)
    if added.get("updated_fields"):
        say(f"updated: {', '.join(added['updated_fields'])}")
    for warning in added.get("warnings", ()):
        say(warning)
    if added["suggestions_created"]:
        say(f"{added['suggestions_created']} suggestions: commonplace memory suggest")


@app.command()
def search(
    query: Annotated[list[str], typer.Argument(help="Words or a question.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=20, help="Most results.")] = 5,
    type_: Annotated[Type | None, typer.Option("--type", help="Only this type.")] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", "-p", help="Only this project; . for the one around you."),
    ] = None,
    context: Annotated[str | None, typer.Option("--context", help="What it is about.")] = None,
    why: Annotated[bool, typer.Option("--why", help="Say how each was found.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Find what was learned.

    Example:
      commonplace memory search why does safari refuse our header
    """
    arguments: dict[str, Any] = {"query": " ".join(query), "limit": limit, "why": why}
    arguments |= {"type": type_.value} if type_ else {}
    arguments |= {"project": _project(project)} if project else {}
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
    columns = ("id", "score", "type", "title", "snippet", *(("why",) if why else ()))
    rows = [
        (
            r["id"],
            f"{r['score']:.2f}",
            r["type"],
            r["title"],
            r["snippet"],
            *((" ".join(r["why"]["terms"]),) if why else ()),
        )
        for r in found["results"]
    ]
    if rows:
        out.print(table(columns, rows))
    say(
        found["hint"]
        if not rows
        else f"{len(rows)} of {found['total']} ({found['mode']}); commonplace memory show ID"
    )


@app.command()
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
            ("", ""), [(name, entry[name]) for name in facts] + [("tags", ", ".join(entry["tags"]))]
        )
    )
    if entry.get("superseded_by"):
        out.print(
            plain_text(
                f"superseded by {entry['superseded_by']['id']} {entry['superseded_by']['title']}",
                style="yellow",
            )
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


@app.command("list")
def list_entries(
    limit: Limit = 20,
    type_: Annotated[Type | None, typer.Option("--type", help="Only this type.")] = None,
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
    arguments: dict[str, Any] = {"limit": min(max(limit, 1), 200), "deleted": deleted}
    arguments |= {"type": type_.value} if type_ else {}
    arguments |= {"project": _project(project)} if project else {}
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


@app.command()
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
    type_: Annotated[Type | None, typer.Option("--type", help="New type.")] = None,
    project: Annotated[str | None, typer.Option("--project", "-p", help="New project.")] = None,
    confidence: Annotated[
        int | None, typer.Option("--confidence", min=0, max=5, help="New confidence.")
    ] = None,
    obsolete: Annotated[
        bool | None, typer.Option("--obsolete/--active", help="Retire it, or bring it back.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Correct an entry.

    Without options the text opens in $EDITOR; what it was stays in its history.

    Example:
      commonplace memory edit 01M7KPP5BJ --title "Importer waits for the lock" --confidence 4
    """
    changes: dict[str, Any] = {
        "title": title,
        "content": sys.stdin.read() if content == "-" else content,
        "tags": _split(tags) if tags else None,
        "type": type_.value if type_ else None,
        "project": project,
        "confidence": confidence,
        "status": None if obsolete is None else "obsolete" if obsolete else "active",
    }
    given = {name: value for name, value in changes.items() if value is not None}
    if not given:
        before = session().call("rekall_show", {"id": id_})["content"]
        after = click.edit(before, extension=".md")
        if after is None or after == before:
            say("nothing changed")
            return
        given = {"content": after}
    changed = session().call("memory_update", {"id": id_, **given})
    if as_json:
        print_json(changed)
    elif not changed["changed"]:
        say("nothing changed")
    else:
        out.print(
            f"changed {', '.join(changed['changed'])} of {changed['entry']['id']}", markup=False
        )


@app.command()
def rm(
    id_: Id,
    restore: Annotated[bool, typer.Option("--restore", help="Bring a deleted entry back.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete an entry, so that it can be restored.

    Examples:
      commonplace memory rm 01M7KPP5BJ
      commonplace memory rm 01M7KPP5BJ --restore
    """
    done = session().call("memory_delete", {"id": id_, "restore": restore})
    if as_json:
        print_json(done)
    else:
        out.print(
            f"{'deleted' if done['deleted'] else 'restored'} {done['id']} {done['title']}",
            markup=False,
        )


@app.command()
def link(
    source: Annotated[str, typer.Argument(help="Id of the source.")],
    target: Annotated[str, typer.Argument(help="Id of the target.")],
    relation: Annotated[
        Relation, typer.Option("--relation", "--type", "-r", help="Kind of relation.")
    ] = Relation.RELATED,
    as_json: JsonFlag = False,
) -> None:
    """Link two entries; `--relation supersedes` retires the target.

    Example:
      commonplace memory link 01M7KPP5BJ 01M7KPP63B --relation supersedes
    """
    made = session().call(
        "rekall_link", {"source_id": source, "target_id": target, "relation_type": relation.value}
    )
    if as_json:
        print_json(made)
    else:
        out.print(
            f"{made['source']['title']} → {made['relation_type']} → {made['target']['title']}",
            markup=False,
        )


@app.command()
def related(
    id_: Id,
    depth: Annotated[
        int, typer.Option("--depth", "-d", min=1, max=3, help="Steps from the entry.")
    ] = 1,
    as_json: JsonFlag = False,
) -> None:
    """List the entries around one.

    Example:
      commonplace memory related 01M7KPP5BJ --depth 2
    """
    found = session().call("memory_related", {"id": id_, "depth": depth})
    if as_json:
        print_json(found)
        return
    out.print(
        table(("distance", "id", "type", "title", "status"), [_node(n) for n in found["entries"]])
    )


@app.command()
def graph(
    id_: Id,
    depth: Annotated[
        int, typer.Option("--depth", "-d", min=1, max=3, help="Steps from the entry.")
    ] = 2,
    as_json: JsonFlag = False,
) -> None:
    """Draw the links around an entry as a tree.

    Example:
      commonplace memory graph 01M7KPP5BJ
    """
    found = session().call("memory_related", {"id": id_, "depth": depth})
    if as_json:
        print_json(found)
        return
    titles = {node["id"]: f"{node['id'][:10]} {node['title']}" for node in found["entries"]}
    root = found["entries"][0]["id"]
    tree = Tree(plain_text(titles[root], style="bold"))
    _grow(tree, root, titles, found["links"], {root})
    out.print(tree)


@app.command()
def suggest(
    accept: Annotated[str | None, typer.Option("--accept", help="Accept this suggestion.")] = None,
    reject: Annotated[
        str | None, typer.Option("--reject", help="Reject this suggestion, for good.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=50, help="Most of each kind.")
    ] = 10,
    as_json: JsonFlag = False,
) -> None:
    """List what memory proposes, or decide on it.

    Examples:
      commonplace memory suggest
      commonplace memory suggest --accept 01M7KPP6XA
    """
    if accept and reject:
        raise typer.BadParameter("Decide on one suggestion at a time: --accept or --reject.")
    if accept or reject:
        tool = "rekall_accept_suggestion" if accept else "rekall_reject_suggestion"
        decided = session().call(tool, {"suggestion_id": accept or reject})
        if as_json:
            print_json(decided)
        else:
            out.print(
                decided.get("generalize_command") or decided.get("action_taken") or "rejected",
                markup=False,
            )
        return
    pairs = session().call("rekall_suggest_links", {"limit": limit})
    clusters = session().call("rekall_suggest_generalize", {"limit": limit})
    if as_json:
        print_json({"links": pairs, "generalize": clusters})
        return
    rows = [
        (
            s["id"],
            s["suggestion_type"],
            f"{s['score']:.2f}",
            f"{s['entry_a']['title']} / {s['entry_b']['title']}",
            s["reason"],
        )
        for s in pairs["suggestions"]
    ]
    rows += [
        (
            s["id"],
            "generalize",
            f"{s['score']:.2f}",
            " / ".join(e["title"] for e in s["entries"]),
            s["reason"],
        )
        for s in clusters["suggestions"]
    ]
    out.print(table(("id", "kind", "score", "entries", "reason"), rows))
    say(f"{pairs['total_pending'] + clusters['total_pending']} pending; --accept ID or --reject ID")


@app.command()
def generalize(
    ids: Annotated[list[str], typer.Argument(help="Ids of two or more entries.")],
    title: Annotated[str | None, typer.Option("--title", help="Title of the pattern.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the draft, keep nothing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Draft one pattern from several entries: what they share, the errors they repeat, where it
    comes from.

    Example:
      commonplace memory generalize 01M7KPP5BJ 01M7KPP63B --dry-run
    """
    memory = service()

    async def work() -> Generalized:
        return await memory.generalize(LOCAL_TENANT, ids, title, dry_run=dry_run)

    made = (
        run(work())
        if dry_run
        else session().change("memory", "memory_generalize", {"ids": ids, "title": title}, work)
    )
    kept = made.added.entry.id if made.added else None
    if as_json:
        print_json(
            {
                "id": kept,
                "title": made.draft.title,
                "content": made.draft.content,
                "sources": [e.id for e in made.sources],
                "dry_run": dry_run,
            }
        )
        return
    for entry in made.sources:
        if entry.memory_type.value != "episodic":
            say(f"{entry.id} is {entry.memory_type.value}, not episodic")
    out.print(plain_text(made.draft.title, style="bold"))
    out.print(plain_text(made.draft.content))
    say("dry run: nothing was kept" if kept is None else f"kept as {kept}")


@app.command()
def stale(
    days: Annotated[
        int | None, typer.Option("--days", min=1, help="Not read or changed for so long.")
    ] = None,
    limit: Limit = 20,
    as_json: JsonFlag = False,
) -> None:
    """List entries that nobody has read or changed for long.

    Example:
      commonplace memory stale --days 180
    """
    found = session().call(
        "memory_stale", {"limit": min(max(limit, 1), 200), **({"days": days} if days else {})}
    )
    if as_json:
        print_json(found)
        return
    rows = [
        (e["id"], e["type"], e["title"], (e["last_accessed"] or "never")[:10], e["access_count"])
        for e in found["entries"]
    ]
    out.print(table(("id", "type", "title", "last read", "reads"), rows))
    say(f"{len(rows)} of {found['total']} not read or changed for {found['days']} days")


app.command("export")(memory_store.export_entries)
app.command("import")(memory_store.import_entries)
app.command()(memory_store.stats)
app.command()(memory_store.reindex)
app.command()(memory_store.embed)


def _split(tags: list[str] | None) -> list[str]:
    return [tag.strip() for given in tags or [] for tag in given.split(",") if tag.strip()]


def _project(name: str) -> str:
    return current_project() if name == "." else name


def _node(node: dict[str, Any]) -> tuple[Any, ...]:
    return node["distance"], node["id"], node["type"], node["title"], node["status"]


def _grow(
    tree: Tree, at: str, titles: dict[str, str], links: list[dict[str, str]], seen: set[str]
) -> None:
    for edge in links:
        if at not in (edge["source_id"], edge["target_id"]):
            continue
        outward = edge["source_id"] == at
        other = edge["target_id"] if outward else edge["source_id"]
        if other in seen or other not in titles:
            continue
        seen.add(other)
        branch = tree.add(
            plain_text(f"{'→' if outward else '←'} {edge['relation_type']} {titles[other]}")
        )
        _grow(branch, other, titles, links, seen)
