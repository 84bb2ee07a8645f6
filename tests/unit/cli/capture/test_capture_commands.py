"""`commonplace capture`: read a transcript, then decide about what it proposes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from command_runs import run, run_json

pytestmark = pytest.mark.usefixtures("clean_home")

TEXT = """User: Never push to the release branch directly.
User: We decided to use Kafka instead of RabbitMQ because we need replay.
"""


class Piped(io.TextIOWrapper):
    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))


def write(folder: Path, text: str = TEXT) -> Path:
    path = folder / "work" / "session.txt"
    path.write_text(text)
    return path


def test_a_person_reads_lists_edits_accepts_and_rejects(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path = str(write(clean_home))
    preview = run_json(capsys, "capture", path, "--dry-run")
    assert len(preview["proposals"]) == 2
    assert run_json(capsys, "capture", "list")["total"] == 0
    answer = run_json(capsys, "capture", path, "--project", "shop")
    rule, lesson = answer["queued"]
    assert (rule["kind"], lesson["kind"], lesson["project"]) == ("rule", "lesson", "shop")
    assert "Kafka" in run(capsys, "capture", "list", "--kind", "lesson")
    assert "release branch" in run(capsys, "capture", "show", rule["id"][:5])
    edited = run_json(capsys, "capture", "edit", lesson["id"], "--title", "Kafka it is")
    assert edited["title"] == "Kafka it is"
    accepted = run_json(capsys, "capture", "accept", lesson["id"])
    assert accepted["result"].startswith("memory:")
    run(capsys, "capture", "accept", lesson["id"], expect=5)
    assert "rejected" in run(capsys, "capture", "reject", rule["id"])
    assert run_json(capsys, "capture", "list", "--state", "rejected")["total"] == 1
    again = run_json(capsys, "capture", "read", path)
    assert again["queued"] == []
    assert len(again["duplicates"]) == 2


def test_several_are_accepted_at_once_and_a_wrong_id_does_not_stop_them(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    queued = run_json(capsys, "capture", str(write(clean_home)))["queued"]
    ids = [item["id"] for item in queued]
    answer = run_json(capsys, "capture", "accept", ids[0], "000000", ids[1], expect=3)
    assert [("error" in result) for result in answer["results"]] == [False, True, False]
    assert run_json(capsys, "capture", "list", "--state", "accepted")["total"] == 2


def test_an_event_of_a_hook_names_the_transcript_and_nothing_is_printed(
    capsys: pytest.CaptureFixture[str], clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(clean_home)
    event = {
        "session_id": "s-9",
        "transcript_path": str(path),
        "cwd": str(clean_home / "work"),
        "hook_event_name": "SessionEnd",
        "reason": "other",
    }
    monkeypatch.setattr(sys, "stdin", Piped(json.dumps(event).encode()))
    assert run(capsys, "capture") == ""
    items = run_json(capsys, "capture", "list")["items"]
    assert {item["session"] for item in items} == {"s-9"}
    assert {item["project"] for item in items} == {"work"}
    event["transcript_path"] = str(clean_home / "missing.jsonl")
    monkeypatch.setattr(sys, "stdin", Piped(json.dumps(event).encode()))
    assert run(capsys, "capture") == ""


def test_a_transcript_may_be_piped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(TEXT.encode()))
    assert len(run_json(capsys, "capture", "--project", "shop")["queued"]) == 2


def test_a_file_that_cannot_be_read_is_said(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    run(capsys, "capture", str(clean_home / "nothing.jsonl"), expect=2)
    run(capsys, "capture", str(clean_home), expect=2)


def test_global_options_stand_anywhere(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path, other = str(write(clean_home)), str(clean_home / "other")
    assert len(run_json(capsys, "capture", "--data", other, path)["queued"]) == 2
    assert run_json(capsys, "capture", "--data", other, "list")["total"] == 2
    assert run_json(capsys, "capture", "list")["total"] == 0
