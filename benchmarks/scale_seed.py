"""Fifty tenants' indexed files in bulk, the same rows in PostgreSQL (COPY) and in a SQLite
folder, for `benchmarks/scale.py`.

Texts, frequencies and vectors are those of `benchmarks/seed.py`: drawn words, noise around centres.
The first tenant has a fifth of all chunks: one large project with an approximate index beside many
small ones.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import psycopg

from benchmarks.seed import CHUNKS_PER_FILE, WORDS, Clusters, Language, pack
from commonplace.bootstrap.team import postgres_components
from commonplace.files.assembly import build_files
from commonplace.files.engine.reindex import TEXT
from commonplace.files.store.index_store import partition_of
from commonplace.files.store.postgres_embeddings import EXACT_ROWS, PostgresEmbeddings, fit_length
from commonplace.files.store.postgres_index import TOKENIZER
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.lexical.text import analyze
from commonplace.search.model import Passage
from commonplace.search.semantic.vector import VectorIndex
from commonplace.storage.postgres.database import open_database
from commonplace.storage.postgres.migrations import migrate
from commonplace.storage.sqlite.database import Connection, Database

PROJECT = "p"
LARGE_SHARE = 5  # the first tenant holds one chunk in so many
MOMENT = "2026-01-01T00:00:00Z"
_COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_TAIL = b"\xff\xff"


def token(tenant: int) -> str:
    """The bearer of a tenant, in mode `passthrough`."""
    return f"sk-bench-0123456789-{tenant}"


def hash_of(tenant: int) -> str:
    return hashlib.sha256(token(tenant).encode()).hexdigest()


def shares(chunks: int, tenants: int) -> list[int]:
    large = chunks if tenants == 1 else chunks // LARGE_SHARE
    return [large, *([(chunks - large) // (tenants - 1)] * (tenants - 1) if tenants > 1 else [])]


@dataclass(frozen=True, slots=True)
class Owned:
    """What one tenant holds.

    A chunk and its document have one number; a word's number is that of its term.
    """

    owner: str
    partition: int
    first: int  # the number of its first chunk
    texts: list[str]
    postings: tuple[
        np.ndarray, np.ndarray, np.ndarray
    ]  # term, document, frequency: in the order of their key
    terms: list[tuple[int, str, int]]  # number, term, documents

    def files(self) -> Iterator[tuple[int, str, bytes]]:
        for at in range(0, len(self.texts), CHUNKS_PER_FILE):
            number = (self.first + at) // CHUNKS_PER_FILE + 1
            yield number, _path(at), "".join(self.texts[at : at + CHUNKS_PER_FILE]).encode()

    def chunks(self) -> Iterator[tuple[int, str, int, int, int, str]]:
        offset = 0
        for at, text in enumerate(self.texts):
            index = at % CHUNKS_PER_FILE
            offset = offset if index else 0
            yield self.first + at, _path(at), index, offset, offset + len(text), text
            offset += len(text)


def _path(at: int) -> str:
    file = at // CHUNKS_PER_FILE
    return f"/d{file % 100:02d}/f{file:06d}.md"


def tenants_rows(sizes: Sequence[int]) -> Iterator[Owned]:
    language = Language()
    terms = ["".join(analyze(word)) for word in language.words]
    first = CHUNKS_PER_FILE  # so that files of two tenants never share a number
    for number, size in enumerate(sizes):
        drawn = language.drawn(size, WORDS)
        base = number * len(terms) + 1
        documents = np.repeat(np.arange(first, first + size), WORDS)
        keys, counts = np.unique(
            (drawn.ravel().astype(np.int64) + base) << 32 | documents, return_counts=True
        )
        numbers, holders = np.unique(keys >> 32, return_counts=True)
        held = [(int(n), terms[n - base], int(h)) for n, h in zip(numbers, holders, strict=True)]
        texts = [" ".join([language.words[at] for at in row]) + "\n" for row in drawn.tolist()]
        yield Owned(
            hash_of(number), number + 1, first, texts, (keys >> 32, keys & 0xFFFFFFFF, counts), held
        )
        first += -(-size // CHUNKS_PER_FILE) * CHUNKS_PER_FILE


# -- PostgreSQL


def seed_postgres(url: str, sizes: Sequence[int], identity: str, dimensions: int) -> None:
    """Fill a database that has no rows yet, and give large projects their index as a worker
    would.
    """
    clusters = Clusters(identity, dimensions)
    with open_database(url, pool_size=1) as database:
        migrate(database, postgres_components())
        fit_length(database, dimensions)
        with psycopg.connect(url) as connection:
            for owned in tenants_rows(sizes):
                _copy_tenant(connection, owned, clusters)
                connection.commit()
            for table in (
                "mcp_files",
                "mcp_file_chunks",
                "search_partition",
                "search_document",
                "search_term",
            ):
                connection.execute(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) "
                    f"FROM {table}))"
                )
        embeddings = PostgresEmbeddings(database, identity, dimensions)
        for number, size in enumerate(sizes, 1):
            if size > EXACT_ROWS:
                embeddings.build_index(number)
        with database.connect() as connection:
            connection.execute("VACUUM ANALYZE")


def _copy_tenant(connection: psycopg.Connection[Any], owned: Owned, clusters: Clusters) -> None:
    place, size = (owned.owner, PROJECT), len(owned.texts)
    contents = list(owned.files())
    files = [
        (number, *place, path, content, len(content), _digest(content), MOMENT, MOMENT)
        for number, path, content in contents
    ]
    _copy(
        connection,
        "mcp_files (id, apikey_hash, project, path, content, size, content_hash, created_at, "
        "updated_at)",
        files,
    )
    above = [
        (*place, directory, MOMENT, number)
        for number, path, _ in contents
        for directory in ("", path[:4])
    ]
    _copy(connection, "mcp_file_ancestors", above)
    _copy(
        connection,
        "mcp_file_projects",
        [(*place, len(contents), sum(len(content) for _, _, content in contents))],
    )
    chunks = (
        (n, *place, path, *rest, text, _digest(text.encode()), "")
        for n, path, *rest, text in owned.chunks()
    )
    columns = (
        "id, apikey_hash, project, file_path, chunk_index, start_byte, end_byte, "
        "chunk_content, content_hash, context"
    )
    _copy(connection, f"mcp_file_chunks ({columns})", chunks)
    tokens = (
        (owned.first + at, orjson.dumps({TEXT: Counter(text.split())}).decode(), WORDS, TOKENIZER)
        for at, text in enumerate(owned.texts)
    )
    _copy(connection, "mcp_file_chunk_bm25 (chunk_id, tokens, token_count, tokenizer)", tokens)
    _copy(connection, "search_partition", [(owned.partition, owned.owner, "files", PROJECT)])
    _copy(connection, "search_field", [(owned.partition, TEXT, size, size * WORDS)])
    documents = (
        (owned.first + at, owned.partition, f"{_path(at)}#{owned.first + at}") for at in range(size)
    )
    _copy(connection, "search_document (id, partition_id, document)", documents)
    _copy(
        connection,
        "search_term",
        ((n, owned.partition, term, TEXT, held) for n, term, held in owned.terms),
    )
    term, document, frequency = owned.postings
    columns_ = {
        "term": (term, ">i8"),
        "document": (document, ">i8"),
        "frequency": (frequency, ">i4"),
    }
    _copy_binary(
        connection, "search_posting", {**columns_, "length": (np.full(len(term), WORDS), ">i4")}
    )
    vectors = {
        "chunk": (np.arange(owned.first, owned.first + size), ">i8"),
        "embedding": (clusters.embed(range(size)), f"({clusters.dimensions},)>f4"),
        "model": (np.full(size, clusters.identity.encode()), f"S{len(clusters.identity.encode())}"),
        "partition": (np.full(size, owned.partition), ">i8"),
    }
    _copy_binary(
        connection, "mcp_file_chunk_embeddings (chunk_id, embedding, model, partition_id)", vectors
    )


def _copy(connection: psycopg.Connection[Any], into: str, rows: Iterable[Sequence[Any]]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _copy_binary(
    connection: psycopg.Connection[Any], into: str, columns: dict[str, tuple[np.ndarray, str]]
) -> None:
    """Columns of fixed width, whole arrays at a time.

    A vector carries its length before its numbers.
    """
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for name, (_, kind) in columns.items():
        layout += [
            (f"{name} bytes", ">i4"),
            *([(f"{name} length", ">i2"), (f"{name} unused", ">i2")] if kind[0] == "(" else ()),
            (name, kind),
        ]
    total = len(next(iter(columns.values()))[0])
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {into} FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.write(_COPY_HEAD)
        for at in range(0, total, 50_000):
            part = slice(at, at + 50_000)
            block = np.zeros(len(range(total)[part]), dtype=layout)
            block["fields"] = len(columns)
            for name, (values, kind) in columns.items():
                block[name] = values[part]
                width = np.dtype(kind).itemsize
                if kind[0] == "(":
                    block[f"{name} length"] = width // 4
                    width += 4
                block[f"{name} bytes"] = width
            copy.write(block.tobytes())
        copy.write(_COPY_TAIL)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# -- SQLite


def seed_sqlite(folder: Path, sizes: Sequence[int], identity: str, dimensions: int) -> None:
    database = Database(folder / "commonplace.db", durable=False)
    postings = SqlitePostings(database)
    build_files(database, folder, postings=postings)
    for owned in tenants_rows(sizes):
        database.write_now(
            lambda connection, owned=owned: _insert_tenant(connection, owned),
            lock_timeout_seconds=3600,
        )
    asyncio.run(pack(postings))
    database.close()
    clusters = Clusters(identity, dimensions)
    vectors = VectorIndex(folder / "vectors", clusters)
    for owned in tenants_rows(sizes):
        keys = [f"{path}#{number}" for number, path, *_ in owned.chunks()]
        vectors.synchronise_now(
            partition_of(owned.owner, PROJECT), "/seed#", [Passage(key, "", key) for key in keys]
        )
    vectors.close()


def _insert_tenant(connection: Connection, owned: Owned) -> None:
    place, size = (owned.owner, PROJECT), len(owned.texts)
    contents = list(owned.files())
    connection.executemany(
        """INSERT INTO mcp_files (id, apikey_hash, project, path, size, content_hash, created_at,
        updated_at, content)
        VALUES (?, ?, ?, ?, ?, ?, 1, 1, ?)""",
        (
            (number, *place, path, len(content), _digest(content), content)
            for number, path, content in contents
        ),
    )
    connection.executemany(
        """INSERT INTO mcp_file_chunks (id, apikey_hash, project, file_path, chunk_index,
        start_byte, end_byte, chunk_content, content_hash, context, created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', 1, 1)""",
        (
            (n, *place, path, *rest, text, _digest(text.encode()))
            for n, path, *rest, text in owned.chunks()
        ),
    )
    connection.execute(
        "INSERT INTO search_partition VALUES (?, ?, 'files', ?)", (owned.partition, *place)
    )
    connection.execute(
        "INSERT INTO search_field VALUES (?, ?, ?, ?)", (owned.partition, TEXT, size, size * WORDS)
    )
    keys = zip(
        count(owned.first), (f"{_path(at)}#{owned.first + at}" for at in range(size)), strict=False
    )
    connection.executemany(
        "INSERT INTO search_document VALUES (?, ?, ?, '{}')",
        ((n, owned.partition, key) for n, key in keys),
    )
    connection.executemany(
        "INSERT INTO search_term VALUES (?, ?, ?, ?, ?)",
        ((n, owned.partition, term, TEXT, h) for n, term, h in owned.terms),
    )
    columns = (column.tolist() for column in owned.postings)
    connection.executemany(
        f"INSERT INTO search_posting VALUES (?, ?, ?, {WORDS})", zip(*columns, strict=True)
    )
