"""Events of reviews in a file: torn lines, other processes, and shortening."""

from __future__ import annotations

from pathlib import Path

from commonplace.instructions.engine.review.events import ReviewAction, ReviewEvent
from commonplace.instructions.store.review.file import ReviewFile
from commonplace.instructions.store.review.log import ReviewLog


def event(id_: str, action: ReviewAction, note: str = "", **fields: object) -> ReviewEvent:
    return ReviewEvent(id_, action, "2026-01-01T00:00:00.000Z", "alice", "team", note, **fields)  # type: ignore[arg-type]


def submit(id_: str, body: str) -> ReviewEvent:
    return event(id_, ReviewAction.SUBMIT, entry={"body": body})


def test_a_line_that_a_dying_process_left_does_not_hide_the_next(tmp_path: Path) -> None:
    log = ReviewLog(ReviewFile(tmp_path))
    log.append(submit("a", "one"))
    path = tmp_path / "reviews.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id":"a","action":"comm')
    assert len(log.thread("a").events) == 1
    log.append(event("a", ReviewAction.COMMENT, "after the crash"))
    assert [each.note for each in log.thread("a").events] == ["", "after the crash"]
    assert [each.note for each in ReviewLog(ReviewFile(tmp_path)).thread("a").events] == [
        "",
        "after the crash",
    ]


def test_events_of_another_process_are_seen(tmp_path: Path) -> None:
    one, two = ReviewLog(ReviewFile(tmp_path)), ReviewLog(ReviewFile(tmp_path))
    assert two.threads() == {}
    one.append(submit("a", "one"))
    assert two.threads()["a"].proposal == {"body": "one"}
    two.append(event("a", ReviewAction.WITHDRAW))
    assert one.threads()["a"].proposal is None


def test_a_long_log_keeps_what_waits_and_forgets_old_texts(tmp_path: Path) -> None:
    log = ReviewLog(ReviewFile(tmp_path, keep_bytes=20_000))
    log.append(submit("open", "waits"))
    log.append(event("open", ReviewAction.COMMENT, "still here"))
    for number in range(100):
        log.append(submit("done", "x" * 1000))
        log.append(event("done", ReviewAction.APPROVE, f"round {number}"))
    assert (tmp_path / "reviews.jsonl").stat().st_size < 40_000
    thread = ReviewLog(ReviewFile(tmp_path, keep_bytes=20_000)).thread("open")
    assert (thread.proposal, thread.is_open) == ({"body": "waits"}, True)
    assert log.thread("open").events[-1].note == "still here"
    assert log.thread("done").events[-1].note == "round 99"
    assert log.thread("done").proposal is None
