"""From a caller's `spec` to a loaded document: where documents may come from, and which ones are
remembered.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.gc_control import gc_unfreeze
from commonplace.kernel.paths import expand_home
from commonplace.openapi.engine.document.bundle import BundleResult, bundle_document
from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.inliner import Inliner
from commonplace.openapi.engine.document.load import load, parse_text
from commonplace.openapi.engine.document.resolver import ReferenceResolver
from commonplace.openapi.engine.yaml.process import stop_parsers
from commonplace.openapi.errors import (
    PATH_NOT_ALLOWED,
    SPEC_INPUT,
    SPEC_NOT_FOUND,
    SPEC_TOO_DEEP,
    SPEC_TOO_LARGE,
    SPEC_UNREADABLE,
)
from commonplace.openapi.model import ApiDocument, DocumentLimits, Tree
from commonplace.openapi.store.fetch import UrlRules, fetch
from commonplace.openapi.store.workers import Workers, permitted_network

CACHE_ENTRIES = 10
CACHE_BYTES = 64 * 1024 * 1024
LARGE_LOAD_BYTES = 4 * 1024 * 1024
RACY_SECONDS = 2.0
EXTERNAL_FILES = 200

T = TypeVar("T")
StoredFile = Callable[[AuthContext, str], Awaitable[bytes]]
"""Reads a stored file by its reference, `file:PROJECT/PATH`, as the caller.

