"""The one hash function of the catalogue: bodies, governance records, and the hash of the whole that follows each write.

Everything that compares or repairs hashes (add, import, groom, repair, verify) comes through here."""

from __future__ import annotations

import hashlib
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
    the bucket digests. A write rehashes one bucket and the root, whatever the size of the catalogue. A bucket is kept as the bytes
    that are hashed: two hundred small objects would have to be fetched from all over memory each time."""

    def __init__(self) -> None:
        self._buckets = [b""] * 256  # items joined by bars
        self._digests = [b""] * 256
        self._stale = set(range(256))
        self._root = ""

    def fill(self, hashes: Iterable[tuple[str, str]]) -> None:
        """All (id, source hash) at once, instead of what was there."""
        gathered: list[list[bytes]] = [[] for _ in range(256)]
        for id_, source_hash in hashes:
            gathered[_bucket(id_)].append(_item(id_, source_hash))
        self._buckets = [b"|".join(sorted(items)) for items in gathered]
        self._stale = set(range(256))

    def put(self, id_: str, source_hash: str, previous: str | None = None) -> None:
        if previous == source_hash:
            return
        if previous is not None:
            self.drop(id_, previous)
        bucket, item = _bucket(id_), _item(id_, source_hash)
        joined = self._buckets[bucket]
        at = _place(joined, item)
        if at < len(joined):
            self._buckets[bucket] = b"%b%b|%b" % (joined[:at], item, joined[at:])
        else:
            self._buckets[bucket] = b"%b|%b" % (joined, item) if joined else item
        self._stale.add(bucket)

    def drop(self, id_: str, source_hash: str) -> None:
        bucket, item = _bucket(id_), _item(id_, source_hash)
        joined = self._buckets[bucket]
        at = _place(joined, item)
        if joined[at : at + len(item) + 1].rstrip(b"|") == item:
            self._buckets[bucket] = (joined[:at] + joined[at + len(item) + 1 :]).removesuffix(b"|")
            self._stale.add(bucket)

    @property
    def root(self) -> str:
        if self._stale:
            for bucket in self._stale:
                self._digests[bucket] = hashlib.sha256(self._buckets[bucket]).digest()
            self._stale.clear()
            self._root = hashlib.sha256(b"".join(self._digests)).hexdigest()
        return self._root


def _bucket(id_: str) -> int:
    return hashlib.sha256(id_.encode()).digest()[0]


def _item(id_: str, source_hash: str) -> bytes:
    return f"{id_}:{source_hash}".encode()


def _place(joined: bytes, item: bytes) -> int:
    """Where an item begins among items joined by bars, or would begin: before the first that is not less."""
    low, high = 0, len(joined)
    while low < high:
        middle = (low + high) // 2
        start = joined.rfind(b"|", low, middle) + 1 or low
        end = joined.find(b"|", middle)
        if end < 0:
            end = len(joined)
        if joined[start:end] < item:
            low = end + 1
        else:
            high = start
    return low
