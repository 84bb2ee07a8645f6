"""Hashes of the catalogue: of bodies, governance records, and the whole catalogue."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import orjson

from commonplace.kernel.json.document import Document
from commonplace.kernel.json_types import Json, JsonObject

_BREAKS = str.maketrans({"\r": "\n", "\u2028": "\n", "\u2029": "\n"})
_NOT_CONTENT = frozenset(
    {
        "body",
        "createdAt",
        "updatedAt",
        "schemaVersion",
        "governanceHash",
        "usageCount",
        "firstSeenTs",
        "lastUsedAt",
    }
)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def normalise_body(body: str) -> str:
    """Return the body as it is stored: LF line breaks, no blank lines at the start or end.

    Spaces at line ends stay: they are line breaks in Markdown.
    """
    if "\r" in body or not body.isascii():
        body = body.replace("\r\n", "\n").translate(_BREAKS)
    # Not by patterns: these cost the square of the number of blank lines inside the body.
    if body[:1].isspace():
        blank = len(body) - len(body.lstrip())
        body = body[body.rfind("\n", 0, blank) + 1 :]
    if body[-1:].isspace():
        end = body.find("\n", len(body.rstrip()))
        body = body if end < 0 else body[:end]
    return body


def hash_body(body: str) -> str:
    """Return the source hash: the SHA-256 of the text that callers see."""
    return _sha256(body)


def fits_claim(body: str, claimed: str) -> bool:
    """Tell whether a stored source hash belongs to this body.

    Earlier releases and the reference server hash the body trimmed, or without spaces at line
    ends; such hashes are accepted.
    """
    if claimed == hash_body(body):
        return True
    trimmed = body.strip()
    lines = trimmed.replace("\r\n", "\n").translate(_BREAKS).split("\n")
    return claimed in (_sha256(trimmed), _sha256("\n".join(line.rstrip(" \t") for line in lines)))


def fingerprint(raw: Mapping[str, Json], owner: str | None = None) -> str:
    """Hash all fields of a file, whatever its layout, and the owner assigned by a rule."""
    digest = hashlib.sha256(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS))
    if owner is not None:
        digest.update(owner.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def governance_record(document: Mapping[str, Json]) -> JsonObject:
    """Return the governance projection, in the order that is hashed.

    Governance fields are listed by name; `contentSha256` covers every other field. Times of writing
    are left out, because a file without them takes them from the file system.
    """
    if isinstance(document, Document):
        document = document.whole()
    log = document.get("changeLog") or ()
    record: JsonObject = {
        "id": document["id"],
        "title": document.get("title") or document["id"],
        "version": document.get("version") or "1.0.0",
        "owner": document.get("owner") or "unowned",
        "priorityTier": document.get("priorityTier") or "P4",
        "nextReviewDue": document.get("nextReviewDue") or "",
        "semanticSummarySha256": _sha256(str(document.get("semanticSummary") or "")),
        "changeLogLength": len(log),
    }
    for name, absent in _GOVERNED:
        value = document.get(name)
        record[name] = absent if value is None else value
    rest = {
        name: value
        for name, value in document.items()
        if name not in record and name not in _NOT_CONTENT
    }
    rest["changeLog"] = [[line.get("version"), line.get("summary")] for line in log]
    record["contentSha256"] = hashlib.sha256(
        orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)
    ).hexdigest()
    return record


_GOVERNED: tuple[tuple[str, Json], ...] = (
    ("status", ""),
    ("classification", ""),
    ("requirement", ""),
    ("audience", ""),
    ("priority", 0),
    ("categories", []),
    ("primaryCategory", ""),
    ("workspaceId", ""),
    ("userId", ""),
    ("teamIds", []),
    ("reviewIntervalDays", 0),
    ("lastReviewedAt", ""),
    ("deprecatedBy", ""),
    ("supersedes", ""),
    ("dependencies", []),
)


def governance_line(document: Mapping[str, Json]) -> bytes:
    """Encode the governance projection."""
    return orjson.dumps(governance_record(document))


def hash_governance(line: bytes) -> str:
    """Return the governance hash of one instruction."""
    return hashlib.sha256(line).hexdigest()


def hash_governance_lines(lines: Iterable[bytes], *, trailing_newline: bool) -> str:
    """Return the governance hash of instructions in order of id."""
    joined = b"\n".join(lines)
    return hashlib.sha256(joined + b"\n" if trailing_newline else joined).hexdigest()


class HashTree:
    """SHA-256 over all `id:fingerprint` pairs, independent of the order of writes.

    Ids are distributed over 256 buckets by their own hash. A bucket's digest covers its items in
    byte order, and the root covers the digests, so a write hashes one bucket and the root again. A
    bucket is kept as the bytes to hash: one read of memory instead of hundreds.
    """

    def __init__(self) -> None:
        self._buckets = [b""] * 256  # items joined by `|`
        self._digests = [b""] * 256
        self._stale = set(range(256))
        self._root = ""

    def fill(self, hashes: Iterable[tuple[str, str]]) -> None:
        """Replace the content with these (id, fingerprint) pairs."""
        gathered: list[list[bytes]] = [[] for _ in range(256)]
        for id_, fingerprint in hashes:
            gathered[_bucket(id_)].append(_item(id_, fingerprint))
        self._buckets = [b"|".join(sorted(items)) for items in gathered]
        self._stale = set(range(256))

    def put(self, id_: str, fingerprint: str, previous: str | None = None) -> None:
        """Add an item, or replace the one with the previous fingerprint."""
        if previous == fingerprint:
            return
        if previous is not None:
            self.drop(id_, previous)
        bucket, item = _bucket(id_), _item(id_, fingerprint)
        joined = self._buckets[bucket]
        at = _place(joined, item)
        if at < len(joined):
            self._buckets[bucket] = b"%b%b|%b" % (joined[:at], item, joined[at:])
        else:
            self._buckets[bucket] = b"%b|%b" % (joined, item) if joined else item
        self._stale.add(bucket)

    def drop(self, id_: str, fingerprint: str) -> None:
        """Remove an item."""
        bucket, item = _bucket(id_), _item(id_, fingerprint)
        joined = self._buckets[bucket]
        at = _place(joined, item)
        if joined[at : at + len(item) + 1].rstrip(b"|") == item:
            self._buckets[bucket] = (joined[:at] + joined[at + len(item) + 1 :]).removesuffix(b"|")
            self._stale.add(bucket)

    @property
    def root(self) -> str:
        """Return the hash of all items."""
        if self._stale:
            for bucket in self._stale:
                self._digests[bucket] = hashlib.sha256(self._buckets[bucket]).digest()
            self._stale.clear()
            self._root = hashlib.sha256(b"".join(self._digests)).hexdigest()
        return self._root


def _bucket(id_: str) -> int:
    return hashlib.sha256(id_.encode()).digest()[0]


def _item(id_: str, fingerprint: str) -> bytes:
    return f"{id_}:{fingerprint}".encode()


def _place(joined: bytes, item: bytes) -> int:
    """Return the offset of the first item that is not less than this one."""
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
