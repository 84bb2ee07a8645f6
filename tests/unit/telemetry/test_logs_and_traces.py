"""Rotated files, traces and logs."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.settings import LogSettings, Settings, TraceSettings
from commonplace.telemetry.logs import CALLS, ROOT, configure_logging
from commonplace.telemetry.rotation import RotatedFile
from commonplace.telemetry.trace import Tracer


@pytest.fixture(autouse=True)
def quiet_logs_afterwards() -> Iterator[None]:
    yield
    configure_logging(LogSettings())


def tracer(tmp_path: Path, **trace: Any) -> Tracer:
    return Tracer(Settings(data=tmp_path, trace=TraceSettings(**trace)))


def traced(tmp_path: Path) -> list[str]:
    return [
        line
        for path in sorted((tmp_path / "traces").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def test_an_unusable_log_file_is_reported_on_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging(LogSettings(file="/proc/nope/log.jsonl"))
    said = capsys.readouterr().err
    assert "/proc/nope/log.jsonl" in said
    assert "MCP_LOG_FILE" in said


def test_a_usable_log_file_is_not_mentioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(LogSettings(file=str(tmp_path / "logs" / "log.jsonl")))
    assert capsys.readouterr().err == ""


def test_a_full_file_is_rotated_and_no_line_is_lost_or_split(tmp_path: Path) -> None:
    target = RotatedFile(tmp_path / "x.jsonl", 100, kept=50)
    lines = [f"line {number:03d} {'.' * 20}" for number in range(40)]
    for line in lines:
        target.write(line)
    files = sorted(
        tmp_path.glob("x*.jsonl"),
        key=lambda path: int(path.stem.partition(".")[2] or 0),
        reverse=True,
    )
    assert len(files) == 14
    assert all(path.stat().st_size <= 100 for path in files)
    assert [line for path in files for line in path.read_text().splitlines()] == lines


def test_the_number_of_old_files_is_bounded(tmp_path: Path) -> None:
    target = RotatedFile(tmp_path / "x.log", 10, kept=3)
    for number in range(20):
        target.write(f"number {number}")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "x.1.log",
        "x.2.log",
        "x.3.log",
        "x.log",
    ]


def test_two_writers_share_a_file_across_its_rotation(tmp_path: Path) -> None:
    one, two = (
        RotatedFile(tmp_path / "x.log", 200, kept=50),
        RotatedFile(tmp_path / "x.log", 200, kept=50),
    )
    for number in range(30):
        one.write(f"one {number}")
        two.write(f"two {number}")
    written = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert sorted(written) == sorted(
        [f"{name} {number}" for name in ("one", "two") for number in range(30)]
    )


def test_an_unwritable_file_does_not_fail_the_caller(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    RotatedFile(tmp_path / "file" / "x.log", 100).write("lost")


def test_nothing_is_traced_unless_a_variable_is_set(tmp_path: Path) -> None:
    quiet = tracer(tmp_path)
    quiet.emit("list", {"a": 1})
    assert not quiet.active
    assert not quiet.wants("list")
    assert not (tmp_path / "traces").exists()


def test_a_trace_line_has_the_form_of_contract_000(tmp_path: Path) -> None:
    tracer(tmp_path, session="s1").emit("catalog:load", {"count": 2})
    (line,) = traced(tmp_path)
    label, _, body = line.partition(" ")
    assert label == "[trace:catalog:load]"
    record = json.loads(body)
    assert record["data"] == {"count": 2}
    assert record["session"] == "s1"
    assert {"ts", "t", "lvl", "label", "data", "pid", "session"} == set(record)


def test_the_directory_variable_moves_the_traces(tmp_path: Path) -> None:
    tracer(tmp_path, directory=str(tmp_path / "elsewhere")).emit("list", {})
    assert len(list((tmp_path / "elsewhere").glob("*.jsonl"))) == 1


def test_the_size_variable_sets_rotation_and_enables_traces(tmp_path: Path) -> None:
    small = tracer(tmp_path, max_bytes=300)
    for number in range(6):
        small.emit("list", {"number": number})
    assert len(list((tmp_path / "traces").iterdir())) > 1
    assert len(traced(tmp_path)) == 6


@pytest.mark.parametrize(
    ("trace", "kept"),
    [
        ({"allow": ("list",)}, ["list", "list:late"]),
        ({"deny": ("list",)}, ["add", "get:list2"]),
        ({"allow": ("list", "add"), "deny": ("late",)}, ["add", "list"]),
        ({"session": "s"}, ["add", "get:list2", "list", "list:late"]),
    ],
)
def test_filters_match_any_token_of_the_label(
    trace: dict[str, Any], kept: list[str], tmp_path: Path
) -> None:
    chosen = tracer(tmp_path, **trace)
    for label in ("add", "list", "list:late", "get:list2"):
        chosen.emit(label, {})
    assert (
        sorted(line.partition("]")[0].removeprefix("[trace:") for line in traced(tmp_path)) == kept
    )


@pytest.mark.parametrize(
    ("variable", "label", "silent"),
    [
        ("catalog", "list", "handshake:initialize"),
        ("catalog_files", "catalog:file", "catalog:load"),
        ("handshake", "handshake:initialize", "list"),
        ("init_frames", "init:frame", "list"),
        ("health_mixed", "health:mixed", "list"),
    ],
)
def test_each_diagnostic_traces_its_own_category_on_stderr_too(
    variable: str, label: str, silent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loud = tracer(tmp_path, **{variable: True})
    loud.emit(label, {})
    loud.emit(silent, {})
    assert [line.partition("]")[0] for line in traced(tmp_path)] == [f"[trace:{label}"]
    assert capsys.readouterr().err.startswith(f"[trace:{label}]")


def test_stderr_is_quiet_unless_something_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogSettings())
    logging.getLogger(CALLS).info("a call")
    logging.getLogger(ROOT).warning("trouble")
    shown = capsys.readouterr().err
    assert "trouble" in shown
    assert "a call" not in shown


def test_verbose_shows_calls_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogSettings(verbose=True))
    logging.getLogger(CALLS).info("a call")
    assert "a call" in capsys.readouterr().err


def test_the_log_file_holds_one_json_object_a_line_without_secrets(tmp_path: Path) -> None:
    configure_logging(LogSettings(file=str(tmp_path / "log.jsonl")))
    logging.getLogger(CALLS).info(
        "token %s", "Bearer abcdefghijklmnop", extra={"fields": {"tool": "x"}}
    )
    try:
        raise RuntimeError("sk-abcdefghijklmnopqrstuv")
    except RuntimeError:
        logging.getLogger(ROOT).exception("failed")
    first, second = (json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines())
    assert (first["tool"], first["level"], first["message"]) == ("x", "info", "token ***")
    assert "RuntimeError" in second["traceback"]
    assert "sk-abc" not in second["traceback"]


def test_the_log_file_is_rotated_by_size(tmp_path: Path) -> None:
    configure_logging(LogSettings(file=str(tmp_path / "log.jsonl"), rotate_bytes=300))
    for number in range(10):
        logging.getLogger(CALLS).info("call %d", number)
    assert (tmp_path / "log.1.jsonl").exists()
