"""`commonplace capture list|show|accept|edit|reject`: decide about proposals."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from commonplace.cli.editor import edit_text, is_unchanged
from commonplace.cli.memory.access import EntryTypeName, split_tags
from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say, table
from commonplace.cli.session import fail, session
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject

Id = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the proposal, or its first 4 characters or more.")
]
Ids = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="Ids of proposals, or their first 4 characters or more."),
]


class ProposalKindName(StrEnum):
    LESSON = "lesson"
    RULE = "rule"


class ProposalStateName(StrEnum):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


def list_proposals(
    state: Annotated[
        ProposalStateName, typer.Option(help="What became of them.")
    ] = ProposalStateName.PENDING,
    kind: Annotated[
        ProposalKindName | None, typer.Option(help="Only lessons or only rules.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Most results.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Skip this many.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """List proposals, newest first.

    Examples:
      commonplace capture list
      commonplace capture list --state rejected --json
    """
    arguments: JsonObject = {"state": state.value, "limit": limit, "offset": offset}
    answer = session().call(
        "capture_list", arguments | ({"kind": kind.value} if kind is not None else {})
    )
    if as_json:
        print_json(answer)
        return
    rows = [
        (item["id"], item["kind"], item.get("type", ""), item["project"], item["title"])
        for item in answer["items"]
    ]
    if rows:
        out.print(table(("id", "kind", "type", "project", "title"), rows))
    say(f"{len(rows)} of {answer['total']}")


def show(id_: Id, as_json: JsonFlag = False) -> None:
    """Show a proposal: what it says, why it was proposed, and what is similar.

    Example:
      commonplace capture show 3f9a
    """
    item = session().call("capture_show", {"id": id_})
    if as_json:
        print_json(item)
        return
    facts = [item["kind"], item.get("type", ""), item["state"], item["project"], item["reason"]]
    out.print(plain_text(item["title"], style="bold"))
    out.print(plain_text(f"{item['id']}: {'; '.join(filter(None, facts))}"), style="dim")
    out.print(plain_text(item["content"]))
    if item["similar"]:
        out.print(plain_text(f"similar: {', '.join(item['similar'])}"))
    if "result" in item:
        out.print(plain_text(f"became {item['result']}, decided by {item['decided_by']}"))


def accept(ids: Ids, as_json: JsonFlag = False) -> None:
    """Accept proposals: lessons go to memory, rules to the instructions as drafts.

    Examples:
      commonplace capture accept 3f9a
      commonplace capture accept 3f9a 81c2 --json
    """
    _decide("capture_accept", ids, as_json)


def reject(ids: Ids, as_json: JsonFlag = False) -> None:
    """Reject proposals, so that they are not proposed again.

    Example:
      commonplace capture reject 81c2
    """
    _decide("capture_reject", ids, as_json)


def _decide(tool: str, ids: list[str], as_json: bool) -> None:
    """Decide about each; one that fails does not stop the others."""
    answers: list[JsonObject] = []
    failed: CommonplaceError | None = None
    for id_ in ids:
        try:
            answer = session().call(tool, {"id": id_})
        except CommonplaceError as error:
            if len(ids) == 1:
                raise
            failed = error
            answers.append({"id": id_, "error": error.as_dict()})
            continue
        answers.append(answer)
        if not as_json:
            _print_decision(answer)
    if as_json:
        print_json(answers[0] if len(ids) == 1 else {"results": answers})
    if failed is not None:
        raise typer.Exit(fail(failed))


def _print_decision(answer: JsonObject) -> None:
    if "proposal" not in answer:
        out.print(plain_text(f"rejected {answer['id']}: {answer['title']}"))
        return
    verb = "added" if answer["created"] else "already there:"
    out.print(plain_text(f"{verb} {answer['result']}: {answer['proposal']['title']}"))
    for note in answer["notes"]:
        say(note)
    if answer["similar"]:
        say(f"similar: {', '.join(answer['similar'])}")
    if answer["contradicts"]:
        say(f"contradicts {', '.join(answer['contradicts'])}; see commonplace memory suggest")


def edit(
    id_: Id,
    title: Annotated[str | None, typer.Option(help="At most 100 characters.")] = None,
    content: Annotated[
        str | None, typer.Option(help="What it says; without any option, an editor opens.")
    ] = None,
    kind: Annotated[
        ProposalKindName | None, typer.Option(help="Make it a lesson or a rule.")
    ] = None,
    type_: Annotated[
        EntryTypeName | None, typer.Option("--type", "-t", help="Type of a lesson.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Replace the tags; repeat or separate by commas.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="Project of a lesson.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Change a proposal before you accept it.

    Examples:
      commonplace capture edit 3f9a
      commonplace capture edit 3f9a --title "Install the test extra first" --kind rule
    """
    given: JsonObject = {
        "title": title,
        "content": content,
        "kind": None if kind is None else kind.value,
        "type": None if type_ is None else type_.value,
        "tags": None if tag is None else split_tags(tag),
        "project": project,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if changes:
        changed = session().call("capture_edit", {"id": id_, **changes})
    else:
        item = session().call("capture_show", {"id": id_})
        before = f"{item['title']}\n\n{item['content']}"
        with edit_text(item["id"], before, "use --title and --content") as after:
            if is_unchanged(before, after):
                say("nothing was changed")
                return
            head, _, rest = after.strip().partition("\n")
            changed = session().call(
                "capture_edit", {"id": item["id"], "title": head.strip(), "content": rest.strip()}
            )
    if as_json:
        print_json(changed)
    else:
        out.print(plain_text(f"changed {changed['id']}: {changed['title']}"))
