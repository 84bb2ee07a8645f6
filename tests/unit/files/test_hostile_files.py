"""Hostile input to files ends in an answer or a typed error, with bounded memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.files.assembly import Files, build_files
from commonplace.files.grepping import GrepQuery
from commonplace.files.model import WriteMode, ancestors, file_path
from commonplace.kernel.auth import local_user
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import FilesSettings
from commonplace.storage.sqlite.database import Database

USER = local_user()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    database = Database(tmp_path / "files.db", durable=False)
    yield build_files(database, tmp_path, FilesSettings(max_payload_bytes=10_000_000))
    database.close()


def test_the_deepest_path_is_written_listed_moved_and_deleted(files: Files) -> None:
    deepest = "/a" * 256
    assert len(list(ancestors(file_path(deepest)))) == 256

    async def use() -> None:
        await files.service.write(USER, "p", deepest, "x")
        listing = await files.service.list_directory(USER, "p", "", depth=1000, limit=1024)
        assert len(listing.entries) == 256
        assert await files.service.rename(USER, "p", "/a", "/b") == 1
        assert await files.service.delete(USER, "p", "/b", recursive=True) == 1
        assert (await files.service.list_directory(USER, "p")).entries == []

    asyncio.run(use())


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "word " * 40_000,
        "\n" * 20_000,
        "\r" * 50_000,
        "é" * 300_000,
        "# " * 30_000,
        "```\n" * 20_000,
    ],
)
def test_hostile_files_are_indexed_within_bounds(files: Files, text: str) -> None:
    async def use() -> None:
        await files.service.write(USER, "p", "/f", text, mode=WriteMode.TRUNCATE)
        assert await files.indexer.drain()
        state = await files.service.index_state(USER, "p")
        assert (state.pending, state.dead) == (0, 0)

    tracemalloc.start()
    asyncio.run(use())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400_000_000


@pytest.mark.parametrize("limit", [10**30, 2**63, 2**31])
def test_huge_offsets_and_lengths_are_accepted(files: Files, limit: int) -> None:
    async def use() -> None:
        await files.service.write(USER, "p", "/f", "body")
        assert (
            len((await files.service.list_directory(USER, "p", depth=limit, limit=limit)).entries)
            == 1
        )
        assert (await files.service.read(USER, "p", "/f", offset=limit, length=limit)).content == ""
        with pytest.raises(CommonplaceError):
            await files.service.write(USER, "p", "/f", "x", offset=limit, mode=WriteMode.OVERWRITE)
        await files.service.search(USER, "p", "body", limit=limit)
        await files.service.grep(USER, "p", GrepQuery("body", limit=limit))

    asyncio.run(use())


@pytest.mark.parametrize(
    "name",
    [
        "'; DELETE FROM mcp_files; --",
        "%",
        "_",
        "p\\",
        '"p"',
        "p' OR '1'='1",
        "x\u202ey",
        "*",
        "GLOB",
    ],
)
def test_names_with_metacharacters_stay_apart(files: Files, name: str) -> None:
    async def use() -> None:
        await files.service.write(USER, "other", "/keep", "keep")
        await files.service.write(USER, name, "/mine", "mine")
        assert [
            entry.path for entry in (await files.service.list_directory(USER, name)).entries
        ] == ["/mine"]
        await files.service.delete(USER, name, "/mine")
        assert (await files.service.read(USER, "other", "/keep")).content == "keep"

    asyncio.run(use())
