"""`commonplace capture [FILE]`: propose lessons and rules from a transcript."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.context.capture.transcript import SessionTranscript

MOST_EVENT_BYTES = 1024 * 1024


def read(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Transcript: JSON Lines of Claude Code or Codex, Markdown or text. Without it, "
            "stdin: a transcript, or the JSON of a session-end hook, which names one."
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", "-p", help="Project of the lessons; else the folder of the session."
        ),
    ] = None,
    session_id: Annotated[
        str, typer.Option("--session", help="Id of the session, if the transcript has none.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be proposed; queue nothing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Propose lessons and rules from a session: errors and fixes, decisions, rules, commands.

    Secrets are masked, and what is known already is left out. Nothing is kept before you accept it.
    `commonplace capture FILE` is short for this.

    Examples:
      commonplace capture read ~/.claude/projects/-work-shop/5e55.jsonl
      commonplace capture read notes.md --project shop --dry-run
      commonplace capture read < session-end-event.json
    """
    from commonplace.cli.memory.access import project_name

    is_event = False
    if file is None or str(file) == "-":
        transcript, is_event = _read_stdin()
    else:
        transcript = read_transcript(file)
    if transcript is None:  # a session without a transcript
        return
    if session_id:
        transcript = replace(transcript, session=session_id)
    name = project_of(transcript.folder) if project is None else project_name(project)
    if dry_run:
        _show_dry_run(transcript, name, as_json)
        return
    answer = capture_session(transcript, name)
    if as_json:
        print_json(answer)
    elif not is_event:
        print_outcome(answer)


def capture_session(transcript: SessionTranscript, project: str) -> JsonObject:
    """Queue the proposals of a session, with the permissions and the audit record of a tool."""
    from commonplace.context.tools.capture.shapes import show_outcome
    from commonplace.kernel.auth import local_user

    here = session()
    outcome = here.change(
        "context",
        "capture_transcript",
        {"session": transcript.session, "project": project, "steps": len(transcript.steps)},
        lambda: here.app().services.capture.capture(local_user(), transcript, project),
    )
    return show_outcome(outcome)


def read_transcript(path: Path) -> SessionTranscript:
    """Read a transcript file within limits."""
    from commonplace.context.capture.reading.transcripts import read_file

    try:
        with path.open("rb") as opened:
            state = os.fstat(opened.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise CommonplaceError(
                    INVALID_ARGUMENT,
                    f"{path} is not a file.",
                    hint="Name the file of a transcript, or pipe it in.",
                )
            return read_file(opened, state.st_size)
    except OSError as problem:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{path} cannot be read: {problem.strerror}.",
            hint="Name the file of a transcript.",
        ) from None


def project_of(folder: str) -> str:
    """Return the name of the repository that a session worked in; empty if it is not known."""
    from commonplace.cli.memory.access import current_project

    if not folder:
        return ""
    try:
        return current_project(Path(folder))
    except (OSError, ValueError):
        return Path(folder).name


def _read_stdin() -> tuple[SessionTranscript | None, bool]:
    """Read a transcript, or the event of a hook; also returns whether it was an event."""
    from commonplace.context.capture.reading.limits import MOST_BYTES
    from commonplace.context.capture.reading.transcripts import read_bytes

    if sys.stdin.isatty():
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "There is no transcript.",
            hint="Name its file, or pipe it in: commonplace capture FILE.",
        )
    content = sys.stdin.buffer.read(MOST_BYTES)
    event = _read_event(content)
    if event is None:
        return read_bytes(content), False
    path = event.get("transcript_path")
    if not isinstance(path, str) or not Path(path).is_file():
        return None, True  # a session without a message has no file
    transcript = read_transcript(Path(path))
    given, folder = event.get("session_id"), event.get("cwd")
    return replace(
        transcript,
        session=given[:256] if isinstance(given, str) else transcript.session,
        folder=folder[:4096] if isinstance(folder, str) and folder else transcript.folder,
    ), True


def _read_event(content: bytes) -> JsonObject | None:
    """Return the event of a hook, if that is what was piped in."""
    if len(content) > MOST_EVENT_BYTES or b"transcript_path" not in content:
        return None
    try:
        event = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and "transcript_path" in event else None


def _show_dry_run(transcript: SessionTranscript, project: str, as_json: bool) -> None:
    from commonplace.context.capture.engine.extract import extract

    found = extract(transcript.steps, project, folder=transcript.folder)
    rows: list[JsonObject] = [
        {
            "kind": item.text.kind.value,
            "type": item.text.type.value,
            "title": item.text.title,
            "content": item.text.content,
            "reason": item.reason,
            "strength": item.strength,
        }
        for item in found
    ]
    if as_json:
        print_json({"proposals": rows, "steps": len(transcript.steps)})
        return
    for row in rows:
        out.print(f"{row['kind']}: {row['title']}", style="bold", markup=False)
        out.print(row["content"], markup=False)
        out.print()
    say(f"{len(rows)} proposals; nothing was queued")


def print_outcome(answer: JsonObject) -> None:
    """Print what a capture did."""
    rows = [
        (item["id"], item["kind"], state, item["title"])
        for state, items in (("waits", answer["queued"]), ("accepted", answer["accepted"]))
        for item in items
    ]
    if rows:
        out.print(table(("id", "kind", "state", "title"), rows))
    for known in answer["duplicates"]:
        say(f"known already: {known['title']} ({known['same_as']})")
    if answer["unreadable"]:
        say(f"{answer['unreadable']} lines could not be read and were left out")
    if answer["cut"]:
        say("the transcript is large: only its end was read")
    if answer["queued"]:
        say("decide with commonplace capture accept|edit|reject ID")
    elif not rows:
        say("nothing new to propose")
