"""Files of an instruction folder: which are read, and why others are rejected."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from commonplace.instructions.store.directory import InstructionDirectory


def read(folder: Path, name: str, content: Any) -> Any:
    (folder / name).write_text(
        content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
    )
    return InstructionDirectory(folder).read(name)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", "", "empty"),
        ("a.json", "{", "parse"),
        ("a.json", "[1]", "schema"),
        ("a.json", '{"id": "a"}', "schema"),
        ("a.json", '{"id": "a", "body": "  "}', "schema"),
        ("a.json", '{"id": "a", "body": 3}', "schema"),
        ("a.json", '{"id": "b", "body": "x"}', "id-mismatch"),
        ("A.json", '{"id": "A", "body": "x"}', "schema"),
        ("gates.json", '{"gates": []}', "non-instruction-config"),
        ("owners.json", "{}", "non-instruction-config"),
        ("PROMPT-CRITERIA.json", "{}", "non-instruction-config"),
        ("my.schema.json", "{}", "non-instruction-config"),
        ("my.template.json", "{}", "template"),
        ("_manifest.json", "{}", "governance-denylist"),
        ("a.json", json.dumps({"id": "a", "body": "x" * 1_000_001}), "schema"),
        (
            "a.json",
            json.dumps({"id": "a", "body": "x", "extensions": {"y": "z" * 2_200_000}}),
            "too-large",
        ),
    ],
)
def test_a_file_that_is_not_an_instruction_is_rejected_with_a_reason(
    tmp_path: Path, name: str, content: str, reason: str
) -> None:
    reading = read(tmp_path, name, content)
    assert reading.instruction is None
    assert reading.rejection.reason == reason


def test_links_and_folders_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text('{"id": "link", "body": "secret"}')
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link.json").symlink_to(secret)
    (folder / "dir.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    directory = InstructionDirectory(folder)
    assert directory.read("link.json").rejection.reason == "symlink"
    assert directory.read("pipe.json").rejection.reason == "unreadable"
    assert {name for name, _ in directory.stamps()} == {"link.json", "pipe.json"}


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"id": "a", "body": "x"}')
    assert InstructionDirectory(tmp_path).read("a.json").instruction.id == "a"
