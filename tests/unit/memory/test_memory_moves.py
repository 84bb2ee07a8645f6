"""Imports read each format as its program wrote it, whole or not at all; exports read back as
they were.
"""

from __future__ import annotations

import zipfile
import zlib
from datetime import UTC, datetime
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
    ImportOptions,
    detect_format,
)
from memory_calls import Calls

FOREIGN = Path(__file__).parents[2] / "data" / "memory" / "foreign"
OTHER = Tenant("other")


def bring(memory: Calls, path: Path, tenant: Tenant = LOCAL_TENANT, **options: Any) -> Any:
    return memory.run(memory.service.import_file(tenant, path, ImportOptions(**options)))


def send(memory: Calls, path: Path, format_: ExportFormat, **options: Any) -> Any:
    return memory.run(memory.service.export_file(LOCAL_TENANT, path, format_, **options))


def state(memory: Calls, tenant: Tenant = LOCAL_TENANT) -> tuple[Any, ...]:
    """Everything a move must keep."""
    entries = memory.run(memory.service.store.everything(tenant))
    links = memory.run(memory.service.store.all_links(tenant))
    usage = memory.run(memory.service.store.usage(tenant, [entry.id for entry in entries]))
    return entries, sorted((link.source_id, link.target_id, link.relation) for link in links), usage


def filled(memory: Calls) -> None:
    first = memory.add(
        "Entry with everything: quotes \" and | pipes", "# Heading\n\ntext with trailing spaces  \n- related [[not a link]]\n---\n%% x %%",
        tags=["a-tag", "été", "#h"], project="web app", confidence=5, context="talk\nmore talk", type="pitfall", memory_type="semantic",
    )  # fmt: skip
    second = memory.add("Second: 2025-01-01", "no", tags=["yes"])
    third = memory.add("Third", "")
    memory("rekall_link", source_id=second, target_id=first, relation_type="derived_from")
    memory("rekall_link", source_id=third, target_id=second, relation_type="supersedes")
    memory("rekall_show", id=first)
    gone = memory.add("Deleted before the export", "text")
    memory("memory_delete", id=gone)
    memory.run(memory.service.flush_accesses())


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        (ExportFormat.ARCHIVE, "all.rekall.zip"),
        (ExportFormat.JSONL, "all.jsonl"),
        (ExportFormat.OBSIDIAN, "vault"),
    ],
)
def test_an_export_reads_back_as_it_was(
    memory: Calls, tmp_path: Path, format_: ExportFormat, name: str
) -> None:
    filled(memory)
    done = send(memory, tmp_path / "out" / name, format_)
    assert (done.entries, done.links) == (3, 2)
    other = Calls(tmp_path / "other")
    imported = bring(other, tmp_path / "out" / name)
    assert (imported.entries, imported.links, imported.known, imported.problems) == (3, 2, 0, ())
    assert state(other) == state(memory)
    assert bring(other, tmp_path / "out" / name).known == 3
    other.close()


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        (ExportFormat.ARCHIVE, "all.rekall.zip"),
        (ExportFormat.JSONL, "all.jsonl"),
        (ExportFormat.OBSIDIAN, "vault"),
    ],
)
def test_what_was_superseded_reads_back_as_it_was_whatever_happened_since(
    memory: Calls, tmp_path: Path, format_: ExportFormat, name: str
) -> None:
    old, first, second, third = (
        memory.add(title, f"text of {title}", context="a\x85b")
        for title in ("old", "first", "second", "third")
    )
    for successor in (third, first):  # superseded twice: the last one counts
        memory("rekall_link", source_id=successor, target_id=old, relation_type="supersedes")
    memory("rekall_link", source_id=second, target_id=third, relation_type="supersedes")
    memory(
        "memory_update", id=third, status="active"
    )  # brought back, and replaces what replaced it
    memory("rekall_link", source_id=third, target_id=second, relation_type="supersedes")
    memory("memory_update", id=old, content="corrected later")
    made = {
        (link.source_id, link.target_id, link.created_at)
        for link in memory.run(memory.service.store.all_links(LOCAL_TENANT))
    }
    send(memory, tmp_path / name, format_)
    bring(memory, tmp_path / name, OTHER)
    assert state(memory, OTHER) == state(memory)
    assert {
        (link.source_id, link.target_id, link.created_at)
        for link in memory.run(memory.service.store.all_links(OTHER))
    } == made


