"""Durable files under trouble: retries, foreign edits, lost journals, silent file systems, usage
on disk.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.instructions.engine.catalogue import FEW
from commonplace.instructions.model import LOCAL_ACTOR
from commonplace.instructions.service import Service
from commonplace.instructions.store.directory import MARKER, Directory, Retries
from commonplace.instructions.store.journal import (
    SAME_SECONDS,
    SHARED_SECONDS,
    Journal,
    Marker,
    state_directory,
)
from commonplace.instructions.store.search_index import MOST_WAITING
from commonplace.instructions.store.usage import Usage
from commonplace.instructions.store.watcher import Watcher
from commonplace.instructions.usecases.writing import Writing
from commonplace.kernel.errors import CommonplaceError, Kind
from commonplace.kernel.settings import InstructionsSettings


def served(home: Path, **settings: Any) -> Service:
    return Service(
        home / "in",
        home,
        InstructionsSettings(watch=False, **settings),
        mutation_enabled=lambda: True,
    )


def add(service: Service, id_: str, body: str = "Body") -> dict[str, Any]:
    return Writing(service).add(
        {"id": id_, "body": body}, overwrite=True, lax=True, actor=LOCAL_ACTOR
    )[0]


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come to hold"
        time.sleep(0.01)


def timed(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def test_reads_are_tried_again_as_often_as_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("a.json")  # opening a socket fails, and is no missing file

        def read(retries: Retries) -> None:
            assert Directory(tmp_path, retries=retries).read("a.json").rejection is not None

        assert timed(lambda: read(Retries(reads=2, read_backoff_seconds=0.1))) >= 0.3
        assert timed(lambda: read(Retries(reads=0, read_backoff_seconds=5.0))) < 4


def test_writes_are_tried_again_as_often_as_configured(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()  # no file can take this name

    def write(retries: Retries) -> None:
        directory = Directory(tmp_path, retries=retries)
        (staged,) = directory.stage_all([("a", b"{}")])
        with pytest.raises(CommonplaceError) as failed:
            directory.place(staged)
        directory.discard([staged])
        assert failed.value.code.name == "CATALOGUE_UNWRITABLE"

    assert timed(lambda: write(Retries(writes=2, write_backoff_seconds=0.1))) >= 0.3
    assert timed(lambda: write(Retries(writes=0, write_backoff_seconds=5.0))) < 4
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_failed_write_leaves_no_trace(tmp_path: Path) -> None:
    service = served(tmp_path, write_retries=0)
    add(service, "ok")
    (tmp_path / "in" / "a.json").mkdir()
    before = service.list_entries(None, None, 0, None)
    with pytest.raises(CommonplaceError):
        add(service, "a")
    assert service.list_entries(None, None, 0, None) == before
    assert not list((tmp_path / "in").glob(".*.tmp"))
    assert add(service, "b")["created"]


def test_a_lost_journal_is_noticed_and_nothing_is_missed(tmp_path: Path) -> None:
    one, two = served(tmp_path), served(tmp_path)
    add(one, "a")
    assert two.get("a")["item"]
    (tmp_path / ".in.commonplace" / "journal").unlink()
    add(one, "b")
    until(lambda: "item" in two.get("b"), 5)
    add(two, "c")
    until(lambda: "item" in one.get("c"), 5)
    assert one.governance_hash(False) == two.governance_hash(False)


def test_a_rotated_journal_loses_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.instructions.store.journal.ROTATE_BYTES", 300)
    one, two = served(tmp_path), served(tmp_path)
    for number in range(12):
        add(one if number % 2 else two, f"n{number}")
        assert "item" in one.get(f"n{number}")
        assert "item" in two.get(f"n{number}")
    assert (
        one.list_entries(None, None, 0, None)["hash"]
        == two.list_entries(None, None, 0, None)["hash"]
    )


def test_only_one_holds_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.instructions.store.journal.LOCK_SECONDS", 0.05)
    with (
        Journal(tmp_path).locked(),
        pytest.raises(CommonplaceError) as busy,
        Journal(tmp_path).locked(),
    ):
        pass
    assert busy.value.code.kind is Kind.UNAVAILABLE
    assert busy.value.retryable


def test_the_state_of_a_folder_is_beside_it_whatever_the_data_folder(tmp_path: Path) -> None:
    link = tmp_path / "link"
    (tmp_path / "real").mkdir()
    link.symlink_to(tmp_path / "real")
    assert state_directory(link, tmp_path / "x") == state_directory(
        tmp_path / "real", tmp_path / "y"
    )
    service = served(tmp_path)
    add(service, "a")
    assert (tmp_path / ".in.commonplace" / ".gitignore").read_text() == "*\n"
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == [
        ".catalog-version",
        "a.json",
    ]


def test_many_threads_add_at_once_and_each_hears_its_own_answer(tmp_path: Path) -> None:
    service = served(tmp_path)
    writing = Writing(service)
    answers: dict[str, Any] = {}

    def work(number: int) -> None:
        for turn in range(5):
            id_ = f"t{number}-{turn}" if number % 4 else "shared"
            entry = (
                {"id": id_, "body": f"{number} {turn}"}
                if number != 3
                else {"id": "Not An Id", "body": "x"}
            )
            answers[f"{number}-{turn}"] = writing.add(
                entry, overwrite=True, lax=True, actor=LOCAL_ACTOR
            )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key, (answer, accepted) in answers.items():
        number = int(key.split("-")[0])
        assert accepted is (number != 3)
        if number % 4 and number != 3:
            assert (answer["id"], answer["created"]) == (f"t{key}", True)
    assert sum(answer["created"] for answer, _ in answers.values() if answer["id"] == "shared") == 1
    assert len(service.shelf.history.changes("shared")) == 4 * 5
    assert service.verify()["issueCount"] == 0
    assert served(tmp_path).list_entries(None, None, 0, None) == service.list_entries(
        None, None, 0, None
    )


def test_adds_that_arrive_together_are_written_together_and_each_hears_its_own_answer(
    tmp_path: Path,
) -> None:
    service = served(tmp_path)
    writing = Writing(service)
    groups: list[int] = []
    commit = service.shelf.commit

    def counted(changes: Any, actor: Any) -> None:
        groups.append(len(changes))
        commit(changes, actor)

    service.shelf.commit = counted  # type: ignore[method-assign]
    entries = [{"id": f"a-{number}", "body": f"Body {number}"} for number in range(60)]
    entries += [{"id": "a-1", "body": "twice"}, {"id": "Not An Id", "body": "x"}]
    answers = added_together(writing, entries)
    for entry, (answer, accepted) in zip(entries, answers, strict=True):
        assert accepted is (entry["id"] != "Not An Id")
        assert answer["id"] == entry["id"]
    assert sum(groups) == 61
    assert len(groups) < 10
    assert service.get("a-1")["item"]["body"] == "twice"
    assert service.verify()["issueCount"] == 0
    service.close()


def test_a_disk_that_fails_fails_every_add_that_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served(tmp_path, write_retries=0)
    writing = Writing(service)
    add(service, "before")
    monkeypatch.setattr(os, "fsync", failing_fsync)
    failures = added_together(writing, [{"id": f"a-{number}", "body": "x"} for number in range(5)])
    assert [type(failure) for failure in failures] == [CommonplaceError] * 5
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "in").iterdir() if path.suffix != ""] == [
        "before.json"
    ]
    assert added_together(writing, [{"id": "after", "body": "x"}])[0][1]
    service.close()


def test_a_service_that_closes_writes_what_waits_and_can_be_used_again(tmp_path: Path) -> None:
    service = served(tmp_path)
    writing = Writing(service)

    async def close_in_between() -> list[Any]:
        asked = [
            asyncio.create_task(
                writing.add_with_others(
                    {"id": f"a-{n}", "body": "x"}, overwrite=True, lax=True, actor=LOCAL_ACTOR
                )
            )
            for n in range(40)
        ]
        await asyncio.sleep(0)  # all have asked, none was answered
        await asyncio.to_thread(service.close)
        assert not any(thread.name == "instructions-writer" for thread in threading.enumerate())
        return await asyncio.gather(*asked)

    assert [answer["created"] for answer, _ in asyncio.run(close_in_between())] == [True] * 40
    assert added_together(writing, [{"id": "later", "body": "x"}])[0][0]["created"]
    service.close()
    assert len(served(tmp_path).list_entries(None, None, 0, None)["items"]) == 41


def added_together(writing: Writing, entries: list[dict[str, str]]) -> list[Any]:
    async def all_at_once() -> list[Any]:
        asked = [
            writing.add_with_others(entry, overwrite=True, lax=True, actor=LOCAL_ACTOR)
            for entry in entries
        ]
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(all_at_once())


def failing_fsync(descriptor: int) -> None:
    raise OSError(5, "Input/output error")


def test_what_a_holder_had_begun_ends_where_it_ended_whatever_was_noted_before(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path)
    with journal.locked():
        assert journal.unfinished() == []
        journal.intend(["a-long-name", "another", "third"])
        assert journal.unfinished() == ["a-long-name", "another", "third"]
        journal.append([("a-long-name", "0")], "token")
        assert journal.unfinished() == []
        journal.intend(["b"])
        assert journal.unfinished() == ["b"]
    journal.close()


def test_the_record_of_beginnings_is_trimmed_and_may_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.instructions.store.history.KEEP_MADE_BYTES", 2000)
    one, two = served(tmp_path), served(tmp_path)
    for number in range(20):
        add(one if number % 2 else two, f"a{number}")
        made = next(tmp_path.glob(".in.commonplace")) / "history" / ".made.jsonl"
        assert made.stat().st_size < 3500
    assert one.shelf.history.changes("a19")
    made.unlink()
    add(one, "b")
    assert made.read_text().startswith('{"id":"b"')
    add(two, "c")
    assert len(made.read_text().splitlines()) == 2


def test_the_marker_is_written_where_its_name_is(tmp_path: Path) -> None:
    path = tmp_path / MARKER
    marker = Marker(path)
    assert marker.write("first and long")
    inode = path.stat().st_ino
    assert marker.write("second")
    assert (path.read_text(), path.stat().st_ino) == ("second", inode)
    (tmp_path / "other").write_text("theirs")
    (tmp_path / "other").replace(path)
    assert not marker.current()
    assert marker.write("third")
    assert path.read_text() == "third"
    path.unlink()
    assert marker.write("fourth")
    assert path.read_text() == "fourth"
    assert marker.current()
    assert marker.read() == "fourth"
    assert marker.write("fifth")
    assert path.read_text() == "fifth"
    marker.close()
    assert not Marker(tmp_path / "missing" / MARKER).write("x")


def test_a_marker_that_somebody_rewrites_is_noticed_however_old_it_is(tmp_path: Path) -> None:
    path = tmp_path / MARKER
    marker = Marker(path)
    for age in (0, 60):
        assert marker.write("ours")
        os.utime(path, (time.time() - age,) * 2)
        for _ in range(3):
            assert marker.current()
            time.sleep(2 * SHARED_SECONDS)
        path.write_text("them")
        assert not marker.current()
        assert marker.read() == "them"
        assert marker.current()
    (tmp_path / "elsewhere").write_text("x")
    os.link(path, tmp_path / "kept")
    (tmp_path / "elsewhere").replace(path)  # the file that was seen has another name yet
    time.sleep(2 * SAME_SECONDS)
    assert not marker.current()
    marker.close()
    assert not marker.current()


def test_a_marker_that_may_only_be_read_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / MARKER
    path.write_text("theirs")
    protected = path.stat().st_ino
    really_open = os.open

    def guarded(
        name: Any, flags: int, *rest: Any
    ) -> int:  # root may open anything, so the test guards the file itself
        if (
            str(name) == str(path)
            and flags & os.O_RDWR
            and path.exists()
            and path.stat().st_ino == protected
        ):
            raise PermissionError(13, "Permission denied")
        return really_open(name, flags, *rest)

    monkeypatch.setattr(os, "open", guarded)
    marker = Marker(path)
    assert marker.read() == "theirs"
    os.link(path, tmp_path / "kept")
    assert marker.write("ours")
    assert path.read_text() == "ours"
    assert (tmp_path / "kept").read_text() == "theirs"
    marker.close()


def test_what_changed_is_found_at_once_and_in_order_however_much_it_was(tmp_path: Path) -> None:
    service = served(tmp_path)
    add(service, "m", "an octopus")
    service.prepare_search()
    for count in (1, 3, 2 * MOST_WAITING, 2 * FEW):
        ids = [f"n{count}-{number:03}" for number in range(count)]
        for id_ in reversed(ids):
            add(service, id_, f"a walrus of {count}")
        assert service.search(f"walrus {count}", 1000, False)["count"] == count
        assert [
            item["id"] for item in service.list_entries(None, None, 0, None)["items"]
        ] == sorted(service.shelf.catalogue.entries)
        add(service, ids[0], "a heron")
        assert {item["id"] for item in service.search("heron", 10, False)["items"]} >= {ids[0]}
        Writing(service).remove(
            ids,
            confirm=True,
            cascade=False,
            missing_ok=False,
            expected_hash=None,
            actor=LOCAL_ACTOR,
        )
        assert (
            service.search("walrus", 10, False)["count"]
            == service.search("heron", 10, False)["count"]
            == 0
        )
    assert [item["id"] for item in service.search("octopus", 10, False)["items"]] == ["m"]


def test_a_catalogue_is_worked_out_beside_its_first_answers(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(100):
        (folder / f"a{number}.json").write_text(json.dumps({"id": f"a{number}", "body": "x"}))
    service = served(tmp_path)
    service.load()
    entries = list(service.shelf.catalogue)
    until(lambda: all(getattr(entry, "_rest", None) is None for entry in entries))
    service.close()


def test_a_service_that_closes_stops_working_its_catalogue_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(100):
        (tmp_path / "in" / f"a{number}.json").write_text(
            json.dumps({"id": f"a{number}", "body": "x"})
        )
    service = served(tmp_path)
    service.shelf.ensure_loaded()
    stop = threading.Event()
    stop.set()
    service.shelf.settle(stop)
    assert any(getattr(entry, "_rest", None) is not None for entry in service.shelf.catalogue)


def test_old_temporary_files_are_swept_and_never_served(tmp_path: Path) -> None:
    service = served(tmp_path)
    add(service, "a")
    stale, fresh = tmp_path / "in" / ".b.1-aa.tmp", tmp_path / "in" / ".c.1-bb.tmp"
    for path in (stale, fresh):
        path.write_text('{"id": "b", "body": "torn')
    os.utime(stale, (0, 0))
    again = served(tmp_path)
    again.load()
    assert again.list_entries(None, None, 0, None)["count"] == 1
    assert (stale.exists(), fresh.exists()) == (False, True)


def test_the_watcher_follows_events_and_polls_where_there_are_none(tmp_path: Path) -> None:
    service = served(tmp_path)
    add(service, "a")
    folder = tmp_path / "in"
    watcher = Watcher(service.shelf)
    watcher.start()
    try:
        (folder / "b.json").write_text(json.dumps({"id": "b", "body": "by hand"}))
        until(lambda: "item" in service.get("b"))
        (folder / "b.json").write_text(json.dumps({"id": "b", "body": "by hand again"}))
        until(lambda: service.get("b")["item"]["body"] == "by hand again")
    finally:
        watcher.stop()
    silent = Watcher(service.shelf)
    polling = threading.Thread(target=silent._poll)
    polling.start()
    try:
        (folder / "b.json").unlink()
        until(lambda: bool(service.get("b").get("notFound")))
    finally:
        silent._stop.set()
        polling.join()
    assert silent.polling


def test_usage_is_flushed_in_time_and_adds_up_over_processes(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"

    def usage(flush_seconds: float) -> Usage:
        return Usage(
            path,
            clock=lambda: "2025-01-01T00:00:00.000Z",
            flush_seconds=flush_seconds,
            rate_limited=False,
        )

    def stored() -> int:
        return int(json.loads(path.read_text())["a"]["usageCount"])

    slow, quick = usage(600.0), usage(0.01)
    for _ in range(5):
        slow.track("a")
    assert stored() == 2  # the first two at once, the others later
    for _ in range(3):
        quick.track("a")
    until(lambda: stored() == 5)
    slow.close()
    assert stored() == 8
    assert usage(1.0).of("a").total == 8  # type: ignore[union-attr]
    assert quick.prune(["a", "never"]) == 1
    assert usage(1.0).of("a") is None


def test_the_rate_limit_is_per_id_and_second(tmp_path: Path) -> None:
    usage = Usage(tmp_path / "usage.json", clock=lambda: "t", flush_seconds=600.0)
    counted = [usage.track("a")[1] for _ in range(40)]
    assert sum(counted) <= 20  # at most two seconds were touched
    assert sum(counted) >= 10
    assert usage.track("b")[1]
    usage.close()


def test_a_broken_owners_file_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "owners.json").write_text("{")
    (tmp_path / "in" / "a.json").write_text(json.dumps({"id": "a", "body": "x"}))
    service = served(tmp_path)
    assert service.get("a")["item"]["owner"] == "unowned"
    assert "owners.json" in service.configuration.problems()
