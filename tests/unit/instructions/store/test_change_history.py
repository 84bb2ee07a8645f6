"""Files of the change history."""

from __future__ import annotations

from pathlib import Path

from catalogue_helpers import add, open_service, store_of

from commonplace.instructions.store.folder import FolderOptions


def test_the_file_of_creations_is_trimmed_and_may_be_deleted(tmp_path: Path) -> None:
    options = FolderOptions(watch=False, keep_created_bytes=2000)
    one, two = open_service(tmp_path, options), open_service(tmp_path, options)
    created = tmp_path / ".in.commonplace" / "history" / ".made.jsonl"
    for number in range(20):
        add(one if number % 2 else two, f"a{number}")
        assert created.stat().st_size < 3500
    assert store_of(one).history("a19")
    created.unlink()
    add(one, "b")
    assert created.read_text().startswith('{"id":"b"')
    add(two, "c")
    assert len(created.read_text().splitlines()) == 2
