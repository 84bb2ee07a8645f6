"""Commands on links between entries and on suggestions."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.tree import Tree

from commonplace.cli.memory.access import (
    Id,
    run,
    service,
)
from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.memory.results import GeneralizeResult


class LinkRelation(StrEnum):
    RELATED = "related"
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"
    CONTRADICTS = "contradicts"


def link(
    source: Annotated[str, typer.Argument(help="Id of the source.")],
    target: Annotated[str, typer.Argument(help="Id of the target.")],
    relation: Annotated[
        LinkRelation, typer.Option("--relation", "--type", "-r", help="Kind of relation.")
    ] = LinkRelation.RELATED,
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


def related(
    id_: Id,
    depth: Annotated[
        int, typer.Option("--depth", "-d", min=1, max=3, help="Steps from the entry.")
    ] = 1,
    as_json: JsonFlag = False,
) -> None:
    """List the entries linked to an entry.

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


def suggest(
    accept: Annotated[str | None, typer.Option("--accept", help="Accept this suggestion.")] = None,
    reject: Annotated[
        str | None, typer.Option("--reject", help="Reject this suggestion permanently.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=50, help="Most of each kind.")
    ] = 10,
    as_json: JsonFlag = False,
) -> None:
    """List suggestions, or accept or reject one.

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
            _print_decided(decided)
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


def generalize(
    ids: Annotated[list[str], typer.Argument(help="Ids of two or more entries.")],
    title: Annotated[str | None, typer.Option("--title", help="Title of the pattern.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the draft and store nothing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Draft one pattern from several entries: shared text, repeated errors, sources.

    Example:
      commonplace memory generalize 01M7KPP5BJ 01M7KPP63B --dry-run
    """
    memory = service()

    async def work() -> GeneralizeResult:
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
    say("dry run: nothing was stored" if kept is None else f"stored as {kept}")


def _node(node: JsonObject) -> tuple[Any, ...]:
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


def _print_decided(decided: JsonObject) -> None:
    """Print what a decision did, and for a contradiction the command that settles it."""
    link = decided.get("link_created") or {}
    if link.get("relation_type") == LinkRelation.CONTRADICTS:
        ends = f"{link['source_id']} {link['target_id']}"
        out.print("linked as contradicting", markup=False)
        say(f"if the first holds: commonplace memory link {ends} -r supersedes")
        return
    done = decided.get("generalize_command") or decided.get("action_taken") or "rejected"
    out.print(done, markup=False)
