"""Commands that keep memory in order: decide, confirm, timeline and purge."""

from __future__ import annotations

import contextlib
import os
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from commonplace.cli.memory.access import Id, Limit, project_name
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.json_types import JsonObject

Project = Annotated[
    str | None,
    typer.Option("--project", "-p", help="Only this project; . for the one around you."),
]


class SuggestionKind(StrEnum):
    LINK = "link"
    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    GENERALIZE = "generalize"


class DecisionName(StrEnum):
    ACCEPT = "accept"
    REJECT = "reject"


def decide(
    decision: Annotated[DecisionName, typer.Argument(help="accept or reject.")],
    kind: Annotated[
        list[SuggestionKind] | None,
        typer.Option("--kind", "-k", help="Only this kind; give it several times for more."),
    ] = None,
    min_score: Annotated[
        float, typer.Option("--min-score", min=0, max=1, help="Lowest score.")
    ] = 0.0,
    max_score: Annotated[
        float, typer.Option("--max-score", min=0, max=1, help="Highest score.")
    ] = 1.0,
    project: Project = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Accept or reject many suggestions at once; accepted duplicates are merged.

    Examples:
      commonplace memory decide reject --kind link --max-score 0.6 --dry-run
      commonplace memory decide accept --kind duplicate --min-score 0.95 --project .
    """
    arguments: JsonObject = {
        "decision": decision.value,
        "min_score": min_score,
        "max_score": max_score,
        "dry_run": dry_run,
    }
    arguments |= {"types": [each.value for each in kind]} if kind else {}
    arguments |= {"project": project_name(project)} if project else {}
    done = session().call("memory_decide", arguments)
    if as_json:
        print_json(done)
        return
    if done["matched_by_type"]:
        out.print(table(("kind", "matched"), sorted(done["matched_by_type"].items())))
    if not done["matched"]:
        say("no pending suggestion matches; list them: commonplace memory suggest")
        return
    if dry_run:
        say(f"dry run: {done['matched']} would be {done['decision']}")
        return
    out.print(
        f"{done['decision']} {done['decided']} of {done['matched']}, "
        f"{done['links_created']} links created, {done['merged']} merged",
        markup=False,
    )
    for refused in done.get("refused", ()):
        say(f"left undecided: {refused['id']}: {refused['reason']}")
    for command in done.get("generalize_commands", ()):
        out.print(command, markup=False)
    if done.get("hint"):
        say(done["hint"])


def confirm(
    id_: Id,
    refuted: Annotated[
        bool, typer.Option("--refuted", help="It was wrong; without it, it helped.")
    ] = False,
    note: Annotated[str, typer.Option("--note", help="Why, in a sentence.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Report that an entry helped, or that it was wrong; its strength moves.

    Examples:
      commonplace memory confirm 01M7KPP5BJ
      commonplace memory confirm 01M7KPP5BJ --refuted --note "Fixed in version 3"
    """
    outcome = "refuted" if refuted else "confirmed"
    done = session().call("memory_confirm", {"id": id_, "outcome": outcome, "note": note})
    if as_json:
        print_json(done)
        return
    out.print(
        f"{outcome} {done['id']} {done['title']}: strength {done['strength']:.2f} "
        f"({done['confirmed']} confirmed, {done['refuted']} refuted)",
        markup=False,
    )


def timeline(
    days: Annotated[int, typer.Option("--days", "-d", min=1, help="Days up to the last.")] = 30,
    until: Annotated[
        str | None, typer.Option("--until", help="Last day, YYYY-MM-DD; default today.")
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", help="Such as Europe/Paris; default that of this machine."),
    ] = None,
    project: Project = None,
    entry: Annotated[str | None, typer.Option("--id", help="Only this entry.")] = None,
    limit: Limit = 50,
    as_json: JsonFlag = False,
) -> None:
    """Show what was added, changed, superseded and contradicted, by day.

    Example:
      commonplace memory timeline --days 7 --project .
    """
    if until is not None and not _is_day(until):
        raise typer.BadParameter("--until is a day, YYYY-MM-DD.")
    zone = timezone or find_zone_name()
    arguments: JsonObject = {
        "days": days,
        "limit": min(max(limit, 1), 500),
        "timezone": zone,
    }
    arguments |= {"until": until} if until else {}
    arguments |= {"project": project_name(project)} if project else {}
    arguments |= {"id": entry} if entry else {}
    found = session().call("memory_timeline", arguments)
    if as_json:
        print_json(found)
        return
    counts = {day["day"]: day["counts"] for day in found["by_day"]}
    shown = ""
    rows: list[tuple[str, ...]] = []
    for event in found["events"]:
        moment = datetime.fromisoformat(event["at"]).astimezone(ZoneInfo(zone))
        day = moment.date().isoformat()
        if day != shown:
            summary = ", ".join(f"{count} {kind}" for kind, count in counts[day].items())
            rows.append((day, "", summary, ""))
            shown = day
        rows.append((f"{moment:%H:%M}", event["kind"], *_describe(event)))
    out.print(table(("when", "what", "entry", ""), rows))
    say(f"{len(found['events'])} of {found['total']} events; times of {zone}")


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text


def find_zone_name() -> str:
    """Return the name of the machine's time zone, UTC if it has none that is known."""
    linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    for name in (os.environ.get("TZ", "").removeprefix(":"), linked):
        with contextlib.suppress(ZoneInfoNotFoundError, ValueError, OSError):
            if name:
                return ZoneInfo(name).key
    return "UTC"


def _describe(event: JsonObject) -> tuple[str, str]:
    entry, other = event.get("entry"), event.get("other")
    named = f"{entry['id'][:10]} {entry['title']}" if entry else event.get("detail", "")
    beside = f"by {other['id'][:10]} {other['title']}" if other else ""
    return named, beside or (event.get("detail", "") if entry else "")


def purge(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Entries; default: all deleted.")
    ] = None,
    days: Annotated[
        int | None,
        typer.Option("--days", min=0, help="Only what was deleted or replaced longer ago."),
    ] = None,
    history: Annotated[
        bool,
        typer.Option("--history/--no-history", help="Also earlier states of entries that stay."),
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove the text of deleted entries and of earlier states for good.

    An entry that is given and not deleted stays, without its earlier states.

    Examples:
      commonplace memory purge --days 30 --dry-run
      commonplace memory purge 01M7KPP5BJ --yes
    """
    if ids and days is not None:
        raise typer.BadParameter("Give entries or --days, not both.")
    arguments: JsonObject = {"history": history}
    arguments |= {"ids": ids} if ids else {"older_than_days": days or 0}
    counted = session().call("memory_purge", {**arguments, "dry_run": True})
    what = f"{counted['purged']} entries and {counted['revisions']} earlier states"
    if dry_run:
        if as_json:
            print_json(counted)
        else:
            out.print(f"would purge {what}", markup=False)
            if counted.get("hint"):
                say(counted["hint"])
        return
    if not (counted["purged"] or counted["revisions"]):
        done = counted | {"dry_run": False}
    else:
        if not yes and not typer.confirm(f"Purge {what}? This cannot be undone."):
            raise typer.Exit(1)
        done = session().call("memory_purge", arguments)
    if as_json:
        print_json(done)
        return
    out.print(
        f"purged {done['purged']} entries and {done['revisions']} earlier states", markup=False
    )
    if done.get("hint"):
        say(done["hint"])
