"""A data folder with many indexed chunks, made in bulk: texts of drawn words, postings written
in key order, synthetic vectors.

    python -m benchmarks.seed 100000 FOLDER        then: python -m benchmarks.search_scale --seeded
    FOLDER

Nothing is embedded: vectors are noise around 500 centres, so that a million take minutes and not
hours. What a search does with them (and the model that embeds the query) is the product's own.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson

from commonplace.files.assembly import build_files
from commonplace.files.engine.reindex import TEXT
from commonplace.files.store.index_store import partition_of
from commonplace.kernel.auth import local_user
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.lexical.text import analyze
from commonplace.search.model import Passage
from commonplace.search.semantic import vector_ann
from commonplace.search.semantic.vector import VectorIndex
from commonplace.storage.sqlite.database import Connection, Database

PROJECT = "p"
TENANT = local_user().apikey_hash
WORDS = 80  # of a chunk
CHUNKS_PER_FILE = 10
# Mandelbrot's shift: the commonest words of a language are stop words and never reach the index
FLATTER = 50
CENTRES = 500
BATCH = 50_000
SYLLABLES = [a + b for a in "bcdfghjklmnprstv" for b in ("a", "e", "i", "o", "u")]


class Language:
    """Made-up words with frequencies as in language (Zipf, as Mandelbrot has it)."""

    def __init__(self, seed: int = 5) -> None:
        self.words = [
            f"{a}{b}{c}k"
            for a in ("ba", "co", "du", "fi", "ge", "ha")
            for b in SYLLABLES
            for c in SYLLABLES
        ]
        odds = 1 / (np.arange(1, len(self.words) + 1) + FLATTER)
        self._up_to = np.cumsum(odds) / odds.sum()
        self._chance = np.random.default_rng(seed)

    def drawn(self, *shape: int) -> np.ndarray:
        """Numbers of words, in the given shape."""
        return np.minimum(
            np.searchsorted(self._up_to, self._chance.random(shape)), len(self.words) - 1
        )

    def text(self, words: int) -> str:
        return " ".join(self.words[at] for at in self.drawn(words))


class Clusters:
    """An embedder of a given identity that answers with synthetic vectors."""

    def __init__(self, identity: str, dimensions: int) -> None:
        self.identity, self.dimensions = identity, dimensions
        self._chance = np.random.default_rng(9)
        self._centres = self._chance.standard_normal((CENTRES, dimensions), dtype=np.float32)

    def embed(self, texts: object) -> np.ndarray:
        count = len(texts)  # type: ignore[arg-type]
        rows = self._centres[
            self._chance.integers(0, CENTRES, count)
        ] + self._chance.standard_normal((count, self.dimensions), dtype=np.float32)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        return self.embed([text])[0]


def seed(folder: Path, size: int, identity: str | None, dimensions: int = 384) -> None:
    """Fill `folder` with `size` chunks; with `identity`, vectors of that model too.

    Nothing to do when it is there.
    """
    note = folder / "seeded.json"
    wanted = {"chunks": size, "vectors": identity}
    there = orjson.loads(note.read_bytes()) if note.is_file() else {}
    if there == wanted or (there.get("chunks") == size and identity is None):
        return
    database = Database(folder / "commonplace.db", durable=False)
    postings = SqlitePostings(database)
    build_files(database, folder, postings=postings)
    database.write_now(lambda connection: _fill(connection, size), lock_timeout_seconds=3600)
    asyncio.run(pack(postings))
    database.close()
    if identity is not None:
        _fill_vectors(folder, size, Clusters(identity, dimensions))
    note.write_bytes(orjson.dumps(wanted))


async def pack(postings: SqlitePostings) -> None:
    """What an index worker does when it is idle."""
    while await postings.tidy():
        pass


def _path(file: int) -> str:
    return f"/d{file % 100:02d}/f{file:06d}.md"


def _fill(connection: Connection, size: int) -> None:
    language = Language()
    terms = ["".join(analyze(word)) for word in language.words]
    connection.execute("INSERT INTO search_partition VALUES (1, ?, 'files', ?)", (TENANT, PROJECT))
    connection.execute("INSERT INTO search_field VALUES (1, ?, ?, ?)", (TEXT, size, size * WORDS))
    held = []
    for start in range(0, size, BATCH):
        drawn = language.drawn(min(BATCH, size - start), WORDS)
        _write_files(connection, start, drawn, language.words)
        documents = np.repeat(np.arange(start + 1, start + 1 + len(drawn)), WORDS)
        held.append((drawn.ravel().astype(np.int64) + 1) << 32 | documents)
    postings, counts = np.unique(np.concatenate(held), return_counts=True)
    for at in range(0, len(postings), 1_000_000):
        part = postings[at : at + 1_000_000]
        columns = (
            (part >> 32).tolist(),
            (part & 0xFFFFFFFF).tolist(),
            counts[at : at + 1_000_000].tolist(),
        )
        connection.executemany(
            f"INSERT INTO search_posting VALUES (?, ?, ?, {WORDS})", zip(*columns, strict=True)
        )
    numbers, holders = np.unique(postings >> 32, return_counts=True)
    rows = [(int(n), terms[n - 1], TEXT, int(h)) for n, h in zip(numbers, holders, strict=True)]
    connection.executemany("INSERT INTO search_term VALUES (?, 1, ?, ?, ?)", rows)


def _write_files(connection: Connection, start: int, drawn: np.ndarray, words: list[str]) -> None:
    texts = [" ".join([words[at] for at in row]) + "\n" for row in drawn.tolist()]

    def files() -> Iterator[tuple[object, ...]]:
        for at in range(0, len(texts), CHUNKS_PER_FILE):
            number = (start + at) // CHUNKS_PER_FILE + 1
            content = "".join(texts[at : at + CHUNKS_PER_FILE]).encode()
            yield number, TENANT, PROJECT, _path(number), len(content), "", number, number, content

    def chunks() -> Iterator[tuple[object, ...]]:
        offset = 0
        for at, text in enumerate(texts):
            offset = 0 if at % CHUNKS_PER_FILE == 0 else offset
            number = start + at
            file, index = divmod(number, CHUNKS_PER_FILE)
            yield (
                number + 1,
                TENANT,
                PROJECT,
                _path(file + 1),
                index,
                offset,
                offset + len(text),
                text,
            )
            offset += len(text)

    connection.executemany(
        """INSERT INTO mcp_files (id, apikey_hash, project, path, size, content_hash, created_at,
        updated_at, content)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        files(),
    )
    connection.executemany(
        """INSERT INTO mcp_file_chunks (id, apikey_hash, project, file_path, chunk_index,
        start_byte, end_byte, chunk_content, content_hash, context, created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '', 0, 0)""",
        chunks(),
    )
    keys = ((start + at + 1, _key(start + at)) for at in range(len(texts)))
    connection.executemany("INSERT INTO search_document VALUES (?, 1, ?, '{}')", keys)


def _key(number: int) -> str:
    return f"{_path(number // CHUNKS_PER_FILE + 1)}#{number + 1}"


def _fill_vectors(folder: Path, size: int, clusters: Clusters) -> None:
    partition = partition_of(TENANT, PROJECT)
    vectors = VectorIndex(
        folder / "vectors", clusters, ann_rows=size + 1
    )  # the approximate index is built once, below
    for start in range(0, size, BATCH):
        keys = [_key(number) for number in range(start, min(start + BATCH, size))]
        vectors.synchronise_now(
            partition, f"/batch{start}#", [Passage(key, "", key) for key in keys]
        )
    vectors.close()
    if size >= vector_ann.ANN_ROWS:
        VectorIndex(folder / "vectors", clusters).build_now(partition, threads=2)


def main() -> None:
    size, folder = int(sys.argv[1]), Path(sys.argv[2])
    begun = time.perf_counter()
    from benchmarks.retrieval import ROOT
    from commonplace.search.semantic.models import embed_models

    seed(folder, size, embed_models.install_default(ROOT / ".tools" / "models").identity)
    print(f"{size:,} chunks in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
