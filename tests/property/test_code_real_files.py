"""Real files of every language that is on this machine: the chunks cover them exactly.

More languages: unpack sources into a folder and name it in COMMONPLACE_CODE_CORPUS.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.search.chunk import MAX_BYTES
from commonplace.search.code.chunking import split_source
from commonplace.search.code.languages import LANGUAGES, language_of
from commonplace.search.code.parser_process import ParserProcess

ROOT = Path(__file__).parents[2]
SOAK = os.environ.get("COMMONPLACE_SOAK") == "1"
CORPUS = os.environ.get("COMMONPLACE_CODE_CORPUS")
FILES = 50 if SOAK or CORPUS else 5
LOCAL = ("python", "javascript", "typescript", "go", "c")  # come with the tools of this repository
SIZES = range(300, 300_000)


def folders() -> Iterator[Path]:
    if CORPUS:
        yield Path(CORPUS)
    yield Path(sysconfig.get_paths()["stdlib"]).parent
    yield Path(sys.prefix) / "lib"
    yield ROOT / "src"


@pytest.fixture(scope="module")
def samples() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    for folder in folders():
        for place, _, names in os.walk(folder):
            for name in sorted(names):
                language = language_of(name)
                path = Path(place) / name
                if (
                    language in LANGUAGES
                    and len(found[language]) < FILES
                    and path.is_file()
                    and path.stat().st_size in SIZES
                ):
                    found[language].append(path)
        if all(len(found[language]) >= FILES for language in LANGUAGES):
            break
    return found


@pytest.mark.soak
@pytest.mark.parametrize("language", LANGUAGES)
def test_chunks_cover_real_files(language: str, samples: dict[str, list[Path]]) -> None:
    assert language not in LOCAL or len(samples[language]) == FILES
    parser = ParserProcess()
    try:
        for path in samples[language]:
            source = path.read_bytes().decode(errors="replace").encode()
            at = 0
            for chunk in split_source(source, parser.structure(path.name, source)):
                assert (chunk.start, source[chunk.start : chunk.end].decode()) == (at, chunk.text)
                assert chunk.start_line == source[: chunk.start].count(b"\n") + 1
                assert chunk.end - chunk.start <= MAX_BYTES
                at = chunk.end
            assert at == len(source), path
    finally:
        parser.close()
