"""Repositories for the code benchmarks: unpacked packages, indexed once by the product itself.

A package comes from its registry and is kept in `.tools/code`. Its index is made by the service in
this process, with the settings of a new installation, and is kept too, until a source that decides
how files are cut and analysed changes. Vectors are kept by text, so another version of a package
costs its new chunks only.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.retrieval import ROOT
from commonplace.files.assembly import Files, build_files
from commonplace.files.model import FoundChunk, WriteMode
from commonplace.files.service import FilesService
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import FilesSettings
from commonplace.search.assembly import hybrid_policy
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.retriever import HybridRetriever
from commonplace.search.semantic.embed import LocalEmbedder
from commonplace.search.semantic.local import LocalSemantics
from commonplace.search.semantic.models import embed_models
from commonplace.storage.sqlite.database import Database

CACHE = ROOT / ".tools" / "code"  # not `.cache`, which building the documentation empties
SOURCE = ROOT / "src" / "commonplace"
# what decides which chunks and words an index holds
INDEXED_BY = (
    "search/chunk.py",
    "search/code/chunking.py",
    "search/lexical/text.py",
    "files/engine/reindex.py",
)
PROJECT = "code"
SAVE_EVERY = 2_000  # new vectors
MOST_DRAINS = 100
MOST_BYTES = 2_000_000  # of a file
BUILT = ("dist/", "umd/", "build/")  # of npm packages: made from the sources beside them
# locale catalogues of every language would be most of Django
LEFT_OUT = (".po", ".pot", ".mo", "RECORD", "WHEEL", "LICENSE", "AUTHORS", ".map")


@dataclass(frozen=True)
class Repository:
    """The text files of a package, by path."""

    name: str
    files: Mapping[str, str]

    def lines(self, path: str, start: int, end: int) -> tuple[int, int]:
        """Return the first and the last line of a byte range."""
        content = self.files[path].encode()
        first = content[:start].count(b"\n") + 1
        return first, first + content[start:end].rstrip(b"\n").count(b"\n")


def fetch(package: str) -> Path:
    """Return the archive of a package: `requests==2.32.3`, or `npm:express@4.18.0`."""
    folder = CACHE / "packages" / hashlib.sha256(package.encode()).hexdigest()[:12]
    if not (folder.is_dir() and any(folder.iterdir())):
        folder.mkdir(parents=True, exist_ok=True)
        if package.startswith("npm:"):
            command = ["npm", "pack", "--silent", package.removeprefix("npm:")]
        else:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
            command += ["--only-binary", ":all:", "--python-version", "3.9", package]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(iter(sorted(folder.iterdir())))


def unpack(package: str) -> Repository:
    """Read the text files of a package, without what nobody keeps in a repository."""
    archive = fetch(package)
    contents = dict(_members(archive))
    files = {}
    for path, content in sorted(contents.items()):
        if (
            path.startswith(BUILT)
            or path.endswith(LEFT_OUT)
            or len(content) > MOST_BYTES
            or b"\0" in content[:4096]
        ):
            continue
        try:
            files[path] = content.decode()
        except UnicodeDecodeError:
            continue
    return Repository(package, files)


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                if not entry.is_dir():
                    yield entry.filename, opened.read(entry)
        return
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.isfile() else None
            if file is not None:
                yield member.name.partition("/")[2], file.read()


class KeptVectors:
    """The product's embedder with vectors kept between runs, by text."""

    def __init__(self, embedder: LocalEmbedder, folder: Path) -> None:
        self._embedder = embedder
        self.identity, self.dimensions = embedder.identity, embedder.dimensions
        self.description, self.state = embedder.description, "ready"
        self.legibility = embedder.legibility
        digest = hashlib.sha256(embedder.identity.encode()).hexdigest()[:16]
        self._path = folder / f"{digest}.npz"
        self._known: dict[str, np.ndarray] = {}
        self._saved = 0
        if self._path.is_file():
            stored = np.load(self._path)
            self._known = dict(zip(stored["digests"].tolist(), stored["vectors"], strict=True))
            self._saved = len(self._known)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        digests = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        new = {
            digest: text
            for digest, text in zip(digests, texts, strict=True)
            if digest not in self._known
        }
        if new:
            self._known |= dict(zip(new, self._embedder.embed(list(new.values())), strict=True))
            if len(self._known) - self._saved >= SAVE_EVERY:
                self.save()
        return np.stack([self._known[digest] for digest in digests])

    def embed_query(self, text: str) -> np.ndarray:
        return self.embed([text])[0]

    def save(self) -> None:
        if len(self._known) > self._saved:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            print(f"  {len(self._known)} vectors kept", flush=True)
            np.savez(
                self._path,
                digests=np.array(list(self._known)),
                vectors=np.stack(list(self._known.values())),
            )
            self._saved = len(self._known)

    def close(self) -> None:
        """Keep it: the next repository uses the same model."""


