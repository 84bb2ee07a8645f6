"""JSON lines and server-memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.use_cases.transfer import (
    ImportFormat,
)
from memory_calls import FOREIGN, Calls, import_file, stored_state

GRAPH = b"""\
{"type": "entity", "name": "billing", "entityType": "service", "observations": ["in Go"]}
{"type": "entity", "name": "Ana", "entityType": "person", "observations": "one text"}
{"type": "relation", "from": "Ana", "to": "billing", "relationType": "maintains"}
"""


ANSWER = b"""{"entities": [{"name": "billing", "entityType": "service", "observations": ["in Go"]},
 {"name": "Ana", "entityType": "person", "observations": ["one text"]}],
 "relations": [{"from": "Ana", "to": "billing", "relationType": "maintains"}]}"""


def test_server_memory_entities_become_entries_with_links(memory: Calls) -> None:
    done = import_file(memory, FOREIGN / "server-memory.jsonl")
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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("memory.json", GRAPH),
        ("memory.jsonl", b"\xef\xbb\xbf" + GRAPH.replace(b"\n", b"\r\n")),
        ("graph.json", ANSWER),
    ],
)
def test_server_memory_is_recognised_by_its_content(
    memory: Calls, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    done = import_file(memory, tmp_path / name)
    assert (done.format, done.entries, done.links, done.problems) == (
        ImportFormat.SERVER_MEMORY,
        2,
        1,
        (),
    )
    entries, _, _ = stored_state(memory)
    assert {entry.title: entry.content for entry in entries} == {
        "billing": "- in Go",
        "Ana": "- one text\n- maintains: billing",
    }
