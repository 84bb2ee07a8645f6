"""A change of the model: the old vectors serve until the new ones are made, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.files.assembly import Files, build_files
from commonplace.files.engine.reindex import WEIGHTS
from commonplace.files.postgres_assembly import build_postgres_files
from commonplace.files.store.index_store import partition_of
from commonplace.files.store.postgres_embeddings import PostgresEmbeddings
from commonplace.files.store.postgres_sides import PostgresLocalSide
from commonplace.kernel.auth import AuthContext, local_user
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import Partition
from commonplace.search.retriever import HybridRetriever
from commonplace.search.semantic.local import LocalSemantics
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.sqlite.database import Database
from word_embedder import WordEmbedder

DIMENSIONS = 384
OLD, NEW = "old-model/int8/1", "new-model/int8/2"


class FakeModel(WordEmbedder):
    """A model that can be told to be unavailable for passages."""

    def __init__(self, identity: str) -> None:
        super().__init__(identity, DIMENSIONS)
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.asked.append(text)
        return super().embed_query(text)

    def close(self) -> None:
        """Nothing was opened."""


class OneEarlierModel:
    """An `EarlierEmbedders` with one model."""

    def __init__(self, model: FakeModel) -> None:
        self.model = model

    def find(self, identity: str) -> FakeModel | None:
        return self.model if identity == self.model.identity else None

    def close(self) -> None:
        """Nothing was opened."""


class Opened:
    """Files of one store, opened with one model and perhaps one before it."""

    def __init__(self, place: Path | str, model: FakeModel, earlier: FakeModel | None) -> None:
        found = OneEarlierModel(earlier) if earlier is not None else None
        self.side: Any
        self.files: Files
        if isinstance(place, Path):
            self.database: Any = Database(place / "commonplace.db", durable=False)
            postings = SqlitePostings(self.database)
            self.side = LocalSemantics(model, place / "vectors", found)  # type: ignore[arg-type]
            self.retriever = retriever = HybridRetriever(postings, self.side)
            self.files = build_files(
                self.database, place, postings=postings, retriever=retriever, listener=self.side
            )
        else:
            self.database = PostgresDatabase(place, pool_size=4)
            embeddings = PostgresEmbeddings(self.database, model.identity, DIMENSIONS)
            self.side = PostgresLocalSide(model, embeddings, found)
            self.retriever = retriever = HybridRetriever(
                PostgresPostings(self.database), None, external=self.side
            )
            self.files = build_postgres_files(
                self.database, retriever=retriever, listener=self.side
            )

    def write(self, path: str, content: str) -> None:
        asyncio.run(self.files.service.write(user(), "p", path, content))

    def delete(self, path: str) -> None:
        asyncio.run(self.files.service.delete(user(), "p", path))

    def index(self) -> None:
        assert asyncio.run(self.files.indexer.drain())

    def search(self, query: str) -> Any:
        return asyncio.run(self.files.service.search(user(), "p", query, limit=5))

    def hits(self, query: str) -> Any:
        found = self.retriever.retrieve(partition(), query, limit=5, weights=WEIGHTS)
        return asyncio.run(found).hits

    def lacks_vectors(self) -> bool:
        return asyncio.run(self.side.lacks_vectors(partition()))

    def close(self) -> None:
        self.files.service.close()
        self.database.close()


def user() -> AuthContext:
    return local_user()


def partition() -> Partition:
    return partition_of(user().apikey_hash, "p")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    if request.param == "sqlite":
        yield tmp_path
    else:
        yield request.getfixturevalue("postgres_url")


def test_old_vectors_serve_until_the_new_ones_are_made(place: Path | str) -> None:
    old, new = FakeModel(OLD), FakeModel(NEW)
    first = Opened(place, old, None)
    for number in range(6):
        first.write(f"/{number}.md", f"walnut harvest number {number} in october")
    first.index()
    assert first.search("walnut harvest").mode == "hybrid"
    first.close()

    second = Opened(place, new, old)
    assert second.lacks_vectors()
    found = second.search("harvest walnut")
    assert found.mode == "hybrid"
    assert old.asked[-1] == "harvest walnut"
    assert len(found.chunks) == 5
    assert any("old-model" in note for note in found.notes), found.notes

    second.index()
    assert not second.lacks_vectors()
    assert sorted(new.embedded) == sorted(
        f"walnut harvest number {number} in october" for number in range(6)
    )
    asked = len(old.asked)
    found = second.search("october walnut")
    assert (found.mode, len(found.chunks)) == ("hybrid", 5)
    assert len(old.asked) == asked, "the old model is not asked once its vectors are replaced"
    assert not any("old-model" in note for note in found.notes)
    second.close()


def test_a_partly_replaced_project_is_searched_by_both_models(place: Path | str) -> None:
    old, new = FakeModel(OLD), FakeModel(NEW)
    first = Opened(place, old, None)
    first.write("/a.md", "pear blossom")
    first.write("/b.md", "apple blossom")
    first.index()
    first.close()
    second = Opened(place, new, old)
    # A worker that was interrupted after one file.
    source = second.files.indexer._embedding[0]
    asyncio.run(source._queue_unembedded())
    (job,) = asyncio.run(source._jobs.claim("worker", 1))
    asyncio.run(source._work(job))
    found = second.search("blossom pear apple")
    assert {chunk.path for chunk in found.chunks} == {"/a.md", "/b.md"}
    assert len(new.embedded) == 1
    hits = second.hits("blossom pear apple")
    assert len(hits) == 2
    assert all(hit.semantic is not None for hit in hits)
    second.close()


def test_without_the_old_model_words_answer_and_say_why(place: Path | str) -> None:
    first = Opened(place, FakeModel(OLD), None)
    first.write("/a.md", "pear blossom")
    first.index()
    first.close()
    second = Opened(place, FakeModel(NEW), None)
    found = second.search("pear")
    assert found.mode == "lexical"
    assert "made by another model" in found.notes[0]
    assert [chunk.path for chunk in found.chunks] == ["/a.md"]
    second.close()


def test_a_file_deleted_meanwhile_is_not_found_by_its_old_vector(place: Path | str) -> None:
    old, new = FakeModel(OLD), FakeModel(NEW)
    first = Opened(place, old, None)
    first.write("/a.md", "pear blossom")
    first.write("/b.md", "apple blossom")
    first.index()
    first.close()
    second = Opened(place, new, old)
    second.delete("/a.md")
    second.index()
    assert [chunk.path for chunk in second.search("blossom").chunks] == ["/b.md"]
    assert not second.lacks_vectors()
    second.close()


def test_files_indexed_without_a_model_are_embedded_once_there_is_one(tmp_path: Path) -> None:
    database = Database(tmp_path / "commonplace.db", durable=False)
    plain = build_files(database, tmp_path, postings=SqlitePostings(database))
    asyncio.run(plain.service.write(user(), "p", "/a.md", "pear blossom"))
    assert asyncio.run(plain.indexer.drain())
    plain.service.close()
    database.close()
    model = FakeModel(NEW)
    later = Opened(tmp_path, model, None)
    later.index()
    assert model.embedded == ["pear blossom"]
    assert later.search("pear").mode == "hybrid"
    later.close()
