"""Import and export, whatever the format."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import apsw
import orjson
import pytest

from commonplace.kernel.auth import LOCAL_TENANT, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import MemorySettings
from commonplace.memory.use_cases.transfer import (
    ExportFormat,
    ImportFormat,
    detect_format,
)
from memory_calls import FOREIGN, Calls, import_file, stored_state


def send(memory: Calls, path: Path, format_: ExportFormat, **options: Any) -> Any:
    return memory.run(memory.service.export_file(LOCAL_TENANT, path, format_, **options))


def filled(memory: Calls) -> None:
    first = memory.add(
        'Entry with everything: quotes " and | pipes',
        "# Heading\n\ntext with trailing spaces  \n- related [[not a link]]\n---\n%% x %%",
        tags=["a-tag", "été", "#h"],
        project="web app",
        confidence=5,
        context="talk\nmore talk",
        type="pitfall",
        memory_type="semantic",
    )
    second = memory.add("Second: 2025-01-01", "no", tags=["yes"])
    third = memory.add("Third", "")
    memory("rekall_link", source_id=second, target_id=first, relation_type="derived_from")
    memory("rekall_link", source_id=third, target_id=second, relation_type="supersedes")
    memory("rekall_show", id=first)
    gone = memory.add("Deleted before the export", "text")
    memory("memory_delete", id=gone)
    memory.run(memory.service.flush_accesses())


OTHER = Tenant("other")


def write_zip(
    path: Path, records: list[Any], checksum: str | None = None, version: str = "1.0"
) -> None:
    import hashlib

    content = orjson.dumps(records)
    manifest = {
        "format_version": version,
        "checksum": checksum or f"sha256:{hashlib.sha256(content).hexdigest()}",
        "stats": {},
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", orjson.dumps(manifest))
        archive.writestr("entries.json", content)


def broken_files(folder: Path) -> dict[str, Path]:
    write_zip(folder / "checksum.zip", [], checksum="sha256:00")
    write_zip(folder / "version.zip", [], version="9.0")
    (folder / "cut.zip").write_bytes(b"PK\x03\x04 and then nothing")
    with zipfile.ZipFile(folder / "empty.zip", "w"):
        pass
    (folder / "empty.zip").write_bytes((folder / "empty.zip").read_bytes())
    (folder / "lines.jsonl").write_text('{"type": "entity", "name": "a"}\n{broken\n')
    (folder / "array.jsonl").write_text("[1]\n")
    (folder / "mem0.json").write_text('{"results": {}}')
    (folder / "half.json").write_text("[{")
    (folder / "magic.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 100)
    apsw.Connection(str(folder / "other.db")).execute("CREATE TABLE t (x)")
    (folder / "notes").mkdir()
    (folder / "what.txt").write_text("hello")
    return {
        path.name: path
        for path in folder.iterdir()
        if path.suffix in (".zip", ".jsonl", ".json", ".db", ".txt") or path.is_dir()
    }


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        (ExportFormat.ARCHIVE, "all.rekall.zip"),
        (ExportFormat.JSONL, "all.jsonl"),
        (ExportFormat.OBSIDIAN, "vault"),
    ],
)
def test_an_export_can_be_imported_unchanged(
    memory: Calls, tmp_path: Path, format_: ExportFormat, name: str
) -> None:
    filled(memory)
    done = send(memory, tmp_path / "out" / name, format_)
    assert (done.entries, done.links) == (3, 2)
    other = Calls(tmp_path / "other")
    imported = import_file(other, tmp_path / "out" / name)
    assert (imported.entries, imported.links, imported.known, imported.problems) == (3, 2, 0, ())
    assert stored_state(other) == stored_state(memory)
    assert import_file(other, tmp_path / "out" / name).known == 3
    other.close()


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        (ExportFormat.ARCHIVE, "all.rekall.zip"),
        (ExportFormat.JSONL, "all.jsonl"),
        (ExportFormat.OBSIDIAN, "vault"),
    ],
)
def test_superseded_entries_are_imported_unchanged(
    memory: Calls, tmp_path: Path, format_: ExportFormat, name: str
) -> None:
    old, first, second, third = (
        memory.add(title, f"text of {title}", context="a\x85b")
        for title in ("old", "first", "second", "third")
    )
    for successor in (third, first):  # superseded twice: the last successor counts
        memory("rekall_link", source_id=successor, target_id=old, relation_type="supersedes")
    memory("rekall_link", source_id=second, target_id=third, relation_type="supersedes")
    memory("memory_update", id=third, status="active")  # reactivated, and supersedes its successor
    memory("rekall_link", source_id=third, target_id=second, relation_type="supersedes")
    memory("memory_update", id=old, content="corrected later")
    made = {
        (link.source_id, link.target_id, link.created_at)
        for link in memory.run(memory.service.store.all_links(LOCAL_TENANT))
    }
    send(memory, tmp_path / name, format_)
    import_file(memory, tmp_path / name, OTHER)
    assert stored_state(memory, OTHER) == stored_state(memory)
    assert {
        (link.source_id, link.target_id, link.created_at)
        for link in memory.run(memory.service.store.all_links(OTHER))
    } == made


def test_a_successor_that_exists_under_another_id_stays_the_successor(
    memory: Calls, tmp_path: Path
) -> None:
    here = memory.add("New way", "do this")
    old, new = "01HX0000000000000000000001", "01HX0000000000000000000002"
    told = {
        "record": "entry",
        "type": "bug",
        "created_at": "2025-01-01",
        "updated_at": "2025-01-01",
    }
    records = [
        {
            **told,
            "id": old,
            "title": "Old way",
            "content": "do that",
            "status": "obsolete",
            "superseded_by": new,
        },
        {**told, "id": new, "title": "New way", "content": "do this", "status": "active"},
    ]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(orjson.dumps(record) for record in records))
    assert import_file(memory, tmp_path / "in.jsonl").known == 1
    assert memory("rekall_show", id=old)["superseded_by"]["id"] == here


@pytest.mark.parametrize("source", ["server-memory.jsonl", "mem0.json", "basic"])
def test_a_foreign_import_survives_an_export_and_an_import(
    memory: Calls, tmp_path: Path, source: str
) -> None:
    import_file(memory, FOREIGN / source)
    for format_, name in (
        (ExportFormat.ARCHIVE, "a.zip"),
        (ExportFormat.OBSIDIAN, "v"),
        (ExportFormat.JSONL, "j.jsonl"),
    ):
        send(memory, tmp_path / "out" / name, format_)
        other = Calls(tmp_path / f"other-{name}")
        import_file(other, tmp_path / "out" / name)
        assert stored_state(other) == stored_state(memory)
        other.close()


def test_a_broken_file_is_refused_and_nothing_is_imported(memory: Calls, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    files = broken_files(folder)
    assert len(files) == 12
    for path in [*files.values(), folder / "missing.json"]:
        with pytest.raises(CommonplaceError) as caught:
            import_file(memory, path)
        assert caught.value.code.name == "INVALID_IMPORT", path.name
    assert memory("memory_list")["total"] == 0


def test_a_dry_run_reports_and_changes_nothing(memory: Calls) -> None:
    done = import_file(memory, FOREIGN / "server-memory.jsonl", dry_run=True)
    assert (done.entries, done.links, done.dry_run) == (3, 2, True)
    assert memory("memory_list")["total"] == 0
    assert import_file(memory, FOREIGN / "server-memory.jsonl").entries == 3
    assert import_file(memory, FOREIGN / "server-memory.jsonl", dry_run=True).known == 3


def test_links_lead_to_the_existing_entry_with_the_same_text(memory: Calls, tmp_path: Path) -> None:
    kept = memory.add("billing-service", "here already")
    import_file(memory, FOREIGN / "server-memory.jsonl")
    import_file(memory, FOREIGN / "server-memory.jsonl")
    entries, links, _ = stored_state(memory)
    assert len(entries) == 4
    assert len(links) == 2
    assert kept not in {end for source, target, _ in links for end in (source, target)}


def test_secrets_in_an_import_follow_the_setting(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"
    records = [
        {"memory": f"the token is {secret}"},
        {"memory": "a project", "metadata": {"project": f"token {secret}"}},
        {"memory": "a tag", "metadata": {"tags": [f"token {secret}"]}},
        {"memory": "harmless"},
    ]
    (tmp_path / "in.json").write_bytes(orjson.dumps(records))
    for policy, kept in (("mask", 4), ("refuse", 1)):
        memory = Calls(tmp_path / policy, MemorySettings(secrets=policy))
        assert import_file(memory, tmp_path / "in.json").entries == kept
        assert secret not in str(stored_state(memory))
        memory.close()


def test_an_import_closes_no_circle_of_successors(memory: Calls, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("One text\n- supersedes [[b]]\n")
    (tmp_path / "notes" / "b.md").write_text("Another text\n- supersedes [[a]]\n")
    assert import_file(memory, tmp_path / "notes").links == 1
    entries, _, _ = stored_state(memory)
    assert sorted(entry.status.value for entry in entries) == ["active", "obsolete"]


def test_a_long_title_is_kept_in_the_content(memory: Calls, tmp_path: Path) -> None:
    name = "word " * 60
    (tmp_path / "in.jsonl").write_bytes(
        orjson.dumps({"type": "entity", "name": name.strip(), "observations": ["seen"]})
    )
    import_file(memory, tmp_path / "in.jsonl")
    [entry] = memory.run(memory.service.store.everything(LOCAL_TENANT))
    assert len(entry.title) <= 100
    assert entry.content.startswith(name.strip())


def test_an_export_replaces_a_file_only_with_force(memory: Calls, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("mine")
    with pytest.raises(CommonplaceError):
        send(memory, target, ExportFormat.JSONL)
    assert target.read_text() == "mine"
    send(memory, target, ExportFormat.JSONL, force=True)
    (tmp_path / "vault").mkdir()
    with pytest.raises(CommonplaceError):
        send(memory, tmp_path / "vault", ExportFormat.OBSIDIAN, force=True)
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_an_import_can_propose_suggestions(memory: Calls, tmp_path: Path) -> None:
    text = "The gateway closes idle connections after thirty seconds, so clients must reconnect."
    (tmp_path / "in.json").write_bytes(
        orjson.dumps([{"memory": text}, {"memory": text + " Seen again."}])
    )
    steps: list[tuple[str, int, int]] = []
    done = import_file(
        memory, tmp_path / "in.json", suggest=True, progress=lambda *step: steps.append(step)
    )
    assert done.suggestions == 1
    assert {step[0] for step in steps} == {"read", "check", "write", "suggest"}


@pytest.mark.parametrize(
    ("written", "year"),
    [
        ("0001-01-01T00:00:00+14:00", 2026),
        ("9999-12-31T23:59:59-12:00", 2026),
        ("1700000000", 2023),
        (1700000000.5, 2023),
        ("soon", 2026),
    ],
)
def test_invalid_times_become_now_and_epoch_seconds_are_read(
    memory: Calls, tmp_path: Path, written: object, year: int
) -> None:
    (tmp_path / "mem0.json").write_bytes(
        orjson.dumps([{"memory": "User likes tabs.", "created_at": written}])
    )
    import_file(memory, tmp_path / "mem0.json")
    assert stored_state(memory)[0][0].created_at.year == year
    assert send(memory, tmp_path / "out.jsonl", ExportFormat.JSONL).entries == 1


def test_the_format_is_detected_from_the_file(tmp_path: Path) -> None:
    assert detect_format(FOREIGN / "server-memory.jsonl") is ImportFormat.SERVER_MEMORY
    assert detect_format(FOREIGN / "basic") is ImportFormat.BASIC_MEMORY
    assert detect_format(FOREIGN / "mem0.json") is ImportFormat.MEM0
