"""mem0."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from memory_calls import FOREIGN, Calls, import_file, stored_state


def test_mem0_memories_keep_text_times_and_metadata(memory: Calls) -> None:
    done = import_file(memory, FOREIGN / "mem0.json")
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


@pytest.mark.parametrize("text", ["[]", '{"results": []}', '{"memories": []}'])
def test_an_empty_list_imports_nothing(memory: Calls, tmp_path: Path, text: str) -> None:
    (tmp_path / "e.json").write_text(text)
    done = import_file(memory, tmp_path / "e.json")
    assert (done.read, done.entries, done.problems) == (
        0,
        0,
        ("e.json has no memories: there is nothing to import",),
    )


def test_tags_in_one_text_are_split_and_empty_records_left_out(
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
    done = import_file(memory, tmp_path / "mem0.json")
    assert done.problems == ("1 relations skipped: mem0 relates names, not memories",)
    assert set(stored_state(memory)[0][0].tags) == {"a", "b", "c", "d"}
    (tmp_path / "in.jsonl").write_text('{"record": "entry", "id": "x"}\n')
    assert import_file(memory, tmp_path / "in.jsonl").problems == (
        "line 1: it has neither a title nor a text.",
    )
