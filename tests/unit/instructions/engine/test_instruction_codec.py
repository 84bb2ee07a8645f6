"""Canonical bytes of an instruction, and lazy parsing."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from commonplace.instructions.engine.codec import encode
from commonplace.instructions.engine.normalise import ReadingRules, normalise
from commonplace.instructions.fields import (
    MAX_LEVELS,
    stored_form,
)
from commonplace.instructions.store.directory import InstructionDirectory

NOW = 1_750_000_000.0


def read(folder: Path, name: str, content: Any) -> Any:
    (folder / name).write_text(
        content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
    )
    return InstructionDirectory(folder).read(name)


def test_keys_have_a_fixed_order_and_a_final_newline() -> None:
    shuffled = {
        "zeta": 1,
        "body": "b",
        "sourceHash": "h",
        "id": "a",
        "title": "t",
        "governanceHash": "g",
        "usageCount": 3,
    }
    text = encode(shuffled).decode()
    assert (
        text == '{\n  "id": "a",\n  "title": "t",\n  "body": "b",\n  "sourceHash": "h",\n  "zeta": '
        "1\n}\n"
    )


def test_files_of_schema_3_and_7_load_unchanged(tmp_path: Path) -> None:
    body = "Use the structured logger."
    common = {
        "id": "peer-1",
        "title": "Peer",
        "body": body,
        "priority": 25,
        "audience": "group",
        "requirement": "recommended",
        "categories": ["logging", "team-standards"],
        "primaryCategory": "logging",
        "sourceHash": hashlib.sha256(body.encode()).hexdigest(),
        "createdAt": "2025-08-20T10:00:00.000Z",
        "updatedAt": "2025-08-21T10:00:00.000Z",
        "usageCount": 4,
        "firstSeenTs": "2025-08-20T10:00:00.000Z",
        "riskScore": 95,
        "version": "1.4.2",
        "status": "approved",
        "owner": "platform",
        "priorityTier": "P2",
        "classification": "internal",
        "lastReviewedAt": "2025-08-20T10:00:00.000Z",
        "nextReviewDue": "2025-10-19T10:00:00.000Z",
        "changeLog": [
            {
                "version": "1.4.2",
                "changedAt": "2025-08-21T10:00:00.000Z",
                "summary": "initial import",
            }
        ],
        "semanticSummary": body,
        "extensions": {"vendor": {"x": [1, 2]}},
    }
    for extra in (
        {"schemaVersion": "3"},
        {"schemaVersion": "7", "contentType": "workflow", "links": [{"rel": "see", "id": "x"}]},
    ):
        given = {**common, **extra}
        instruction = read(tmp_path, "peer-1.json", given).instruction
        assert instruction.salvaged == ()
        assert not instruction.drifted
        stored = stored_form(instruction.document)
        assert stored == {
            **{k: v for k, v in given.items() if k not in ("usageCount", "firstSeenTs")},
            "reviewIntervalDays": 60,
        }


def test_lazy_parsing_gives_the_same_instruction(tmp_path: Path) -> None:
    raw = {"id": "a", "title": " T ", "body": " B \n", "priority": 0, "sourceHash": "0" * 64}
    read(tmp_path, "a.json", raw)
    os.utime(tmp_path / "a.json", (NOW, NOW))
    later = InstructionDirectory(tmp_path).read("a.json").instruction
    at_once = normalise(raw, "a", NOW, ReadingRules())
    assert later is not None
    assert later.drifted
    assert later.text == ("T", " B \n")
    assert later.salvaged == ("priority",)
    assert later.text == ("T", " B \n")
    assert later == at_once
    with pytest.raises(AttributeError):
        later.nothing  # noqa: B018


def test_concurrent_first_reads_of_an_instruction_agree(tmp_path: Path) -> None:
    folder = InstructionDirectory(tmp_path)
    for number in range(200):
        read(tmp_path, f"a{number}.json", {"id": f"a{number}", "body": "x"})
    found = [reading.instruction for _, reading in folder.read_all()]
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: [item.document["id"] for item in found if item], range(8)))
    assert seen == [[item.id for item in found if item]] * 8


@pytest.mark.parametrize("levels", [190, 300, 900])
def test_a_file_nested_too_deep_is_rejected(tmp_path: Path, levels: int) -> None:
    read(
        tmp_path,
        "a.json",
        '{"id":"a","body":"x","extensions":{"deep":' + "[" * levels + "]" * levels + "}}",
    )
    reading = InstructionDirectory(tmp_path).read("a.json")
    if levels < MAX_LEVELS:
        assert reading.instruction is not None
        assert reading.instruction.document["id"] == "a"
    else:
        assert reading.rejection is not None
        assert reading.rejection.reason == "schema"
        assert str(MAX_LEVELS) in reading.rejection.detail
