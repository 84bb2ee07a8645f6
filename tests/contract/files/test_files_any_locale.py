"""PostgreSQL with a language's collation: listings and prefixes stay in byte order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from files_box import Box

from commonplace.bootstrap.team import postgres_components
from commonplace.files.store.postgres_embeddings import fit_length
from commonplace.kernel.settings import Embedding
from commonplace.storage.postgres.database import open_database
from commonplace.storage.postgres.migrations import migrate
from servers import FAST, Postgres, empty_tables

NAMES = [
    "B",
    "b",
    "A-b",
    "A_b",
    "Ab",
    "a/x",
    "a-x",
    "a.x",
    "a0",
    "e",
    "f",
    "Z",
    "z/D/1",
    "z/E/2",
    "z/e/3",
    "z/e-f/4",
    "ss",
    "1",
    "10",
    "2",
]
PREFIXES = ("/a", "/A", "/z/e", "/z/E", "/1", "/e", "/b", "/z", "/A-")
PROJECTS = ["b", "B", "é", "e", "f", "a b", "a-b", "ab"]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    made = Postgres(language="en_US", **FAST)
    with open_database(made.url, pool_size=1) as database:
        migrate(database, postgres_components())
        fit_length(database, Embedding().dimensions)
    yield made
    made.close()


@pytest.fixture
def boxes(server: Postgres, tmp_path: Path) -> Iterator[tuple[Box, Box]]:
    """The same files on SQLite and there."""
    empty_tables(server.url)
    made = Box(tmp_path), Box(tmp_path, url=server.url)
    for box in made:
        for name in NAMES:
            box.write(f"/{name}", f"needle of {name}")
        for project in PROJECTS:
            box.write("/x", "thimble", project=project)
        box.index()
    yield made
    for box in made:
        box.close()


def test_the_database_sorts_as_the_language_does(server: Postgres) -> None:
    """Checks the fixture; without the locale the tests below run in byte order."""
    with psycopg.connect(server.url) as connection:
        row = connection.execute(
            "SELECT array_agg(n ORDER BY n) FROM unnest(ARRAY['b', 'A', 'a', 'B']) AS n"
        ).fetchone()
    assert row is not None
    assert row[0] == (
        ["a", "A", "b", "B"] if server.locale == "en_US.UTF-8" else ["A", "B", "a", "b"]
    )


def test_listings_and_pages_are_in_the_order_of_bytes(boxes: tuple[Box, Box]) -> None:
    answers = []
    for box in boxes:
        listed = [
            box.paths(path=path, depth=depth, limit=limit)
            for path in ("", "/z", "/a")
            for depth in (1, 2, 0)
            for limit in (3, 100)
        ]
        pages, after = [], ""
        while page := box.call("file_browse", path="", after=after, limit=4)["entries"]:
            pages += [entry["path"] for entry in page]
            after = page[-1]["path"]
        assert all(paths == sorted(paths, key=str.encode) for paths in listed)
        assert pages == sorted(pages, key=str.encode)
        answers.append((listed, pages))
    assert answers[0] == answers[1]


def test_prefixes_are_byte_ranges_and_equal_scores_are_ordered_by_path(
    boxes: tuple[Box, Box],
) -> None:
    answers = []
    for box in boxes:
        found = [box.found("needle", path_prefix=prefix, limit=20) for prefix in (*PREFIXES, "")]
        grepped = box.call("file_grep", pattern="needle", path_prefix="/a")
        answers.append((found, [match["file_path"] for match in grepped["matches"]]))
        for prefix, paths in zip(PREFIXES, found, strict=False):
            assert set(paths) == {f"/{name}" for name in NAMES if f"/{name}".startswith(prefix)}
    assert answers[0] == answers[1]


def test_directories_are_deleted_and_restored_whole(boxes: tuple[Box, Box]) -> None:
    for box in boxes:
        assert box.call("file_delete", path="/z", recursive=True)["deleted"] == 4
        assert not [path for path in box.paths(depth=3) if path.startswith("/z")]
        restored = box.call("file_restore", path="/z")["paths"]
        assert restored == ["/z/D/1", "/z/E/2", "/z/e-f/4", "/z/e/3"]
        box.call("file_rename", path="/z", new_path="/Z2")
        assert box.paths(path="/Z2") == ["/Z2/D", "/Z2/E", "/Z2/e", "/Z2/e-f"]
        assert [each["project"] for each in box.call("file_projects")["projects"]] == sorted(
            [*PROJECTS, "p"], key=str.encode
        )


def test_every_sorted_column_compares_as_bytes(server: Postgres) -> None:
    """Columns of keys, indexes and ranges are COLLATE "C", but for hashes and closed sets."""
    equal_only = {
        "apikey_hash",
        "content_hash",
        "status",
        "operation",
        "model",
        "mode",
        "component",
        "type",
        "decision",
        "action",
        "relation",
    }
    with psycopg.connect(server.url) as connection:
        rows = connection.execute(
            """SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
               JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey) JOIN
               pg_collation o ON o.oid = a.attcollation
               WHERE c.relnamespace = 'public'::regnamespace AND o.collname <> 'C'"""
        ).fetchall()
    assert {(table, column) for table, column in rows if column not in equal_only} == set()
