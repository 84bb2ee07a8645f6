"""Exports of one project, and decisions that survive an export and an import."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.kernel.auth import LOCAL_TENANT, Tenant
from commonplace.memory.use_cases.transfer import ExportFormat
from memory_calls import Calls, import_file, stored_state

IDLE = "The gateway closes idle connections after 30 s; keep the pool's timeout below that."
OTHER = Tenant("other")
NAMES = {
    ExportFormat.JSONL: "all.jsonl",
    ExportFormat.ARCHIVE: "all.rekall.zip",
    ExportFormat.OBSIDIAN: "vault",
}


def export(memory: Calls, path: Path, format_: ExportFormat, project: str | None = None) -> int:
    done = memory.run(memory.service.export_file(LOCAL_TENANT, path, format_, project=project))
    return int(done.entries)


@pytest.mark.parametrize("format_", list(ExportFormat))
def test_a_rejected_suggestion_stays_rejected_through_export_and_import(
    memory: Calls, tmp_path: Path, format_: ExportFormat
) -> None:
    memory.add("Idle connections", IDLE)
    second = memory.add("Idle connections again", f"{IDLE} Seen twice.")
    assert memory("memory_decide", decision="reject")["decided"] == 1
    memory("memory_confirm", id=second)
    path = tmp_path / NAMES[format_]
    assert export(memory, path, format_) == 2
    imported = import_file(memory, path, OTHER, suggest=True)
    assert (imported.entries, imported.suggestions, imported.problems) == (2, 0, ())
    assert memory("rekall_suggest_links", tenant="other")["total_pending"] == 0
    assert stored_state(memory, OTHER) == stored_state(memory)
    text = f"{IDLE} Seen three times."
    memory("memory_update", tenant="other", id=second, content=text)
    assert memory("rekall_suggest_links", tenant="other")["total_pending"] == 0


def test_an_imported_rejection_decides_a_pending_suggestion(memory: Calls, tmp_path: Path) -> None:
    for tenant in ("", "other"):
        for title, text in (("Idle connections", IDLE), ("Idle again", f"{IDLE} Seen twice.")):
            memory("rekall_add", tenant=tenant, type="bug", title=title, content=text)
    assert memory("rekall_suggest_links", tenant="other")["total_pending"] == 1
    memory("memory_decide", decision="reject")
    export(memory, tmp_path / "all.jsonl", ExportFormat.JSONL)
    assert import_file(memory, tmp_path / "all.jsonl", OTHER).known == 2
    assert memory("rekall_suggest_links", tenant="other")["total_pending"] == 0


@pytest.mark.parametrize("format_", list(ExportFormat))
def test_an_export_of_a_project_has_nothing_of_others(
    memory: Calls, tmp_path: Path, format_: ExportFormat
) -> None:
    shop = [memory.add(f"Shop {word}", f"About {word}.", project="shop") for word in ("a", "b")]
    blog = memory.add("Secretive blog", "Zanzibar.", project="blog")
    memory("rekall_link", source_id=shop[0], target_id=shop[1])
    memory("rekall_link", source_id=shop[0], target_id=blog)
    path = tmp_path / NAMES[format_]
    assert export(memory, path, format_, project=" shop ") == 2
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    assert not any(b"Zanzibar" in file.read_bytes() for file in files)
    imported = import_file(memory, path, OTHER)
    assert (imported.entries, imported.links) == (2, 1)
    assert export(memory, tmp_path / "none.jsonl", ExportFormat.JSONL, project="nobody") == 0


def test_a_decision_that_is_not_valid_is_a_reported_problem(memory: Calls, tmp_path: Path) -> None:
    entry = memory.add("Kept", "text")
    path = tmp_path / "all.jsonl"
    export(memory, path, ExportFormat.JSONL)
    with path.open("a") as stream:
        stream.write('{"record": "suggestion", "decision": "pending", "entry_ids": []}\n')
        stream.write('{"record": "suggestion"}\n')
    imported = import_file(memory, path, OTHER)
    assert imported.entries == 1
    assert len(imported.problems) == 2
    assert memory("rekall_show", tenant="other", id=entry)["title"] == "Kept"
