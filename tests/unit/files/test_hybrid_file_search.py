"""Files with the hybrid engine: written files are embedded and found by words and meaning."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from commonplace.files.assembly import build_files
from commonplace.files.model import FileSearchResult
from commonplace.kernel.auth import local_user
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.retriever import HybridRetriever
from commonplace.search.semantic.vector import VectorIndex
from commonplace.storage.sqlite.database import Database
from word_embedder import WordEmbedder


class Semantics:
    def __init__(self, folder: Path) -> None:
        self.embedder = WordEmbedder()
        self.vectors = VectorIndex(folder, self.embedder)
        self.earlier = None


async def until_semantic(search: object, seconds: float = 30.0) -> FileSearchResult:
    """Search until every hit has a semantic component."""
    deadline = time.monotonic() + seconds
    while True:
        found: FileSearchResult = await search()  # type: ignore[operator]
        if found.chunks and all(chunk.explain["semantic"] is not None for chunk in found.chunks):
            return found
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.02)


async def scenario(folder: Path) -> None:
    database = Database(folder / "files.db")
    postings = SqlitePostings(database)
    semantics = Semantics(folder / "vectors")
    files = build_files(
        database,
        folder,
        postings=postings,
        retriever=HybridRetriever(postings, semantics),
        listener=semantics.vectors,
    )
    worker = asyncio.create_task(files.indexer.run())
    me = local_user()
    try:
        await files.service.write(me, "demo", "/a.md", "the boiler pressure gauge reads seven bar")
        await files.service.write(me, "demo", "/b.md", "quarterly invoices are archived in march")
        found = await until_semantic(lambda: files.service.search(me, "demo", "boiler pressure"))
        assert found.mode == "hybrid"
        assert found.chunks[0].path == "/a.md"
        embedded = len(semantics.embedder.embedded)
        await files.service.rename(me, "demo", "/a.md", "/c.md")
        moved = await until_semantic(
            lambda: files.service.search(me, "demo", "boiler pressure", path_prefix="/c")
        )
        assert [chunk.path for chunk in moved.chunks] == ["/c.md"]
        assert len(semantics.embedder.embedded) == embedded
        await files.service.delete(me, "demo", "/c.md")
        after = await files.service.search(me, "demo", "boiler pressure")
        assert all(chunk.path != "/c.md" for chunk in after.chunks)
    finally:
        files.indexer.stop()
        await worker
        database.close()


def test_written_files_are_embedded_and_renames_cost_no_embedding(tmp_path: Path) -> None:
    asyncio.run(scenario(tmp_path))