Bootstrap plugs it in.
"""


@dataclass(frozen=True, slots=True)
class Spec:
    """Where a document is; exactly one is set."""

    file: str | None = None
    url: str | None = None
    content: str | bytes | None = None  # bytes: as UTF-8
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """What this server may touch.

    `local`: stdio or the command line, so the caller's own files are theirs to read.

    Reading: anywhere for a local user, else inside `roots`. Writing: inside `roots`, and for a
    local user the working folder.
    """

    local: bool = True
    roots: tuple[Path, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    working_folder: Path | None = None
    url_timeout_seconds: float = 20.0

    @property
    def url_rules(self) -> UrlRules:
        return UrlRules(
            local=self.local, allow_hosts=self.allow_hosts, timeout_seconds=self.url_timeout_seconds
        )

    def _folders(self) -> tuple[Path, ...]:
        own = (self.working_folder or Path.cwd(),) if self.local else ()
        return tuple(Path(os.path.realpath(folder)) for folder in (*self.roots, *own))

    def readable(self, path: str) -> Path:
        """The real path of a file that may be read."""
        real = _real(path, self.working_folder)
        if not self.local and not any(_inside(real, folder) for folder in self._folders()):
            raise self._refused(path, "read")
        return real

    def referable(self, path: str, origin: Path) -> Path:
        """The real path of a file that a document may refer to: beside or below it, in the
        working folder, or in a root.
        """
        real = _real(path, None)
        allowed = (*self._folders(), *((origin.parent,) if self.local else ()))
        if not any(_inside(real, folder) for folder in allowed):
            raise self._refused(path, "read")
        return real

    def writable(self, path: str) -> Path:
        """The real path of a file or folder that may be written.

        It need not exist; symlinks on the way are followed first.
        """
        real = _real(path, self.working_folder)
        if not any(_inside(real, folder) for folder in self._folders()):
            raise self._refused(path, "write")
        return real

    def _refused(self, path: str, verb: str) -> CommonplaceError:
        name = Path(path).name[:100]
        hint = (
            "Pass the document as content."
            if verb == "read"
            else "Leave `output` out to get the document in the answer."
        )
        if self.local:
            hint = f"Stay inside the working folder, or add a root in the configuration. {hint}"
        return CommonplaceError(
            PATH_NOT_ALLOWED, f"{name!r} is outside the folders this server may {verb}.", hint=hint
        )


def _real(path: str, start: Path | None) -> Path:
    if "\0" in path or not path:
        raise CommonplaceError(SPEC_NOT_FOUND, "The path is empty or holds a NUL character.")
    place = expand_home(path)
    return Path(os.path.realpath(start / place if start is not None else place))


def _inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


@dataclass(slots=True)
class _Entry:
    document: ApiDocument
    stamp: tuple[int, ...] = ()
    digest: bytes = b""
    racy: bool = False  # changed so recently that a second change could carry the same time


@dataclass(slots=True)
class _Cache:
    """The last documents, least recently used out first.

    `most_bytes` bounds their texts; the trees take a few times as much.
    """

    size: int = CACHE_ENTRIES
    most_bytes: int = CACHE_BYTES
    entries: OrderedDict[str, _Entry] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: str) -> _Entry | None:
        with self.lock:
            entry = self.entries.get(key)
            if entry is not None:
                self.entries.move_to_end(key)
            return entry

    def put(self, key: str, entry: _Entry) -> None:
        gone = []
        with self.lock:
            before = self.entries.get(key)
            if before is not None and before.document is not entry.document:
                gone.append(before.document)
            self.entries[key] = entry
            self.entries.move_to_end(key)
            self._evict(0, gone)
        self._release(gone)

    def make_room(self, size: int) -> None:
        """Drop what could not stay beside a document of so many bytes, before that one takes its
        own memory.
        """
        gone: list[ApiDocument] = []
        with self.lock:
            self._evict(size, gone)
        self._release(gone)

    def _evict(self, coming: int, gone: list[ApiDocument]) -> None:
        total = sum(len(entry.document.raw) for entry in self.entries.values()) + coming
        while len(self.entries) > self.size or (
            total > self.most_bytes and len(self.entries) > (0 if coming else 1)
        ):
            document = self.entries.popitem(last=False)[1].document
            total -= len(document.raw)
            gone.append(document)

    def _release(self, gone: list[ApiDocument]) -> None:
        """Free evicted documents at once: their resolvers refer back to them, and an old cycle
        would wait for a full collection.
        """
        kept = any(document.kept for document in gone)
        for document in gone:
            document.derived.clear()  # a call that still works with it derives again what it needs
        gone.clear()
        if kept:
            gc_unfreeze()


class OpenApiService:
    """Loads documents for the tools. Thread-safe: tools call it from worker threads."""

    def __init__(
        self,
        access: Access | None = None,
        *,
        limits: DocumentLimits | None = None,
        stored: StoredFile | None = None,
        answer_bytes: int = 1_000_000,
        cache_entries: int = CACHE_ENTRIES,
        cache_bytes: int = CACHE_BYTES,
        workers: Workers | None = None,
    ) -> None:
        self.access = access or Access()
        self.limits = limits or DocumentLimits()
        self._stored = stored
        self.answer_bytes = answer_bytes
        self._cache = _Cache(cache_entries, cache_bytes)
        self.workers = workers or Workers()
        self._loading: dict[str, threading.Lock] = {}
        self._loading_lock = threading.Lock()
        self._large = threading.Lock()

    def held(self) -> dict[str, int]:
        """What the cache of parsed documents holds."""
        return {"entries": len(self._cache.entries), "most_entries": self._cache.size}

    async def document(self, spec: Spec, auth: AuthContext) -> ApiDocument:
        """The document a caller means, from the cache where it has not changed."""
        if spec.ref is not None:
            content = await self._read_stored(spec.ref, auth)
            ref = spec.ref
            return await self.run(auth, lambda: self._from_bytes(content, ref))
        return await self.run(auth, lambda: self.load(spec), fetches=spec.url is not None)

    async def tree(self, spec: Spec, auth: AuthContext) -> Tree:
        """Parsed text that need not be an API description, such as an overlay. Not cached."""
        if spec.ref is not None:
            content = await self._read_stored(spec.ref, auth)
            return await self.run(auth, lambda: parse_text(content, limits=self.limits))
        return await self.run(auth, lambda: self._tree(spec), fetches=spec.url is not None)

    async def run(self, auth: AuthContext, work: Callable[[], T], *, fetches: bool = False) -> T:
        """Work of a caller in a thread; see `workers.py`."""
        return await self.workers.run(
            auth.key_id or auth.tenant, self.access.url_timeout_seconds, work, fetches=fetches
        )

    def close(self) -> None:
        self.workers.close()
        stop_parsers()

    def load(self, spec: Spec) -> ApiDocument:
        """The document of a spec that needs no stored file; blocks."""
        if spec.content is not None:
            return self._from_bytes(spec.content, "content")
        if spec.url is not None:
            content, address = self._fetch(spec.url)
            return load(content, name=address, base=address, limits=self.limits)
        if spec.file is not None:
            return self._from_file(spec.file)
        raise CommonplaceError(
            SPEC_INPUT,
            "The spec names no document.",
            hint="Pass exactly one of file, url, content or ref.",
        )

    def resolver(self, document: ApiDocument) -> ReferenceResolver:
        """The resolver of a document.

        It is remembered only where no other file is involved: those may change.
        """
        found: ReferenceResolver | None = document.derived.get("resolver")
        if found is None:
            found = ReferenceResolver(document, self._fetcher(document))
            if all(node.ref.startswith("#") for node in index_document(document).refs):
                document.derived["resolver"] = found
        return found

    def inliner(self, document: ApiDocument) -> Inliner:
        return Inliner(self.resolver(document))

    def bundle_document(self, document: ApiDocument) -> tuple[ApiDocument, BundleResult | None]:
        """The document with what it takes from other files in it; the document itself where it
        takes nothing.
        """
        if all(node.ref.startswith("#") for node in index_document(document).refs):
            return document, None
        try:
            return bundle_document(document, self.resolver(document))
        except RecursionError:
            hint = "Bundle it into one file, or break the circle of path items."
            raise CommonplaceError(
                SPEC_TOO_DEEP,
                "The files of this document refer to each other too deeply.",
                hint=hint,
            ) from None

    def _tree(self, spec: Spec) -> Tree:
        if spec.content is not None:
            return parse_text(spec.content, limits=self.limits)
        if spec.url is not None:
            return parse_text(self._fetch(spec.url)[0], limits=self.limits)
        if spec.file is not None:
            return parse_text(
                self._read(self.access.readable(spec.file), spec.file)[0], limits=self.limits
            )
        raise CommonplaceError(
            SPEC_INPUT,
            "The spec names no document.",
            hint="Pass exactly one of file, url, content or ref.",
        )

    def _fetch(self, url: str) -> tuple[bytes, str]:
        return fetch(
            url,
            self.access.url_rules,
            self.limits.size_bytes,
            permitted_network(self.access.url_timeout_seconds),
        )

    async def _read_stored(self, ref: str, auth: AuthContext) -> bytes:
        if self._stored is None:
            raise CommonplaceError(
                NOT_AVAILABLE,
                "This server keeps no files.",
                hint="Pass the document as file, url or content.",
            )
        return await self._stored(auth, ref)

    def _from_bytes(self, content: bytes | str, name: str) -> ApiDocument:
        raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        key = "content:" + hashlib.sha256(raw).hexdigest()
        with self._one_at_a_time(key):
            entry = self._cache.get(key)
            if entry is None:
                entry = _Entry(self._load(raw if len(raw) > LARGE_LOAD_BYTES else content, name))
                self._cache.put(key, entry)
            return entry.document

    def _from_file(self, path: str) -> ApiDocument:
        real = self.access.readable(path)
        key = f"file:{real}"
        with self._one_at_a_time(key):
            stamp, modified = self._stamp(real, path)
            entry = self._cache.get(key)
            if entry is not None and entry.stamp == stamp and not entry.racy:
                return entry.document
            begun = time.time()
            content, stamp, modified = self._read(real, path)
            racy = begun - modified < RACY_SECONDS
            digest = hashlib.sha256(content).digest() if racy or entry is not None else b""
            if entry is None or not digest or entry.digest != digest:
                entry = _Entry(self._load(content, path, str(real)))
            entry.stamp, entry.digest, entry.racy = stamp, digest, racy
            self._cache.put(key, entry)
            return entry.document

    def _load(self, content: bytes | str, name: str, base: str | None = None) -> ApiDocument:
        """A document that will be cached.

        Large ones are loaded one at a time: each takes several times its size.
        """
        if len(content) <= LARGE_LOAD_BYTES:
            return load(content, name=name, base=base, limits=self.limits, keep=True)
        with self._large:
            self._cache.make_room(len(content))
            return load(content, name=name, base=base, limits=self.limits, keep=True)

    def _stamp(self, real: Path, shown: str) -> tuple[tuple[int, ...], float]:
        try:
            found = real.stat()
        except OSError:
            raise _missing(shown) from None
        return _stamp_of(found), found.st_mtime

    def _read(self, real: Path, shown: str) -> tuple[bytes, tuple[int, ...], float]:
        """The content of a regular file.

        What was opened is checked again: a path may change between two looks.
        """
        try:
            descriptor = os.open(
                real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
            )
        except FileNotFoundError:
            raise _missing(shown) from None
        except OSError as error:
            raise _unreadable(shown, error) from None
        try:
            found = os.fstat(descriptor)
            self._check_file(found, real, shown)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(self.limits.size_bytes + 1)
            if content is None:  # it would have to be waited for
                raise OSError(errno.EAGAIN, "it has nothing to read")
            return content, _stamp_of(found), found.st_mtime
        except OSError as error:  # files of /proc and /sys look regular and refuse to be read
            raise _unreadable(shown, error) from None
        finally:
            os.close(descriptor)

    def _check_file(self, found: os.stat_result, real: Path, shown: str) -> None:
        if stat.S_ISDIR(found.st_mode):
            raise CommonplaceError(
                SPEC_UNREADABLE, f"{shown[:200]!r} is a folder.", hint="Pass a file."
            )
        if not stat.S_ISREG(found.st_mode):
            raise CommonplaceError(
                SPEC_UNREADABLE,
                f"{shown[:200]!r} is not a regular file.",
                hint="Pass a JSON or YAML file.",
            )
        if found.st_size > self.limits.size_bytes:
            raise CommonplaceError(
                SPEC_TOO_LARGE,
                f"{shown[:200]!r} has {found.st_size} bytes; the limit is "
                f"{self.limits.size_bytes}.",
                details={"limit_bytes": self.limits.size_bytes},
            )
        if Path(os.path.realpath(real)) != real:
            raise _missing(shown)

    def _fetcher(self, document: ApiDocument) -> Callable[[str], Tree]:
        """Loads what a document refers to, inside the same rules as the document itself."""
        count = 0

        def load_external(where: str) -> Tree:
            nonlocal count
            count += 1
            if count > EXTERNAL_FILES:
                raise CommonplaceError(
                    SPEC_TOO_LARGE,
                    f"The document refers to more than {EXTERNAL_FILES} other files.",
                )
            if "://" in where:
                return self._taken_in(document, self._fetch(where)[0])
            if document.base is None or "://" in document.base:
                raise CommonplaceError(
                    PATH_NOT_ALLOWED, "A document that is not a file may not refer to files."
                )
            real = self.access.referable(where, Path(document.base))
            return self._taken_in(document, self._read(real, where)[0])

        return load_external

    def _taken_in(self, document: ApiDocument, content: bytes) -> Tree:
        """The tree of a file that a document refers to; its number literals may be written with
        the document's.
        """
        tree = parse_text(content, limits=self.limits)
        document.numbers.add(tree.numbers)
        return tree

    def _one_at_a_time(self, key: str) -> threading.Lock:
        """One load per document, however many calls ask for it at once."""
        with self._loading_lock:
            if len(self._loading) > 1000:
                self._loading = {
                    name: lock for name, lock in self._loading.items() if lock.locked()
                }
            return self._loading.setdefault(key, threading.Lock())


def _stamp_of(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def _unreadable(shown: str, error: OSError) -> CommonplaceError:
    return CommonplaceError(
        SPEC_UNREADABLE,
        f"{shown[:200]!r} cannot be read: {error.strerror}.",
        hint="Pass a JSON or YAML file that this server may read.",
    )


def _missing(shown: str) -> CommonplaceError:
    return CommonplaceError(
        SPEC_NOT_FOUND,
        f"There is no file {shown[:200]!r}.",
        hint="Check the path; relative ones start at the server's folder.",
    )
