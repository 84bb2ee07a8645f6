"""The one hash function of the catalogue: bodies, governance records, and the hash of the whole that follows each write.

Everything that compares or repairs hashes (add, import, groom, repair, verify) comes through here."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from commonplace.kernel.document import Document

_BREAKS = str.maketrans({"\r": "\n", "\u2028": "\n", "\u2029": "\n"})


def canonical_body(body: str) -> str:
    """The body without what editors and git change by themselves: kinds of line break, blanks at line ends, outer blank lines."""
    if "\r" in body or not body.isascii():
        body = body.replace("\r\n", "\n").translate(_BREAKS)
    if " \n" in body or "\t\n" in body:
        body = "\n".join(line.rstrip(" \t") for line in body.split("\n"))
    return body.rstrip(" \t\n").lstrip("\n")


def hash_body(body: str, *, canonical: bool = True) -> str:
    return hashlib.sha256((canonical_body(body.strip()) if canonical else body.strip()).encode("utf-8", "surrogatepass")).hexdigest()


def governance_record(document: Mapping[str, Any]) -> dict[str, Any]:
    """The governance projection, in the order that is hashed."""
    if isinstance(document, Document):
        document = document.whole()
    summary = str(document.get("semanticSummary") or "")
    return {
        "id": document["id"],
        "title": document.get("title") or document["id"],
        "version": document.get("version") or "1.0.0",
        "owner": document.get("owner") or "unowned",
        "priorityTier": document.get("priorityTier") or "P4",
        "nextReviewDue": document.get("nextReviewDue") or "",
        "semanticSummarySha256": hashlib.sha256(summary.encode("utf-8", "surrogatepass")).hexdigest(),
        "changeLogLength": len(document.get("changeLog") or ()),
    }


def governance_line(document: Mapping[str, Any]) -> bytes:
    return orjson.dumps(governance_record(document))


def hash_governance(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def hash_governance_lines(lines: Iterable[bytes], *, trailing_newline: bool) -> str:
    joined = b"\n".join(lines)
    return hashlib.sha256(joined + b"\n" if trailing_newline else joined).hexdigest()


class HashTree:
    """SHA-256 over all `id:sourceHash`, independent of the order of writes and cheap to keep current.

    Two levels: ids fall into 256 buckets by their own hash; a bucket's digest covers its items in byte order, the root covers
    the bucket digests. A write rehashes one bucket and the root, whatever the size of the catalogue."""

    def __init__(self) -> None:
        self._items: list[list[str]] = [[] for _ in range(256)]
        self._digests: list[bytes] = [b""] * 256
        self._stale = set(range(256))
        self._root = ""

    def put(self, id_: str, source_hash: str, previous: str | None = None) -> None:
        if previous == source_hash:
            return
        bucket = _bucket(id_)
        if previous is not None:
            self._discard(bucket, f"{id_}:{previous}")
        insort(self._items[bucket], f"{id_}:{source_hash}")
        self._stale.add(bucket)

    def drop(self, id_: str, source_hash: str) -> None:
        bucket = _bucket(id_)
        self._discard(bucket, f"{id_}:{source_hash}")
        self._stale.add(bucket)

    def _discard(self, bucket: int, item: str) -> None:
        items = self._items[bucket]
        at = bisect_left(items, item)
        if at < len(items) and items[at] == item:
            del items[at]

    @property
    def root(self) -> str:
        if self._stale:
            for bucket in self._stale:
                self._digests[bucket] = hashlib.sha256("|".join(self._items[bucket]).encode()).digest()
            self._stale.clear()
            self._root = hashlib.sha256(b"".join(self._digests)).hexdigest()
        return self._root


def _bucket(id_: str) -> int:
    return hashlib.sha256(id_.encode()).digest()[0]
