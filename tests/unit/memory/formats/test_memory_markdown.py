"""Markdown notes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.use_cases.transfer import (
    ImportFormat,
)
from memory_calls import FOREIGN, Calls, import_file, stored_state


def test_basic_memory_notes_keep_observations_tags_and_relations(memory: Calls) -> None:
    done = import_file(memory, FOREIGN / "basic")
    assert (done.format, done.entries, done.links) == (ImportFormat.BASIC_MEMORY, 2, 1)
    assert done.problems == ("notes/Retry policy.md: no note is called 'A page that is not here'",)
    entries = {
        entry.title: entry for entry in memory.run(memory.service.store.everything(LOCAL_TENANT))
    }
    new, old = entries["Retry policy"], entries["Old retry policy"]
    assert (new.type, set(new.tags)) == ("decision", {"resilience", "payments", "reads"})
    assert new.created_at == datetime(2025, 5, 4, 9, 30, tzinfo=UTC)
    assert (old.type, old.status, old.superseded_by) == ("pitfall", "obsolete", new.id)


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
    done = import_file(memory, tmp_path)
    assert done.problems == ("long.md: longer than 4194304 bytes",)
    entries, links, _ = stored_state(memory)
    kept = {entry.title: entry for entry in entries}
    assert kept["Windows"].content == "d\u00e9j\u00e0 \u2014 vu"
    assert kept["With a mark"].tags == ("x",)
    assert links == sorted(
        [
            (kept["With a mark"].id, kept["Windows"].id, "related"),
            (kept["Wide"].id, kept["With a mark"].id, "related"),
        ]
    )
