"""Fuzzed source never fails a cut or a job: whatever the text, the chunks cover it exactly."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.files.assembly import build_files
from commonplace.files.model import WriteMode
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import FilesSettings
from commonplace.search.code.chunking import split_source
from commonplace.search.code.languages import language_of
from commonplace.search.code.parser_process import ParserProcess
from commonplace.storage.sqlite.database import Database

SAMPLES = sorted((Path(__file__).parents[1] / "data" / "code").iterdir())
SOAK = os.environ.get("COMMONPLACE_SOAK") == "1"
ROUNDS = 200 if SOAK else 4
JOBS = 200 if SOAK else 2  # files of each language
PROJECT = "fuzz"
PIECES = (
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    '"',
    "'",
    "`",
    "\n",
    "\r",
    "\0",
    "é",
    "\U0001f600",
    "#",
    "\\",
)


@pytest.fixture(scope="module")
def parser() -> Iterator[ParserProcess]:
    process = ParserProcess()
    yield process
    process.close()


def mutate(text: str, chance: random.Random) -> str:
    """Return a text with parts removed, repeated, moved or replaced."""
    for _ in range(chance.randint(1, 12)):
        at, size = chance.randrange(len(text) + 1), chance.randint(0, 200)
        part = text[at : at + size]
        change = chance.randrange(4)
        if change == 0:
            text = text[:at] + text[at + size :]
        elif change == 1:
            text = text[:at] + part * chance.randint(1, 20) + text[at:]
        elif change == 2:
            to = chance.randrange(len(text) + 1)
            text = text[:to] + part + text[to:]
        else:
            text = text[:at] + chance.choice(PIECES) * chance.randint(1, 300) + text[at:]
    return text


@pytest.mark.soak
@pytest.mark.parametrize("sample", SAMPLES, ids=[path.name for path in SAMPLES])
def test_chunks_cover_fuzzed_source(sample: Path, parser: ParserProcess) -> None:
    chance = random.Random(sample.name)
    original = sample.read_text()
    for _ in range(ROUNDS):
        source = mutate(original * chance.randint(1, 8), chance).encode()
        structure = parser.structure(sample.name, source)
        assert structure.language == language_of(sample.name)
        at = 0
        for chunk in split_source(source, structure):
            assert chunk.start == at
            assert source[chunk.start : chunk.end].decode() == chunk.text
            at = chunk.end
        assert at == len(source)
        for definition in structure.definitions:
            assert 0 <= definition.start <= definition.end <= len(source)
            assert 1 <= definition.start_line <= definition.end_line


async def index_fuzzed_files(folder: Path) -> None:
    settings = FilesSettings(max_project_bytes=1_000_000_000)
    files = build_files(Database(folder / "files.db", durable=False), folder, settings)
    service, user = files.service, local_user()
    try:
        stored = {}
        for sample in SAMPLES:
            chance = random.Random(f"job {sample.name}")
            for number in range(JOBS):
                text = mutate(sample.read_text() * chance.randint(1, 8), chance).replace("\0", "")
                path = f"/{number}/{sample.name}"
                stored[path] = text
                await service.write(user, PROJECT, path, text, mode=WriteMode.TRUNCATE)
        await files.indexer.drain()
        state = await service.index_state(user, PROJECT)
        assert (state.dead, state.pending, state.processing) == (0, 0, 0), state.dead_paths
        assert state.indexed_files == len(stored)
        for query in ("square", "shape area", "DEFAULT_SIDES"):
            for found in (await service.search(user, PROJECT, query, limit=50)).chunks:
                size = found.end - found.start
                read = await service.read(user, PROJECT, found.path, found.start, size)
                assert read.content == found.content
    finally:
        service.close()


@pytest.mark.soak
def test_fuzzed_files_never_fail_a_job(tmp_path: Path) -> None:
    asyncio.run(index_fuzzed_files(tmp_path))
