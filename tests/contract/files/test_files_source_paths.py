"""Illegal names are stored under a legal path, with the original as `source_path`."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest
from files_box import Box

from commonplace.dispatch.schema import output_schema
from commonplace.files.engine.folder import scan
from commonplace.files.folders.importing import FolderImport, ImportReport
from commonplace.files.store.stored_texts import stored_texts
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant

STORED, ORIGINAL = "/app/_x5Bid_x5D/page.tsx", "/app/[id]/page.tsx"


def write(box: Box, path: str, source: str | None, content: str = "walrus") -> Any:
    return box.call("file_write", path=path, content=content, mode="TRUNCATE", source_path=source)


def sources(box: Box) -> dict[str, str | None]:
    entries = box.call("file_list", depth=9)["entries"]
    return {entry["path"]: entry.get("source_path") for entry in entries if entry["type"] == "FILE"}


def import_folder(box: Box, folder: Path, *, delete: bool = False, under: str = "") -> ImportReport:
    work = FolderImport(
        box.files.service, AuthContext(Tenant("t1"), ALL_SCOPES, "t1"), "p", folder, under
    )
    return asyncio.run(work.run(scan(folder), delete=delete))


def make(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
    return folder


def test_the_original_path_is_in_stat_list_and_search(box: Box) -> None:
    write(box, STORED, ORIGINAL)
    write(box, "/plain.md", "/plain.md")
    assert box.call("file_stat", path=STORED)["source_path"] == ORIGINAL
    assert "source_path" not in box.call("file_stat", path="/plain.md")
    assert sources(box) == {STORED: ORIGINAL, "/plain.md": None}
    assert [
        entry.get("source_path")
        for entry in box.call("file_list", path="/app/_x5Bid_x5D")["entries"]
    ] == [ORIGINAL]
    assert box.call("file_browse", path="/app/_x5Bid_x5D")["entries"][0]["source_path"] == ORIGINAL
    box.index()
    found = {
        chunk["file_path"]: chunk.get("source_path")
        for chunk in box.call("file_search", query="walrus")["chunks"]
    }
    assert found == {STORED: ORIGINAL, "/plain.md": None}


def test_later_writes_edits_deletes_and_restores_keep_the_original_path(box: Box) -> None:
    write(box, STORED, ORIGINAL)
    write(box, STORED, None, "other words")
    box.call("file_edit", path=STORED, old_text="other", new_text="more")
    box.call("file_delete", path=STORED)
    box.call("file_restore", path=STORED)
    assert sources(box) == {STORED: ORIGINAL}
    write(box, STORED, STORED)
    assert sources(box) == {STORED: None}


def test_a_rename_keeps_the_original_names_that_it_did_not_replace(box: Box) -> None:
    write(box, STORED, ORIGINAL)
    box.call("file_rename", path="/app", new_path="/web/src")
    assert sources(box) == {"/web/src/_x5Bid_x5D/page.tsx": "/web/src/[id]/page.tsx"}
    box.call("file_rename", path="/web/src/_x5Bid_x5D", new_path="/web/src/id")
    assert sources(box) == {"/web/src/id/page.tsx": None}


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("/a/b", "/../b"),
        ("/_x2E_x2E/b", "/../b"),
        ("/a_x00", "/a\0"),
        ("/a/b", "/a/c"),
        ("/a", "/a/b"),
        ("/a_x2Fb", "/a/b"),
        ("/a", "a"),
        ("/a_2.md", "/a.md"),
        ("/_xED_xA0_x80", "/\ud800"),
    ],
)
def test_a_source_path_that_the_path_does_not_spell_is_refused(
    box: Box, path: str, source: str
) -> None:
    error = box.error("file_write", path=path, content="x", mode="TRUNCATE", source_path=source)
    assert error.code.name in ("INVALID_PATH", "INVALID_ARGUMENT")
    assert sources(box) == {}


def test_an_import_spells_illegal_names_and_the_legal_file_keeps_its_own(
    box: Box, tmp_path: Path
) -> None:
    folder = make(
        tmp_path / "site",
        "[id]/page.tsx",
        "_x5Bid_x5D/page.tsx",
        "a b.md",
        "a_x20b.md",
        "é.md",
        "[x]/y",
        "_x5Bx_x5D",
    )
    report = import_folder(box, folder)
    assert (report.stored, report.skipped) == (7, [])
    assert sources(box) == {
        "/_x5Bid_x5D/page.tsx": None,
        "/_x5Bid_x5D_2/page.tsx": "/[id]/page.tsx",
        "/_x5Bx_x5D": None,
        "/_x5Bx_x5D_2/y": "/[x]/y",
        "/_xC3_xA9.md": "/é.md",
        "/a_x20b.md": None,
        "/a_x20b_2.md": "/a b.md",
    }
    assert {renamed.source_path: renamed.path for renamed in report.renamed} == {
        source: path for path, source in sources(box).items() if source is not None
    }
    for path, source in sources(box).items():
        assert box.read(path) == f"content of {(source or path)[1:]}"
    again = import_folder(box, folder)
    assert (again.stored, again.unchanged, again.missing) == (0, 7, [])


def test_an_import_replaces_no_other_file_that_has_the_spelled_name(
    box: Box, tmp_path: Path
) -> None:
    box.write("/a_x20b.md", "written by an agent")
    folder = make(tmp_path / "docs", "a b.md")
    import_folder(box, folder)
    assert sources(box) == {"/a_x20b.md": None, "/a_x20b_2.md": "/a b.md"}
    box.call("file_delete", path="/a_x20b.md")
    import_folder(box, folder)
    assert sources(box) == {"/a_x20b_2.md": "/a b.md"}
    make(folder, "a_x20b_2.md")  # a legal name that was taken
    assert import_folder(box, folder).missing == []
    assert sources(box) == {"/a_x20b.md": "/a b.md", "/a_x20b_2.md": None}


def test_a_second_import_reports_missing_files_and_deletes_them_on_demand(
    box: Box, tmp_path: Path
) -> None:
    folder = make(tmp_path / "docs", "keep.md", "gone.md", "sub/[gone].md", "kept.md")
    box.write("/docs/agent.md", "not from the folder")
    import_folder(box, folder, under="/docs")
    box.call("file_rename", path="/docs/kept.md", new_path="/docs/moved.md")
    for name in ("gone.md", "sub/[gone].md", "kept.md"):
        (folder / name).unlink()
    (folder / ".gitignore").write_text("keep.md\n")
    gone = ["/docs/gone.md", "/docs/sub/_x5Bgone_x5D.md"]
    report = import_folder(box, folder, under="/docs")
    assert (report.missing, report.deleted, report.ignored) == (gone, 0, 1)
    assert import_folder(box, make(tmp_path / "other", "x.md"), under="/docs").missing == []
    report = import_folder(box, folder, under="/docs", delete=True)
    assert (report.missing, report.deleted) == (gone, 2)
    assert sorted(sources(box)) == [
        "/docs/.gitignore",
        "/docs/agent.md",
        "/docs/keep.md",
        "/docs/moved.md",
        "/docs/x.md",
    ]
    assert import_folder(box, folder, under="/docs", delete=True).missing == []


def test_every_skip_is_reported(box: Box, tmp_path: Path) -> None:
    folder = make(tmp_path / "in", "a.md", "é" * 90 + "/x.md", "sub/b.md")
    (folder / "link.md").symlink_to(folder / "a.md")
    (folder / "sub" / "loop").symlink_to(folder)
    (folder / "image.png").write_bytes(b"\x89PNG\0")
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.md")).write_text("x")
    report = import_folder(box, folder)
    assert {skipped.path: skipped.reason.split(";")[0] for skipped in report.skipped} == {
        "/bad\\xff.md": "its name is not UTF-8",
        "/image.png": "binary, or text that is not UTF-8",
        "/link.md": "a symbolic link",
        "/sub/loop": "a symbolic link",
        f"/{'é' * 90}/x.md": "its path would have 726 characters",
    }
    assert sorted(sources(box)) == ["/a.md", "/sub/b.md"]


def test_outputs_declare_the_optional_field_and_keep_the_contracts(box: Box) -> None:
    for name in ("file_stat", "file_list", "file_search"):
        schema = str(output_schema(box.pipeline.registry.tool(name).output))
        assert "source_path" in schema
        assert "'source_path'" not in str(re.findall(r"'required': \[[^]]*\]", schema))


def test_stored_texts_cover_every_live_file_of_all_tenants(
    box: Box,
) -> None:
    stored = "/a_xE2_x80_xAEb.md"
    write(box, stored, "/a\u202eb.md")
    box.call("file_write", "t2", path="/a.md", content="b\u200bc")
    box.write("/gone.md")
    box.call("file_delete", path="/gone.md")
    texts = dict(stored_texts(box.files.service.store))
    assert len(texts) == 2
    (first, second) = sorted(texts)
    assert (first.split(" ")[0], second.split(" ")[0]) == ("file:p/a.md", f"file:p{stored}")
    assert texts[first] == ("p", "", "b\u200bc")
    assert texts[second][1] == "/a\u202eb.md"