def open_embedder(models: Path, model: str = "") -> KeptVectors:
    """Open the default model, or an installed one by its name."""
    if not model:
        embed_models.install_default(models)
    embedder = LocalEmbedder(
        models / (model or embed_models.DEFAULT_MODEL),
        threads=os.cpu_count() or 1,
        load_wait_seconds=60,
    )
    return KeptVectors(embedder, CACHE / "vectors")


def index_fingerprint(embedder: KeptVectors | None) -> str:
    digest = hashlib.sha256((embedder.identity if embedder else "words").encode())
    for name in (*INDEXED_BY, *sorted(_code_sources())):
        digest.update((SOURCE / name).read_bytes())
    return digest.hexdigest()[:10]


def _code_sources() -> Iterator[str]:
    for path in (SOURCE / "search" / "code").rglob("*"):
        if path.suffix in (".py", ".scm"):
            yield str(path.relative_to(SOURCE))


@contextmanager
def opened(repository: Repository, embedder: KeptVectors | None) -> Iterator[Searcher]:
    """Open the index of a repository, and make it first if there is none."""
    name = repository.name.replace("==", "-").replace("/", "-").replace(":", "-")
    folder = CACHE / "indexes" / f"{name}-{index_fingerprint(embedder)}"
    folder.mkdir(parents=True, exist_ok=True)
    settings = FilesSettings(rate_per_second=0.0)
    database = Database(folder / "commonplace.db", durable=False)
    postings = SqlitePostings(database)
    semantics = LocalSemantics(embedder, folder / "vectors") if embedder else None  # type: ignore[arg-type]
    retriever = HybridRetriever(postings, semantics, hybrid_policy(settings.search))
    files = build_files(
        database, folder, settings, postings=postings, retriever=retriever, listener=semantics
    )
    searcher = Searcher(repository, files.service)
    if not (folder / "complete").exists():
        print(f"  indexing {repository.name}", flush=True)
        if not (folder / "written").exists():
            asyncio.run(_write(repository, files))
            (folder / "written").touch()
        asyncio.run(_index(files))
        if embedder is not None:
            embedder.save()
        (folder / "complete").touch()
    try:
        yield searcher
    finally:
        files.service.close()


async def _write(repository: Repository, files: Files) -> None:
    for path, text in repository.files.items():
        await files.service.write(
            local_user(), PROJECT, stored_path(path), text, mode=WriteMode.TRUNCATE
        )


async def _index(files: Files) -> None:
    """Drain the queue; jobs that failed are due again after a while."""
    for _ in range(MOST_DRAINS):
        await files.indexer.drain()
        state = await files.service.index_state(local_user(), PROJECT)
        if not state.pending + state.processing + state.embedding:
            return
        await asyncio.sleep(1)
    raise SystemExit(f"the index is incomplete: {state}")


def stored_path(path: str) -> str:
    legal = "".join(char if char.isalnum() or char in "/._-" else "_" for char in path)
    return f"/{legal}"


class Searcher:
    """`file_search` of one repository."""

    def __init__(self, repository: Repository, service: FilesService) -> None:
        self.repository = repository
        self.service = service
        self._paths = {stored_path(path): path for path in repository.files}

    def search(self, query: str, limit: int = 20) -> list[FoundChunk]:
        found = asyncio.run(self.service.search(local_user(), PROJECT, query, limit=limit))
        return found.chunks

    def path(self, chunk: FoundChunk) -> str:
        return self._paths[chunk.path]
