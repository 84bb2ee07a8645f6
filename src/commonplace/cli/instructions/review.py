"""`commonplace instructions review`: what waits for a decision, and the decision."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from commonplace.cli.instructions.access import Id, call
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.terminal import write_text
from commonplace.kernel.json_types import JsonObject

app = typer.Typer(
    help="Review of drafts and proposed changes: list, show, submit, comment, decide.",
    no_args_is_help=True,
)

Note = Annotated[str, typer.Option("--note", "-m", help="What to say about it.")]
Seen = Annotated[
    str | None,
    typer.Option("--hash", help="Hash that `review show` printed; else the change is shown first."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
COLUMNS = ("id", "title", "kind", "state", "submittedBy", "submittedAt", "comments")


@app.command("list")
def list_reviews(
    state: Annotated[
        str, typer.Option(help="review (waits for a decision), draft (for its author) or all.")
    ] = "review",
    limit: Annotated[int, typer.Option(help="Most entries shown.")] = 50,
    as_json: JsonFlag = False,
) -> None:
    """Show what waits, longest waiting first.

    Examples:
      commonplace instructions review list
      commonplace instructions review list --state all --json
    """
    answer = call("instructions_review_list", state=state, limit=limit)
    if as_json:
        print_json(answer)
        return
    rows = [[item.get(column, "") for column in COLUMNS] for item in answer["items"]]
    if rows:
        out.print(table(COLUMNS, rows))
    say(f"{len(rows)} of {answer['count']}")


@app.command()
def show(id_: Id, as_json: JsonFlag = False) -> None:
    """Show a change that waits: its difference, its comments, and its hash.

    Example:
      commonplace instructions review show no-force-push
    """
    answer = call("instructions_review_show", id=id_, full=True)
    if as_json:
        print_json(answer)
    else:
        _print_review(answer)


def _print_review(answer: JsonObject) -> None:
    write_text(f"{answer['id']}: {answer['title']}\n")
    what = "change of an approved instruction" if answer["kind"] == "proposal" else "instruction"
    write_text(f"{answer['state']}, {what}, by {', '.join(answer['authors']) or 'unknown'}\n\n")
    for name, sides in answer["diff"]["fields"].items():
        write_text(f"{name}: {sides['from']} -> {sides['to']}\n")
    if answer["diff"]["bodyDiff"]:
        write_text(f"\n{answer['diff']['bodyDiff']}\n")
    for event in answer["events"]:
        note = f": {event['note']}" if event.get("note") else ""
        write_text(f"\n{event['at']} {event['by']} {event['action']}{note}")
    write_text(f"\n\nhash {answer['reviewHash']}\n")
    if answer.get("refusal"):
        say(answer["refusal"])


@app.command()
def submit(
    id_: Id,
    body: Annotated[
        str | None,
        typer.Argument(help="New text of an approved instruction; - reads it from stdin."),
    ] = None,
    note: Note = "",
    as_json: JsonFlag = False,
) -> None:
    """Ask for a review of a draft, or propose a new text for an approved instruction.

    Examples:
      commonplace instructions review submit my-draft -m "ready"
      commonplace instructions review submit no-force-push - -m "softer" < new.md
    """
    text = sys.stdin.read() if body == "-" else body
    entry = {"body": text} if text is not None else None
    answer = call("instructions_review_submit", id=id_, entry=entry, note=note)
    _report(answer, as_json, "proposed a change of" if answer["proposed"] else "submitted")


@app.command()
def comment(
    id_: Id,
    text: Annotated[str, typer.Argument(help="The comment.")],
    as_json: JsonFlag = False,
) -> None:
    """Comment on a change that waits.

    Example:
      commonplace instructions review comment no-force-push "Say why."
    """
    _report(call("instructions_review_comment", id=id_, text=text), as_json, "commented on")


@app.command()
def approve(
    id_: Id, seen: Seen = None, note: Note = "", yes: Yes = False, as_json: JsonFlag = False
) -> None:
    """Approve a change, under your name, after it was shown.

    Examples:
      commonplace instructions review approve no-force-push
      commonplace instructions review approve no-force-push --hash 5f2c... -m "agreed"
    """
    if seen is None:
        shown = call("instructions_review_show", id=id_, full=True)
        if not as_json:
            _print_review(shown)
        if not yes and not typer.confirm(f"Approve {id_}?"):
            raise typer.Exit(1)
        seen = shown["reviewHash"]
    _decide(id_, "approve", seen, note, as_json, "approved")


@app.command("return")
def send_back(id_: Id, seen: Seen = None, note: Note = "", as_json: JsonFlag = False) -> None:
    """Send a change back to its author.

    Example:
      commonplace instructions review return no-force-push -m "Say why."
    """
    _decide(id_, "return", seen, note, as_json, "sent back")


@app.command()
def withdraw(id_: Id, note: Note = "", as_json: JsonFlag = False) -> None:
    """Drop a proposed change; a new instruction becomes a draft again.

    Example:
      commonplace instructions review withdraw no-force-push
    """
    _decide(id_, "withdraw", None, note, as_json, "withdrew")


def _decide(id_: str, decision: str, seen: str | None, note: str, as_json: bool, done: str) -> None:
    arguments = {"id": id_, "decision": decision, "reviewHash": seen, "note": note}
    _report(call("instructions_review_decide", **arguments), as_json, done)


def _report(answer: JsonObject, as_json: bool, done: str) -> None:
    if as_json:
        print_json(answer)
    else:
        say(f"{done} {answer['id']}; it is {answer['status']}")
