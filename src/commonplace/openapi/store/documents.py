"""Reading of API descriptions from files, URLs and text, with a cache of the parsed ones."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.document.index import has_external_refs
from commonplace.openapi.engine.document.load import load, parse_text
from commonplace.openapi.engine.document.references.bundle import (
    BundleResult,
    bundle,
    bundle_document,
)
from commonplace.openapi.engine.document.references.inliner import Inliner
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.errors import (
    PATH_NOT_ALLOWED,
    SPEC_INPUT,
    SPEC_NOT_FOUND,
    SPEC_TOO_DEEP,
    SPEC_TOO_LARGE,
    SPEC_UNREADABLE,
)
from commonplace.openapi.model import ApiDocument, DocumentLimits, SourceTree, Spec
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.cache import (
    CACHE_BYTES,
    CACHE_ENTRIES,
    CachedDocument,
    DocumentCache,
)
from commonplace.openapi.store.fetch import fetch
from commonplace.openapi.store.workers import permitted_network

LARGE_LOAD_BYTES = 4 * 1024 * 1024
RACY_SECONDS = 2.0
EXTERNAL_FILES = 200


class DocumentStore:
    """Loads documents and resolves references between them. Blocks; thread-safe."""

    def __init__(
        self,
        access: Access | None = None,
        *,
        limits: DocumentLimits | None = None,
        cache_entries: int = CACHE_ENTRIES,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.access = access or Access()
        self.limits = limits or DocumentLimits()
        self.cache = DocumentCache(cache_entries, cache_bytes)
        self._loading: dict[str, threading.Lock] = {}
        self._loading_lock = threading.Lock()
        self._large = threading.Lock()

    def load(self, spec: Spec) -> ApiDocument:
        """Return the document of a spec, from the cache if it has not changed.

        URLs are fetched each time. A stored file must have been read into `content` before.
        """
        if spec.content is not None:
            return self._load_content(spec.content, spec.ref or "content")
        if spec.url is not None:
            content, address = self._fetch(spec.url)
            return load(content, name=address, base=address, limits=self.limits)
        if spec.file is not None:
            return self._load_file(spec.file)
        raise _missing_spec()

    def find_content(self, digest: str) -> ApiDocument | None:
        """Return the cached document of a content by its SHA-256 as hex."""
        entry = self.cache.get(_content_key(digest))
        return None if entry is None else entry.document

    def load_tree(self, spec: Spec) -> SourceTree:
        """Parse text that need not be an API description, such as an overlay. Not cached."""
        if spec.content is not None:
            return parse_text(spec.content, limits=self.limits)
        if spec.url is not None:
            return parse_text(self._fetch(spec.url)[0], limits=self.limits)
        if spec.file is not None:
            real = self.access.resolve_readable(spec.file)
            return parse_text(self._read(real, spec.file)[0], limits=self.limits)
        raise _missing_spec()

    def resolver(self, document: ApiDocument) -> ReferenceResolver:
        """Return the resolver of a document.

        It is kept with the document unless other files are involved, since those may change.
        """
        resolver: ReferenceResolver | None = document.derived.get("resolver")
        if resolver is None:
            resolver = ReferenceResolver(document, self._external_loader(document))
            if not has_external_refs(document):
                document.derived["resolver"] = resolver
        return resolver

    def inliner(self, document: ApiDocument) -> Inliner:
        """Return an inliner that replaces references of a document by their targets."""
        return Inliner(self.resolver(document))

    def bundle_document(self, document: ApiDocument) -> tuple[ApiDocument, BundleResult | None]:
        """Return the document with the parts of other files included, for reading.

        References that cannot be resolved stay. A self-contained document is returned as it is.
        """
        if not has_external_refs(document):
            return document, None
        try:
            return bundle_document(document, self.resolver(document))
        except RecursionError:
            raise CommonplaceError(
                SPEC_TOO_DEEP,
                "The files of this document refer to each other too deeply.",
                hint="Bundle it into one file, or break the circle of path items.",
            ) from None

    def bundle_data(self, document: ApiDocument) -> JsonObject:
        """Return the data with the parts of other files included, for writing.

        Raises UNRESOLVED_REF for a reference that cannot be resolved.
        """
        if not has_external_refs(document):
            return document.data
        return bundle(document, self.resolver(document)).document

    def _fetch(self, url: str) -> tuple[bytes, str]:
        return fetch(
            url,
            self.access.url_rules,
            self.limits.size_bytes,
            permitted_network(self.access.url_timeout_seconds),
        )

    def _load_content(self, content: bytes | str, name: str) -> ApiDocument:
        raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        key = _content_key(hashlib.sha256(raw).hexdigest())
        with self._lock_for(key):
            entry = self.cache.get(key)
            if entry is None:
                large = len(raw) > LARGE_LOAD_BYTES
                entry = CachedDocument(self._load_cached(raw if large else content, name))
                self.cache.put(key, entry)
            return entry.document

    def _load_file(self, path: str) -> ApiDocument:
        real = self.access.resolve_readable(path)
        key = f"file:{real}"
        with self._lock_for(key):
            stamp = _stat_file(real, path)
            entry = self.cache.get(key)
            if entry is not None and entry.stamp == stamp and not entry.racy:
                return entry.document
            begun = time.time()
            content, stamp, modified = self._read(real, path)
            racy = begun - modified < RACY_SECONDS
            digest = hashlib.sha256(content).digest() if racy or entry is not None else b""
            if entry is None or not digest or entry.digest != digest:
                entry = CachedDocument(self._load_cached(content, path, str(real)))
            entry.stamp, entry.digest, entry.racy = stamp, digest, racy
            self.cache.put(key, entry)
            return entry.document

    def _load_cached(self, content: bytes | str, name: str, base: str | None = None) -> ApiDocument:
        """Parse a document that will be cached.

        Large ones are parsed one at a time: each takes several times its size.
        """
        if len(content) <= LARGE_LOAD_BYTES:
            return load(content, name=name, base=base, limits=self.limits, keep=True)
        with self._large:
            self.cache.make_room(len(content))
            return load(content, name=name, base=base, limits=self.limits, keep=True)

    def _read(self, real: Path, shown: str) -> tuple[bytes, tuple[int, ...], float]:
        """Read a regular file; return its content, its stamp and its modification time.

        The opened file is checked again, because the path may have changed since.
        """
        try:
            descriptor = os.open(
                real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
            )
        except FileNotFoundError:
            raise _not_found(shown) from None
        except OSError as error:
            raise _unreadable(shown, error) from None
        try:
            status = os.fstat(descriptor)
            self._check_file(status, real, shown)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(self.limits.size_bytes + 1)
            if content is None:  # a non-blocking read without data
                raise OSError(errno.EAGAIN, "it has nothing to read")
            return content, _stamp(status), status.st_mtime
        except OSError as error:  # files of /proc and /sys look regular but cannot be read
            raise _unreadable(shown, error) from None
        finally:
            os.close(descriptor)

    def _check_file(self, status: os.stat_result, real: Path, shown: str) -> None:
        if stat.S_ISDIR(status.st_mode):
            raise CommonplaceError(
                SPEC_UNREADABLE, f"{shown[:200]!r} is a folder.", hint="Pass a file."
            )
        if not stat.S_ISREG(status.st_mode):
            raise CommonplaceError(
                SPEC_UNREADABLE,
                f"{shown[:200]!r} is not a regular file.",
                hint="Pass a JSON or YAML file.",
            )
        if status.st_size > self.limits.size_bytes:
            raise CommonplaceError(
                SPEC_TOO_LARGE,
                f"{shown[:200]!r} has {status.st_size} bytes; the limit is "
                f"{self.limits.size_bytes}.",
                details={"limit_bytes": self.limits.size_bytes},
            )
        if Path(os.path.realpath(real)) != real:
            raise _not_found(shown)

    def _external_loader(self, document: ApiDocument) -> Callable[[str], SourceTree]:
        """Return a function that loads the files a document refers to, under the same rules."""
        count = 0

        def load_external(where: str) -> SourceTree:
            nonlocal count
            count += 1
            if count > EXTERNAL_FILES:
                raise CommonplaceError(
                    SPEC_TOO_LARGE,
                    f"The document refers to more than {EXTERNAL_FILES} other files.",
                )
            tree = parse_text(self._read_external(document, where), limits=self.limits)
            # Parts of the file may be written with the document, so its literals are needed too.
            document.numbers.add(tree.numbers)
            return tree

        return load_external

    def _read_external(self, document: ApiDocument, where: str) -> bytes:
        if "://" in where:
            return self._fetch(where)[0]
        if document.base is None or "://" in document.base:
            raise CommonplaceError(
                PATH_NOT_ALLOWED, "A document that is not a file may not refer to files."
            )
        real = self.access.resolve_referenced(where, Path(document.base))
        return self._read(real, where)[0]

    def _lock_for(self, key: str) -> threading.Lock:
        """Return the lock that lets only one call load a document while others wait for it."""
        with self._loading_lock:
            if len(self._loading) > 1000:
                self._loading = {
                    name: lock for name, lock in self._loading.items() if lock.locked()
                }
            return self._loading.setdefault(key, threading.Lock())


def _content_key(digest: str) -> str:
    return f"content:{digest}"


def _stat_file(real: Path, shown: str) -> tuple[int, ...]:
    try:
        return _stamp(real.stat())
    except OSError:
        raise _not_found(shown) from None


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


def _missing_spec() -> CommonplaceError:
    return CommonplaceError(
        SPEC_INPUT,
        "The spec does not name a document.",
        hint="Pass exactly one of file, url, content or ref.",
    )


def _unreadable(shown: str, error: OSError) -> CommonplaceError:
    return CommonplaceError(
        SPEC_UNREADABLE,
        f"{shown[:200]!r} cannot be read: {error.strerror}.",
        hint="Pass a JSON or YAML file that this server may read.",
    )


def _not_found(shown: str) -> CommonplaceError:
    return CommonplaceError(
        SPEC_NOT_FOUND,
        f"There is no file {shown[:200]!r}.",
        hint="Check the path; relative ones start at the server's folder.",
    )
