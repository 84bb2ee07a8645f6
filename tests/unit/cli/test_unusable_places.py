"""Unusable folders and files cause a message and an exit code, not a traceback.

The paths fail for root as well.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.cli import main

COMMANDS = (
    ("files", "ls", "-p", "demo"),
    ("files", "put", "-p", "demo", "/note.md", "note.md"),
    ("memory", "add", "pitfall", "title", "-c", "content"),
    ("memory", "search", "x"),
    ("keys", "add", "--tenant", "a", "--label", "b"),
    ("init",),
    ("migrate",),
    ("worker",),
    ("instructions", "list"),
)


@pytest.fixture(autouse=True)
def files_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("MCP_", "COMMONPLACE_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.md").write_text("note")
    (tmp_path / "a-file").write_text("in the way")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, expect: int = 2) -> str:
    capsys.readouterr()
    code = main(arguments)
    said = capsys.readouterr().err
    assert (code, "Traceback" in said, "defect" in said) == (expect, False, False), said
    assert said.startswith("error: ")
    assert "\nhint: " in said
    return said.splitlines()[0]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("data", ["a-file", "/proc/nope"])
def test_an_unusable_data_folder_is_reported(
    command: tuple[str, ...], data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert data in refused(capsys, "--data", data, *command)


@pytest.mark.parametrize("data", ["a-file", "/proc/nope"])
def test_doctor_reports_such_a_folder_as_failed(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", data, "doctor", "--json"]) == 1
    failed = [
        check
        for check in json.loads(capsys.readouterr().out)["checks"]
        if check["status"] == "fail"
    ]
    assert any(data in check["finding"] for check in failed)
    assert not any("defect" in check["fix"] for check in failed)


def test_doctor_reports_a_log_file_that_cannot_be_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCP_LOG_FILE", "/proc/nope/log.jsonl")
    assert main(["--data", "data", "doctor", "--json"]) == 1
    failed = [
        check
        for check in json.loads(capsys.readouterr().out)["checks"]
        if check["status"] == "fail"
    ]
    assert [check["name"] for check in failed] == ["log file"]
    assert "/proc/nope/log.jsonl" in failed[0]["finding"]


def test_a_database_that_cannot_be_opened_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data" / "commonplace.db").mkdir(parents=True)
    assert "commonplace.db" in refused(capsys, "--data", "data", "files", "ls", "-p", "demo")
    assert "commonplace.db" in refused(capsys, "--data", "data", "worker")


def test_outputs_that_cannot_be_written_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", "data", "memory", "add", "pitfall", "title", "-c", "content"]) == 0
    (tmp_path / "folder").mkdir()
    assert "/proc/nope" in refused(capsys, "--data", "data", "backup", "/proc/nope/b.tar.gz")
    assert "Cannot use folder: Is a directory" in refused(
        capsys, "--data", "data", "backup", "folder"
    )
    assert "/proc/" in refused(capsys, "--data", "data", "memory", "export", "/proc/nope")


@pytest.mark.parametrize("data", ["a-file", "nowhere"])
def test_backup_and_audit_need_an_existing_data_folder(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert data in refused(capsys, "--data", data, "backup", "b.tar.gz")
    assert data in refused(capsys, "--data", data, "audit", "verify")
    assert not (tmp_path / "b.tar.gz").exists()


@pytest.mark.parametrize("content", [b"no database at all", b"SQLite format 3\0" + b"\xff" * 4096])
def test_an_invalid_database_file_is_not_backed_up(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "commonplace.db").write_bytes(content)
    assert main(["--data", "data", "backup", "b.tar.gz"]) != 0
    assert "commonplace.db cannot be backed up" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-file", "data", "note.md"]


def test_an_instruction_directory_that_is_a_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text(
        f"settings: {{mcp: {{instructions: {{directory: {tmp_path / 'a-file'}}}}}}}"
    )
    assert "a-file" in refused(
        capsys, "--config", "c.yaml", "--data", "data", "instructions", "list"
    )


def test_a_client_file_that_is_not_text_is_not_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".mcp.json").write_bytes(b"\xff\xfe{}")
    assert "not UTF-8" in refused(capsys, "connect", "claude-code", "--write")
    assert (tmp_path / ".mcp.json").read_bytes() == b"\xff\xfe{}"


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_full_output_is_reported_once(flags: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "commonplace", "config", "show", *flags],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert (ended.returncode, ended.stderr) == (
        7,
        "error: Cannot write the output: the disk is full.\nhint: Free space, then retry.\n",
    )


def test_a_backup_on_a_full_disk_reports_the_error_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    """Files of this process may not grow beyond a few pages, as on a disk without room."""
    data = tmp_path / "data"
    command = [sys.executable, "-m", "commonplace", "--data", str(data)]
    written = [*command, "files", "put", "/note.md", "note.md"]
    subprocess.run(written, check=True, capture_output=True, timeout=60)
    limited = [*command, "backup", "archive.tar.gz"]
    done = subprocess.run(
        limited,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)),
    )
    assert done.returncode in (2, 7), done.stderr
    assert done.stderr.startswith("error: Cannot ")
    assert "Traceback" not in done.stderr
    assert not [path for path in tmp_path.iterdir() if "archive" in path.name]