def test_a_successor_that_is_here_under_another_id_stays_the_successor(
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
    assert bring(memory, tmp_path / "in.jsonl").known == 1
    assert memory("rekall_show", id=old)["superseded_by"]["id"] == here


@pytest.mark.parametrize("source", ["server-memory.jsonl", "mem0.json", "basic"])
def test_a_foreign_import_survives_an_export_and_an_import(
    memory: Calls, tmp_path: Path, source: str
) -> None:
    bring(memory, FOREIGN / source)
    for format_, name in (
        (ExportFormat.ARCHIVE, "a.zip"),
        (ExportFormat.OBSIDIAN, "v"),
        (ExportFormat.JSONL, "j.jsonl"),
    ):
        send(memory, tmp_path / "out" / name, format_)
        other = Calls(tmp_path / f"other-{name}")
        bring(other, tmp_path / "out" / name)
        assert state(other) == state(memory)
        other.close()


def test_server_memory_entities_become_entries_with_links(memory: Calls) -> None:
    done = bring(memory, FOREIGN / "server-memory.jsonl")
    assert (done.format, done.read, done.entries, done.links) == (
        ImportFormat.SERVER_MEMORY,
        3,
        3,
        2,
    )
    entries = {
        entry.title: entry for entry in memory.run(memory.service.store.everything(LOCAL_TENANT))
    }
    service = entries["billing-service"]
    assert service.content.splitlines() == [
        "- Written in Go",
        "- Fails when the VAT table is empty",
        "- Retries charges never",
        "- depends_on: VAT table is loaded at midnight",
    ]
    assert (service.type, service.tags) == ("reference", ("service",))
    assert entries["VAT table is loaded at midnight"].type == "config"
    assert entries["Old VAT loader"].status == "obsolete"
    found = memory("rekall_search", query="VAT table empty")["results"]
    assert found[0]["id"] == service.id


def test_mem0_memories_keep_text_times_and_metadata(memory: Calls) -> None:
    done = bring(memory, FOREIGN / "mem0.json")
    assert (done.read, done.entries, len(done.problems)) == (2, 2, 1)
    entries = {
        entry.title: entry for entry in memory.run(memory.service.store.everything(LOCAL_TENANT))
    }
    first = entries["Prefers pnpm over npm in all front-end repositories."]
    assert first.content.endswith("Lock files are committed.")
    assert (first.project, first.tags, first.memory_type) == ("web", ("tooling",), "semantic")
    assert first.created_at == datetime(2025, 3, 1, 18, tzinfo=UTC)
    second = entries["Staging database is rebuilt every Sunday night"]
    assert (second.type, second.tags) == ("config", ("infrastructure", "database", "staging"))


def test_basic_memory_notes_keep_observations_tags_and_relations(memory: Calls) -> None:
    done = bring(memory, FOREIGN / "basic")
    assert (done.format, done.entries, done.links) == (ImportFormat.BASIC_MEMORY, 2, 1)
    assert done.problems == ("notes/Retry policy.md: no note is called 'A page that is not here'",)
    entries = {
        entry.title: entry for entry in memory.run(memory.service.store.everything(LOCAL_TENANT))
    }
    new, old = entries["Retry policy"], entries["Old retry policy"]
    assert (new.type, set(new.tags)) == ("decision", {"resilience", "payments", "reads"})
    assert new.created_at == datetime(2025, 5, 4, 9, 30, tzinfo=UTC)
    assert (old.type, old.status, old.superseded_by) == ("pitfall", "obsolete", new.id)


def rekall_database(path: Path) -> None:
    """As the reference implementation lays it out at its schema version 7."""
    connection = apsw.Connection(str(path))
    connection.execute(
        """CREATE TABLE entries (id TEXT PRIMARY KEY, title TEXT, type TEXT, content TEXT, project TEXT, confidence INTEGER, status TEXT,
           superseded_by TEXT, created_at TEXT, updated_at TEXT, memory_type TEXT, last_accessed TEXT, access_count INTEGER,
           consolidation_score REAL, context_compressed BLOB, context_structured TEXT, context_blob BLOB);
           CREATE TABLE tags (entry_id TEXT, tag TEXT);
           CREATE TABLE links (id TEXT, source_id TEXT, target_id TEXT, relation_type TEXT, created_at TEXT, reason TEXT);"""
    )
    context = zlib.compress(
        orjson.dumps({"situation": "deploy broke", "trigger_keywords": ["helm", "rollback"]})
    )
    connection.execute(
        "INSERT INTO entries VALUES ('01HXAAAAAAAAAAAAAAAAAAAAAA', 'Helm rollback', 'bug', "
        "'rolled back', 'ops', 4, 'active', NULL, "
        "'2025-01-02T03:04:05', '2025-01-03T03:04:05', 'episodic', '2025-02-01T00:00:00', 7, "
        "0.5, NULL, NULL, ?)",
        (context,),
    )
    connection.execute(
        "INSERT INTO entries VALUES ('01HXBBBBBBBBBBBBBBBBBBBBBB', 'Older', 'pattern', '', NULL, "
        "NULL, 'obsolete', "
        "'01HXAAAAAAAAAAAAAAAAAAAAAA', '2025-01-01T00:00:00', '2025-01-01T00:00:00', 'semantic', "
        "NULL, 0, 0, NULL, NULL, NULL)"
    )
    connection.execute(
        "INSERT INTO tags VALUES ('01HXAAAAAAAAAAAAAAAAAAAAAA', 'helm'), "
        "('01HXAAAAAAAAAAAAAAAAAAAAAA', 'k8s')"
    )
    connection.execute(
        "INSERT INTO links VALUES ('L', '01HXAAAAAAAAAAAAAAAAAAAAAA', "
        "'01HXBBBBBBBBBBBBBBBBBBBBBB', 'supersedes', '2025-01-02', '')"
    )
    connection.close()


def test_a_rekall_database_keeps_ids_context_links_and_accesses(
    memory: Calls, tmp_path: Path
) -> None:
    rekall_database(tmp_path / "knowledge.db")
    before = (tmp_path / "knowledge.db").read_bytes()
    done = bring(memory, tmp_path / "knowledge.db")
    assert (done.format, done.entries, done.links) == (ImportFormat.REKALL_DATABASE, 2, 1)
    assert (tmp_path / "knowledge.db").read_bytes() == before
    shown = memory("rekall_show", id="01HXAAAAAAAAAAAAAAAAAAAAAA")
    assert (shown["project"], shown["confidence"], shown["tags"], shown["access_count"]) == (
        "ops",
        4,
        ["helm", "k8s"],
        8,
    )
    assert shown["created_at"] == "2025-01-02T03:04:05.000Z"
    assert memory("rekall_search", query="rollback deploy broke")["results"][0]["id"] == shown["id"]
    assert (
        memory("rekall_show", id="01HXBBBBBBBBBBBBBBBBBBBBBB")["superseded_by"]["id"] == shown["id"]
    )


def test_what_a_running_rekall_has_not_moved_into_its_file_yet_is_imported_too(
    memory: Calls, tmp_path: Path
) -> None:
    path = tmp_path / "knowledge.db"
    rekall_database(path)
    running = apsw.Connection(str(path))
    running.execute("PRAGMA journal_mode = WAL").fetchall()
    running.execute(
        "UPDATE entries SET title = 'Newest title' WHERE id = '01HXAAAAAAAAAAAAAAAAAAAAAA'"
    )
    assert path.with_name("knowledge.db-wal").stat().st_size > 0
    bring(memory, path)
    running.close()
    assert memory("rekall_show", id="01HXAAAAAAAAAAAAAAAAAAAAAA")["title"] == "Newest title"


def test_an_archive_of_the_reference_without_links_is_read(memory: Calls, tmp_path: Path) -> None:
    record = {
        "id": "01HXAAAAAAAAAAAAAAAAAAAAAA",
        "title": "T",
        "type": "bug",
        "created_at": "2025-01-01T00:00:00",
        "updated_at": "2025-01-01T00:00:00",
    }
    write_zip(tmp_path / "x.rekall.zip", [record])
    assert bring(memory, tmp_path / "x.rekall.zip").entries == 1
    assert memory("rekall_show", id="01HXA")["confidence"] == 2


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


def test_a_broken_file_is_refused_and_nothing_is_imported(memory: Calls, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    files = broken_files(folder)
    assert len(files) == 12
    for path in [*files.values(), folder / "missing.json"]:
        with pytest.raises(CommonplaceError) as caught:
            bring(memory, path)
        assert caught.value.code.name == "INVALID_IMPORT", path.name
    assert memory("memory_list")["total"] == 0


def test_a_dry_run_says_what_would_happen_and_does_nothing(memory: Calls) -> None:
    done = bring(memory, FOREIGN / "server-memory.jsonl", dry_run=True)
    assert (done.entries, done.links, done.dry_run) == (3, 2, True)
    assert memory("memory_list")["total"] == 0
    assert bring(memory, FOREIGN / "server-memory.jsonl").entries == 3
    assert bring(memory, FOREIGN / "server-memory.jsonl", dry_run=True).known == 3


def test_links_follow_to_the_entry_that_says_the_same(memory: Calls, tmp_path: Path) -> None:
    kept = memory.add("billing-service", "here already")
    bring(memory, FOREIGN / "server-memory.jsonl")
    bring(memory, FOREIGN / "server-memory.jsonl")
    entries, links, _ = state(memory)
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
        assert bring(memory, tmp_path / "in.json").entries == kept
        assert secret not in str(state(memory))
        memory.close()


@pytest.mark.parametrize("text", ["[]", '{"results": []}', '{"memories": []}'])
def test_an_empty_list_is_an_import_of_nothing(memory: Calls, tmp_path: Path, text: str) -> None:
    (tmp_path / "e.json").write_text(text)
    done = bring(memory, tmp_path / "e.json")
    assert (done.read, done.entries, done.problems) == (
        0,
        0,
        ("e.json has no memories: there is nothing to import",),
    )


def test_an_import_closes_no_circle_of_successors(memory: Calls, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("One text\n- supersedes [[b]]\n")
    (tmp_path / "notes" / "b.md").write_text("Another text\n- supersedes [[a]]\n")
    assert bring(memory, tmp_path / "notes").links == 1
    entries, _, _ = state(memory)
    assert sorted(entry.status.value for entry in entries) == ["active", "obsolete"]


def test_a_long_title_is_kept_in_the_content(memory: Calls, tmp_path: Path) -> None:
    name = "word " * 60
    (tmp_path / "in.jsonl").write_bytes(
        orjson.dumps({"type": "entity", "name": name.strip(), "observations": ["seen"]})
    )
    bring(memory, tmp_path / "in.jsonl")
    [entry] = memory.run(memory.service.store.everything(LOCAL_TENANT))
    assert len(entry.title) <= 100
    assert entry.content.startswith(name.strip())


def test_an_export_never_replaces_what_is_there_unless_told(memory: Calls, tmp_path: Path) -> None:
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


def test_suggestions_can_be_made_for_what_was_imported(memory: Calls, tmp_path: Path) -> None:
    text = "The gateway closes idle connections after thirty seconds, so clients must reconnect."
    (tmp_path / "in.json").write_bytes(
        orjson.dumps([{"memory": text}, {"memory": text + " Seen again."}])
    )
    steps: list[tuple[str, int, int]] = []
    done = bring(
        memory, tmp_path / "in.json", suggest=True, progress=lambda *step: steps.append(step)
    )
    assert done.suggestions == 1
    assert {step[0] for step in steps} == {"read", "check", "write", "suggest"}


GRAPH = b"""{"type": "entity", "name": "billing", "entityType": "service", "observations": ["in Go"]}
{"type": "entity", "name": "Ana", "entityType": "person", "observations": "one text"}
{"type": "relation", "from": "Ana", "to": "billing", "relationType": "maintains"}
"""
ANSWER = b"""{"entities": [{"name": "billing", "entityType": "service", "observations": ["in Go"]},
 {"name": "Ana", "entityType": "person", "observations": ["one text"]}],
 "relations": [{"from": "Ana", "to": "billing", "relationType": "maintains"}]}"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("memory.json", GRAPH),
        ("memory.jsonl", b"\xef\xbb\xbf" + GRAPH.replace(b"\n", b"\r\n")),
        ("graph.json", ANSWER),
    ],
)
def test_server_memory_is_told_by_its_content_under_any_of_its_names(
    memory: Calls, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    done = bring(memory, tmp_path / name)
    assert (done.format, done.entries, done.links, done.problems) == (
        ImportFormat.SERVER_MEMORY,
        2,
        1,
        (),
    )
    entries, _, _ = state(memory)
    assert {entry.title: entry.content for entry in entries} == {
        "billing": "- in Go",
        "Ana": "- one text\n- maintains: billing",
    }


def test_notes_of_any_encoding_suffix_and_kind_of_link_are_read(
    memory: Calls, tmp_path: Path
) -> None:
    notes = {
        "bom.md": b"\xef\xbb\xbf---\ntitle: With a mark\ntags: [x, null]\n---\nsee "
        b"[[Windows#Part|that]] and [[nowhere]]",
        "old.MD": "---\ntitle: Windows\n---\nd\u00e9j\u00e0 \u2014 vu".encode("cp1252"),
        "wide.markdown": "---\ntitle: Wide\n---\n- part_of [[With a mark#Part]]".encode("utf-16"),
        "long.md": b"x" * (4 * 1024 * 1024 + 1),
    }
    for name, content in notes.items():
        (tmp_path / name).write_bytes(content)
    done = bring(memory, tmp_path)
    assert done.problems == ("long.md: longer than 4194304 bytes",)
    entries, links, _ = state(memory)
    kept = {entry.title: entry for entry in entries}
    assert kept["Windows"].content == "d\u00e9j\u00e0 \u2014 vu"
    assert kept["With a mark"].tags == ("x",)
    assert links == sorted(
        [
            (kept["With a mark"].id, kept["Windows"].id, "related"),
            (kept["Wide"].id, kept["With a mark"].id, "related"),
        ]
    )


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
def test_a_time_that_cannot_be_kept_is_now_and_seconds_are_read(
    memory: Calls, tmp_path: Path, written: object, year: int
) -> None:
    (tmp_path / "mem0.json").write_bytes(
        orjson.dumps([{"memory": "User likes tabs.", "created_at": written}])
    )
    bring(memory, tmp_path / "mem0.json")
    assert state(memory)[0][0].created_at.year == year
    assert send(memory, tmp_path / "out.jsonl", ExportFormat.JSONL).entries == 1


def test_tags_in_one_text_are_tags_and_what_says_nothing_is_left_out(
    memory: Calls, tmp_path: Path
) -> None:
    records = [
        {
            "memory": "One.",
            "metadata": {"tags": "a, b", "category": ["c"]},
            "categories": ["d", None],
        }
    ]
    (tmp_path / "mem0.json").write_bytes(
        orjson.dumps({"results": records, "relations": [{"source": "a"}]})
    )
    done = bring(memory, tmp_path / "mem0.json")
    assert done.problems == ("1 relations skipped: mem0 relates names, not memories",)
    assert set(state(memory)[0][0].tags) == {"a", "b", "c", "d"}
    (tmp_path / "in.jsonl").write_text('{"record": "entry", "id": "x"}\n')
    assert bring(memory, tmp_path / "in.jsonl").problems == (
        "line 1: it has neither a title nor a text.",
    )


def test_the_format_is_seen_in_the_file(tmp_path: Path) -> None:
    assert detect_format(FOREIGN / "server-memory.jsonl") is ImportFormat.SERVER_MEMORY
    assert detect_format(FOREIGN / "basic") is ImportFormat.BASIC_MEMORY
    assert detect_format(FOREIGN / "mem0.json") is ImportFormat.MEM0
