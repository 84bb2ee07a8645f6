"""Texts above the request limit are stored in parts; a failed transfer changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from files_box import Box, MakeBox

from commonplace.dispatch.transfer import Reply, TransferReply, parts_of, run, write_in_parts
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import FilesSettings

TEXT = "".join(f"line {n} with ünïcödé and 🐘 in it\n" for n in range(300))
SMALL = FilesSettings(max_payload_bytes=1_000, max_file_bytes=30_000)


class Client:
    """Calls tools as a client; file_write fails after `refuse_after` calls."""

    def __init__(self, box: Box, refuse_after: int | None = None) -> None:
        self.box = box
        self.calls: list[str] = []
        self.refuse_after = refuse_after

    def __call__(self, tool: str, arguments: dict[str, Any]) -> Reply:
        self.calls.append(tool)
        if (
            self.refuse_after is not None
            and self.calls.count("file_write") > self.refuse_after
            and tool == "file_write"
        ):
            return TransferReply(None, {"code": "STORAGE_UNAVAILABLE", "message": "away"})
        try:
            return TransferReply(self.box.call(tool, **arguments))
        except CommonplaceError as error:
            return TransferReply(None, error.as_dict())

    def write(self, content: str, mode: str = "TRUNCATE", **more: Any) -> Reply:
        return run(
            write_in_parts(
                {"project": "p", "path": "/a.md", "content": content, "mode": mode, **more}
            ),
            self,
        )


def test_a_long_text_is_stored_in_parts_and_moved_into_place(make_box: MakeBox) -> None:
    box = make_box(SMALL)
    client = Client(box)
    answer = client.write(TEXT, if_match="")
    assert answer.error is None
    assert (answer.output["bytes_written"], answer.output["size"]) == (
        len(TEXT.encode()),
        len(TEXT.encode()),
    )
    assert box.read("/a.md") == TEXT
    assert box.paths() == ["/a.md"]
    assert client.calls.count("file_write") > 10
    again = client.write(TEXT[::-1])
    assert again.error is None
    assert (box.read("/a.md"), box.paths()) == (TEXT[::-1], ["/a.md"])
    assert again.output["content_hash"] == box.call("file_stat", path="/a.md")["content_hash"]
    appended = client.write(TEXT[:3_000], "APPEND")
    assert appended.error is None
    assert box.read("/a.md") == TEXT[::-1] + TEXT[:3_000]
    box.index()
    assert box.found("ünïcödé")


def test_a_short_text_is_one_call(make_box: MakeBox) -> None:
    client = Client(make_box(SMALL))
    assert client.write("short").error is None
    assert client.calls == ["file_write"]


@pytest.mark.parametrize("fails", ["connection", "size", "changed", "exists"])
def test_a_transfer_that_fails_leaves_the_file_that_was_there(
    make_box: MakeBox, fails: str
) -> None:
    box = make_box(SMALL)
    box.write("/a.md", "as it was")
    client = Client(box, refuse_after=5 if fails == "connection" else None)
    text = TEXT * 4 if fails == "size" else TEXT
    given = {"changed": {"if_match": "0" * 64}, "exists": {"if_match": ""}}.get(fails, {})
    answer = client.write(text, **given)
    assert answer.error is not None
    wanted = {"connection": "STORAGE_UNAVAILABLE", "size": "PAYLOAD_TOO_LARGE"}.get(
        fails, "CONTENT_CHANGED"
    )
    assert answer.error["code"] == wanted
    assert (box.read("/a.md"), box.paths()) == ("as it was", ["/a.md"])


def test_a_source_path_survives_a_transfer(make_box: MakeBox) -> None:
    box = make_box(SMALL)
    client = Client(box)
    steps = write_in_parts(
        {
            "project": "p",
            "path": "/_x5Ba_x5D.md",
            "content": TEXT,
            "mode": "TRUNCATE",
            "source_path": "/[a].md",
        }
    )
    assert run(steps, client).error is None
    assert box.call("file_stat", path="/_x5Ba_x5D.md")["source_path"] == "/[a].md"
    again = write_in_parts(
        {"project": "p", "path": "/_x5Ba_x5D.md", "content": TEXT + TEXT, "mode": "TRUNCATE"}
    )
    assert run(again, client).error is None
    assert box.call("file_stat", path="/_x5Ba_x5D.md")["source_path"] == "/[a].md"


def test_parts_are_cut_between_characters() -> None:
    for limit in (1, 3, 4, 5, 7, 1_000):
        parts = list(parts_of(TEXT[:200], limit))
        assert "".join(parts) == TEXT[:200]
        assert all(len(part.encode()) <= max(limit, 4) for part in parts)


def test_a_rename_replaces_a_file_only_with_overwrite(box: Box) -> None:
    box.write("/new", "new")
    box.write("/old", "old")
    box.write("/d/x", "inside")
    assert box.code("file_rename", path="/new", new_path="/old") == "ALREADY_EXISTS"
    assert box.code("file_rename", path="/new", new_path="/d", overwrite=True) == "ALREADY_EXISTS"
    assert box.code("file_rename", path="/d", new_path="/old", overwrite=True) == "ALREADY_EXISTS"
    assert (
        box.code("file_rename", path="/new", new_path="/old", overwrite=True, if_match="0" * 64)
        == "CONTENT_CHANGED"
    )
    assert (
        box.code("file_rename", path="/new", new_path="/old", overwrite=True, if_match="")
        == "CONTENT_CHANGED"
    )
    digest = box.call("file_stat", path="/old")["content_hash"]
    assert box.call(
        "file_rename", path="/new", new_path="/old", overwrite=True, if_match=digest
    ) == {"renamed": 1}
    assert box.read("/old") == "new"
    assert box.paths() == ["/d", "/old"]
    assert box.call("file_usage")["size_bytes"] == len("new" + "inside")
    box.index()
    assert (box.found("new"), box.found("old"), box.found("inside")) == (
        ["/old"],
        ["/old"],
        ["/d/x"],
    )  # its path has the word
    box.call("file_delete", path="/old")
    assert box.call("file_restore", path="/old")["restored"] == 1
    assert box.read("/old") == "new"
