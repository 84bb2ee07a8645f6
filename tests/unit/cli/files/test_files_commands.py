"""`commonplace files`: results, messages and exit codes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from commonplace.cli.commands import run

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Typed:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def line(*words: str) -> tuple[int, str, str]:
        code = run(["--data", str(tmp_path / "home"), "files", *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return line


def answer(typed: Typed, *words: str) -> Any:
    code, text, complaint = typed(*words, "--json")
    assert code == 0, complaint
    return orjson.loads(text)


def test_a_file_is_stored_read_edited_found_moved_removed_and_restored(
    typed: Typed, tmp_path: Path
) -> None:
    (tmp_path / "today.md").write_text("The vessel left Odesa.\nÀ bientôt\n")
    assert answer(typed, "put", "/notes/today.md", "today.md")["size"] == 35
    assert typed("get", "/notes/today.md")[1] == "The vessel left Odesa.\nÀ bientôt\n"
    assert answer(typed, "edit", "/notes/today.md", "Odesa", "Gdansk")["replacements"] == 1
    assert answer(typed, "search", "vessel gdansk")["chunks"][0]["file_path"] == "/notes/today.md"
    assert answer(typed, "grep", "ves+el")["matches"][0]["line"] == 1
    assert answer(typed, "mv", "/notes/today.md", "/old.md")["renamed"] == 1
    assert [entry["path"] for entry in answer(typed, "ls")["entries"]] == ["/old.md"]
    assert answer(typed, "rm", "/old.md")["deleted"] == 1
    assert answer(typed, "restore", "/old.md")["restored"] == 1
    assert answer(typed, "projects")["projects"][0]["project"] == "default"
    assert answer(typed, "status")["dead"] == 0
    assert answer(typed, "reindex", "--rebuild") == {"queued": 1, "up_to_date": True}


def test_notes_of_a_call_are_printed(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_MODELS", str(tmp_path / "none"))
    for name in ("a", "b"):
        (tmp_path / name).write_text("harbour\n")
        typed("put", f"/{name}.md", name)
    shown = "".join(typed("search", "harbour", "--limit", "50")[1:])
    assert "limit 50 was lowered to 20" in shown
    assert "ranked by words alone: no embedding model is installed" in shown
    assert "limit 5000 was lowered to 1024" in "".join(typed("ls", "--limit", "5000")[1:])
    assert "limit 501 was lowered to 500" in "".join(typed("grep", "harbour", "--limit", "501")[1:])
    assert "there is more: raise --limit" in "".join(typed("ls", "--limit", "1")[1:])
    assert "note:" not in "".join(typed("ls")[1:])


MISTAKES = {
    "put a file that is not there": (("put", "/a.md", "nowhere.md"), 3, "nowhere.md"),
    "put a folder": (("put", "/a.md", "folder"), 2, "folder"),
    "put a binary": (("put", "/a.md", "binary.bin"), 2, "binary"),
    "put more than a file may hold": (("put", "/a.md", "large.txt"), 6, "large.txt"),
    "put at a path without a slash": (("put", "a.md", "plain.md"), 2, "/a.md"),
    "put with a NUL in the name": (("put", "/a.md", "pl\0ain.md"), 2, "null"),
    "get what is not there": (("get", "/gone.md"), 3, "/gone.md"),
    "get before the start": (("get", "/gone.md", "--offset", "-1"), 2, "offset"),
    "list what is not there": (("ls", "/gone"), 3, "/gone"),
    "list with a negative depth": (("ls", "--depth", "-1"), 2, "depth"),
    "remove what is not there": (("rm", "/gone.md"), 3, "/gone.md"),
    "remove the root": (("rm", "", "-r"), 4, "root"),
    "move what is not there": (("mv", "/gone.md", "/b.md"), 3, "/gone.md"),
    "restore what was never there": (("restore", "/gone.md"), 3, "/gone.md"),
    "edit what is not there": (("edit", "/gone.md", "a", "b"), 3, "/gone.md"),
    "search for nothing": (("search", " "), 2, "query"),
    "search with a limit of none": (("search", "x", "--limit", "0"), 2, "limit"),
    "grep with a pattern that is none": (("grep", "("), 2, "pattern"),
    "import a folder that is not there": (("import", "nowhere"), 2, "nowhere"),
    "import a file": (("import", "plain.md"), 2, "plain.md"),
    "a project without a name": (("ls", "--project", ""), 2, "project"),
    "a project that is not text": (("ls", "--project", "\udcff"), 2, "project"),
    "a path that is not text": (("get", "/\udcff"), 2, "path"),
    "text that is none": (("edit", "/gone.md", "\udcff", "b"), 2, "old_text"),
    "a command that is none": (("shuffle",), 2, "shuffle"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_prints_a_message_and_sets_the_exit_code(
    name: str, typed: Typed, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain.md").write_text("plain")
    (tmp_path / "binary.bin").write_bytes(b"\0\1")
    with (tmp_path / "large.txt").open("wb") as large:
        large.truncate(11_000_000)
    words, expected, named = MISTAKES[name]
    code, _, complaint = typed(*words)
    assert code == expected, complaint
    assert named in complaint.replace("\n", " ")
    assert "Traceback" not in complaint


def test_a_query_with_lone_surrogates_finds_nothing(typed: Typed) -> None:
    assert typed("search", "\udcff\udcfe")[0] in (0, 2)
    assert typed("grep", "--literal", "\udcff")[0] in (1, 2)


def test_import_stores_what_it_can_and_reports_skipped_files(typed: Typed, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a b.md").write_text("first")
    (folder / "a_b.md").write_text("second")
    (folder / "image.png").write_bytes(b"\x89PNG\0")
    with (folder / "huge.log").open("wb") as huge:
        huge.truncate(11_000_000)
    summary = answer(typed, "import", "docs", "--to", "in/")
    assert (summary["stored"], summary["indexed"]) == (2, True)
    reasons = {item["path"]: item["reason"] for item in summary["skipped"]}
    assert reasons.keys() == {"/image.png", "/huge.log"}
    assert "10000000 bytes" in reasons["/huge.log"]
    assert summary["renamed"] == [{"source_path": "/in/a b.md", "path": "/in/a_x20b.md"}]
    assert typed("get", "/in/a_x20b.md")[1] == "first"
    assert typed("get", "/in/a_b.md")[1] == "second"
    assert answer(typed, "import", "docs", "--to", "/in")["unchanged"] == 2


def test_export_reports_what_prevents_it(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("a note")
    typed("put", "/deep/note.md", "note.md")
    assert answer(typed, "export", "out")["exported"] == 1
    assert (tmp_path / "out" / "deep" / "note.md").read_text() == "a note"
    (tmp_path / "taken").write_text("a file where a folder should be")
    code, _, complaint = typed("export", "taken")
    assert (code, "taken" in complaint) == (2, True)
    (tmp_path / "other" / "deep" / "note.md").mkdir(parents=True)
    assert typed("export", "other")[0] == 2


def test_standard_input_is_stored(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from a pipe")))
    assert answer(typed, "put", "/piped.md")["size"] == 11


def test_a_closed_pipe_causes_no_traceback(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("line\n" * 200_000)
    typed("put", "/long.txt", "long.txt")
    program = [
        sys.executable,
        "-m",
        "commonplace",
        "--data",
        str(tmp_path / "home"),
        "files",
        "get",
        "/long.txt",
    ]
    process = subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stdout is not None
    process.stdout.read(5)
    process.stdout.close()
    process.wait(30)
    assert process.stderr is not None
    said = [
        line for line in process.stderr.read().splitlines() if b"slow call" not in line
    ]  # a loaded machine is remarked upon
    assert said == []
    process.stderr.close()


def test_symbols_shows_definitions_uses_outlines_and_neighbours(
    typed: Typed, tmp_path: Path
) -> None:
    (tmp_path / "client.py").write_text(
        "class Session:\n    def send(self):\n        return deliver(self)\n\n\n"
        "def deliver(session):\n    return session\n"
    )
    assert typed("put", "/client.py", "client.py")[0] == 0
    code, shown, _ = typed("symbols", "Session.send")
    assert code == 0
    assert "/client.py:2  method Session.send  def send(self)" in shown
    found = answer(typed, "symbols", "deliver")
    assert [use["calls"] for use in found["uses"]] == [[3]]
    code, shown, _ = typed("symbols", "--path", "/client.py")
    assert [line.split()[2] for line in shown.splitlines()] == [
        "Session",
        "Session.send",
        "deliver",
    ]
    code, shown, _ = typed("symbols", "--path", "/client.py", "--lines", "3")
    assert "callee /client.py:6-7  deliver" in shown
    assert typed("symbols", "absent")[0] == 1
    assert typed("symbols", "--path", "/client.py", "--lines", "x")[0] == 2
