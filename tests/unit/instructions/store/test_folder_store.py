"""Folder store: background parsing, the watcher, and configuration files."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from catalogue_helpers import CALLER, add, has, open_service, store_of, until

from commonplace.instructions.store.watcher import FolderWatcher


def write_files(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        (folder / f"a{number}.json").write_text(json.dumps({"id": f"a{number}", "body": "x"}))


def test_a_loaded_catalogue_is_parsed_in_the_background(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 100)
    service = open_service(tmp_path)
    service.load()
    entries = list(store_of(service).catalogue)
    until(lambda: all(entry.is_parsed for entry in entries))
    service.close()


def test_a_loaded_catalogue_is_summarised_in_the_background(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 100)
    service = open_service(tmp_path)
    service.load()
    entries = list(store_of(service).catalogue)
    until(lambda: all(entry.summary is not None for entry in entries))
    service.close()


def test_closing_stops_background_parsing(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 100)
    store = store_of(open_service(tmp_path))
    store.load()
    stop = threading.Event()
    stop.set()
    store.parse_all(stop)
    assert not all(entry.is_parsed for entry in store.catalogue)


def test_the_watcher_follows_events_and_polls_if_there_are_none(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    add(service, "a")
    path = tmp_path / "in" / "b.json"

    def body() -> str | None:
        found = service.get(CALLER, "b")
        return None if found is None else str(found.item["body"])

    watcher = FolderWatcher(store_of(service))
    watcher.start()
    try:
        path.write_text(json.dumps({"id": "b", "body": "by hand"}))
        until(lambda: body() == "by hand")
        path.write_text(json.dumps({"id": "b", "body": "by hand again"}))
        until(lambda: body() == "by hand again")
    finally:
        watcher.stop()
    polling = FolderWatcher(store_of(service), poll=True)
    polling.start()
    try:
        path.unlink()
        until(lambda: not has(service, "b"))
    finally:
        polling.stop()
    assert polling.polling


def test_a_broken_owners_file_hides_no_instruction(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "owners.json").write_text("{")
    (tmp_path / "in" / "a.json").write_text(json.dumps({"id": "a", "body": "x"}))
    service = open_service(tmp_path)
    found = service.get(CALLER, "a")
    assert found is not None
    assert found.item["owner"] == "unowned"
    assert "owners.json" in service.health(CALLER).configuration_problems
