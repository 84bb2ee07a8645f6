"""Adds that arrive together: written together, each with its own result."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from catalogue_helpers import (
    CALLER,
    add,
    add_together,
    has,
    ids_of,
    open_service,
    store_of,
)

from commonplace.instructions.results.writing import EntryRefusal, WriteResult
from commonplace.kernel.errors import CommonplaceError


def commits(home: Path) -> list[str]:
    """Return the token of each commit that the journal announces."""
    lines = (home / ".in.commonplace" / "journal").read_text().splitlines()
    tokens = [line.split("\t")[3] for line in lines if "\t" in line]
    return list(dict.fromkeys(tokens))


def test_each_of_many_threads_gets_its_own_result(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    results: dict[str, Any] = {}

    def work(number: int) -> None:
        for turn in range(5):
            id_ = f"t{number}-{turn}" if number % 4 else "shared"
            entry = {"id": id_ if number != 3 else "Not An Id", "body": f"{number} {turn}"}
            results[f"{number}-{turn}"] = asyncio.run(
                service.add(CALLER, entry, overwrite=True, lax=True)
            )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key, result in results.items():
        number = int(key.split("-")[0])
        assert isinstance(result, EntryRefusal if number == 3 else WriteResult)
        if number % 4 and number != 3:
            assert (result.entry.id, result.created) == (f"t{key}", True)
    written = [result for result in results.values() if isinstance(result, WriteResult)]
    assert sum(result.created for result in written if result.entry.id == "shared") == 1
    assert len(store_of(service).history("shared")) == 4 * 5
    assert service.verify(CALLER).issues == []
    assert open_service(tmp_path).list_entries(CALLER) == service.list_entries(CALLER)


def test_adds_that_arrive_together_share_a_commit(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    entries = [{"id": f"a-{number}", "body": f"Body {number}"} for number in range(60)]
    entries += [{"id": "a-1", "body": "twice"}, {"id": "Not An Id", "body": "x"}]
    results = add_together(service, entries)
    for entry, result in zip(entries, results, strict=True):
        if entry["id"] == "Not An Id":
            assert isinstance(result, EntryRefusal)
        else:
            assert result.entry.id == entry["id"]
    assert len(commits(tmp_path)) < 10
    found = service.get(CALLER, "a-1")
    assert found is not None
    assert found.item["body"] == "twice"
    assert len(store_of(service).history("a-1")) == 2
    assert len(ids_of(service)) == 60
    assert service.verify(CALLER).issues == []
    service.close()


def failing_fsync(descriptor: int) -> None:
    raise OSError(5, "Input/output error")


def test_a_failing_disk_fails_every_waiting_add(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = open_service(tmp_path, write_retries=0)
    add(service, "before")
    monkeypatch.setattr(os, "fsync", failing_fsync)
    failures = add_together(service, [{"id": f"a-{number}", "body": "x"} for number in range(5)])
    assert [type(failure) for failure in failures] == [CommonplaceError] * 5
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "in").iterdir() if path.suffix != ""] == [
        "before.json"
    ]
    assert add_together(service, [{"id": "after", "body": "x"}])[0].created
    service.close()


def test_closing_writes_queued_adds_and_the_service_can_be_used_again(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    threads_before = set(threading.enumerate())

    async def close_in_between() -> list[Any]:
        adds = [
            asyncio.create_task(
                service.add(CALLER, {"id": f"a-{n}", "body": "x"}, overwrite=True, lax=True)
            )
            for n in range(40)
        ]
        await asyncio.sleep(0)  # all are queued, none has a result
        await asyncio.to_thread(service.close)
        started = set(threading.enumerate()) - threads_before
        assert not any(thread.name == "instructions-writer" for thread in started)
        return await asyncio.gather(*adds)

    assert [result.created for result in asyncio.run(close_in_between())] == [True] * 40
    assert add_together(service, [{"id": "later", "body": "x"}])[0].created
    service.close()
    again = open_service(tmp_path)
    assert len(ids_of(again)) == 41
    assert has(again, "later")
