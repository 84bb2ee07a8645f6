"""Folders: ignored files, binary files, names; import and export by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli import main
from commonplace.files.engine.folder import scan, text_of
from commonplace.kernel.paths import is_spelling_of, number_segment, spell_segment


def make(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def names(folder: Path, **options: Any) -> list[str]:
    return [candidate.path for candidate in scan(folder, **options).files]


def test_gitignore_is_honoured_at_every_level(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n!keep.log\n/top.txt\n",
            "a.txt": "", "b.log": "", "keep.log": "", "build/x": "", "top.txt": "",
            "sub/top.txt": "", ".git/config": "",
            "sub/.gitignore": "!b.log\nsecret*\n", "sub/b.log": "", "sub/secret.txt": "",
        },
    )  # fmt: skip
    assert names(tmp_path) == [
        "/.gitignore",
        "/a.txt",
        "/keep.log",
        "/sub/.gitignore",
        "/sub/b.log",
        "/sub/top.txt",
    ]
    assert names(tmp_path / "sub") == ["/.gitignore", "/b.log", "/top.txt"]
    assert "/build/x" in names(tmp_path, use_gitignore=False)
    assert not any(name.startswith("/.git/") for name in names(tmp_path, use_gitignore=False))


def test_links_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, {"in/a.txt": "x", "out/secret": "s"})
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out" / "secret")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    assert names(tmp_path / "in") == ["/a.txt"]


def test_each_illegal_byte_is_spelled_and_legal_names_are_unchanged() -> None:
    assert spell_segment("[id].md") == "_x5Bid_x5D.md"
    assert spell_segment("é b") == "_xC3_xA9_x20b"
    assert spell_segment("Legal-name_1.tar.gz") == "Legal-name_1.tar.gz"
    assert [number_segment("_x5B.md", count) for count in (1, 2)] == ["_x5B.md", "_x5B_2.md"]
    assert number_segment(".e_x5B", 2) == ".e_x5B_2"
    assert is_spelling_of("_x5B_2.md", "[.md")
    assert not is_spelling_of("_x5B_2.md", "].md")
    assert not is_spelling_of("a_2.md", "a.md")


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"plain", "plain"), (b"", ""), ("é".encode(), "é"), (b"a\0b", None), (b"\xff\xfe", None)],
)
def test_binary_files_are_recognised(data: bytes, text: str | None) -> None:
    assert text_of(data) == text


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, expect: int = 0, parse: bool = True) -> Any:
        code = main(["files", *arguments, *(["--json"] if parse else [])])
        captured = capsys.readouterr()
        assert code == expect, captured.err
        return json.loads(captured.out) if parse and expect == 0 else captured.out + captured.err

    return command


def test_a_folder_is_imported_and_exported_unchanged(run: Any, tmp_path: Path) -> None:
    source = tmp_path / "source"
    make(
        source,
        {
            "a.md": "# Walrus\n\ntext\n",
            "d/e.py": "def seal(): ...\n",
            "logo.png": b"\x89PNG\0\0",
            ".gitignore": "skip\n",
            "skip": "x",
        },
    )
    summary = run("import", str(source), "--project", "zoo")
    assert (summary["stored"], summary["unchanged"], summary["indexed"]) == (3, 0, True)
    assert summary["skipped"] == [
        {"path": "/logo.png", "reason": "binary, or text that is not UTF-8"}
    ]
    assert run("import", str(source), "--project", "zoo")["unchanged"] == 3
    assert run("search", "walrus", "--project", "zoo")["chunks"][0]["file_path"] == "/a.md"
    assert run("export", str(tmp_path / "back"), "--project", "zoo")["exported"] == 3
    assert (tmp_path / "back" / "d" / "e.py").read_text() == "def seal(): ...\n"
    assert run("projects")["projects"] == [{"project": "zoo", "files": 3, "size_bytes": 36}]


def test_single_files_from_the_command_line(run: Any, tmp_path: Path) -> None:
    make(tmp_path, {"note.txt": "one two\n", "raw.bin": b"\0"})
    run("put", "/n.txt", "note.txt")
    run("put", "/n.txt", "note.txt", "--append")
    assert run("get", "/n.txt", parse=False) == "one two\none two\n"
    assert run("edit", "/n.txt", "one two\none", "three")["replacements"] == 1
    assert [entry["path"] for entry in run("ls")["entries"]] == ["/n.txt"]
    assert run("grep", "thr..")["matches"][0]["line"] == 1
    run("grep", "absent", expect=1)
    run("mv", "/n.txt", "/d/m.txt")
    run("rm", "/d", expect=5)
    assert run("rm", "/d", "--recursive")["deleted"] == 1
    run("get", "/d/m.txt", expect=3)
    assert run("restore", "/d")["restored"] == 1
    assert run("reindex", "--rebuild") == {"queued": 1, "up_to_date": True}
    assert run("status")["up_to_date"] is True
    assert "binary" in run("put", "/b", "raw.bin", expect=2)
    assert "Use /x" in run("put", "x", "note.txt", expect=2)


def test_illegal_names_survive_import_and_export(run: Any, tmp_path: Path) -> None:
    names = {"[id]/page.tsx": "a", "_x5Bid_x5D/page.tsx": "b", "Ω ½.md": "c", "plain.md": "d"}
    make(tmp_path / "in", dict(names))
    (tmp_path / "in" / "link").symlink_to("plain.md")
    shown = run("import", str(tmp_path / "in"), parse=False)
    assert "4 stored, 0 unchanged, 1 skipped" in shown
    assert "/[id]/page.tsx" in shown
    assert "/_x5Bid_x5D_2/page.tsx" in shown
    assert "a symbolic link" in shown
    assert "/Ω ½.md" in run("ls", parse=False)
    assert run("export", str(tmp_path / "out"))["exported"] == 4
    written = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_text()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert written == names


def test_a_second_import_offers_to_delete_missing_files(run: Any, tmp_path: Path) -> None:
    make(tmp_path / "in", {"a.md": "a", "b.md": "b"})
    run("import", "in")
    (tmp_path / "in" / "b.md").unlink()
    shown = run("import", "in", parse=False)
    assert "/b.md" in shown
    assert "--delete" in shown
    assert run("import", "in", "--delete")["deleted"] == 1
    assert [entry["path"] for entry in run("ls")["entries"]] == ["/a.md"]


def test_files_above_the_size_of_one_request_are_put_and_imported(run: Any, tmp_path: Path) -> None:
    text = "".join(f"line {n} of a long file\n" for n in range(120_000))
    assert len(text) > 2_500_000
    make(tmp_path, {"folder/long.txt": text, "folder/[odd].txt": text})
    assert run("put", "/long.txt", "folder/long.txt")["size"] == len(text)
    assert run("get", "/long.txt", parse=False) == text
    report = run("import", "folder", "--project", "other")
    assert report["stored"] == 2
    assert sorted(entry["path"] for entry in run("ls", "--project", "other")["entries"]) == [
        "/_x5Bodd_x5D.txt",
        "/long.txt",
    ]
    assert run("import", "folder", "--project", "other")["unchanged"] == 2
