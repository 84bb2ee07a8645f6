"""A JSON object kept as the bytes it is sent as: an answer copies it whole, and nobody chases
forty small objects through memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import repeat
from typing import Any, Final

import orjson

from commonplace.kernel.hidden_characters import json_may_hide

KEEP_QUOTED_BYTES = 64 * 1024  # beyond it the second form is made when it is sent
_ABSENT: Final = object()
_PLACE: Final = orjson.Fragment(b"\0")  # JSON text never holds this byte


class Document(Mapping[str, Any]):
    """Immutable.

    Fields named `near` are at hand; any other is decoded when it is asked for, so take `whole()` to
    read several.
    """

    __slots__ = ("_at", "_may_hide", "_near", "_quoted", "encoded")

    def __init__(self, value: Mapping[str, Any], near: Mapping[str, int]) -> None:
        """`near` gives each field that is kept at hand its place; one mapping serves all
        documents of a kind.
        """
        self.encoded = bytes(
            memoryview(orjson.dumps(value))
        )  # a copy of its own size: orjson's holds on to eight times as much
        self._quoted = quote(self.encoded) if len(self.encoded) <= KEEP_QUOTED_BYTES else None
        self._may_hide: bool | None = None
        self._at = near
        self._near = tuple(map(value.get, near, repeat(_ABSENT)))

    def whole(self) -> dict[str, Any]:
        """A copy of everything, the caller's own."""
        value: dict[str, Any] = orjson.loads(self.encoded)
        return value

    @property
    def quoted(self) -> bytes:
        """The same inside a JSON string."""
        return self._quoted if self._quoted is not None else quote(self.encoded)

    @property
    def may_hide(self) -> bool:
        """Whether it may hold characters that a reader cannot see; found out once."""
        if self._may_hide is None:
            self._may_hide = json_may_hide(self.encoded)
        return self._may_hide

    def extended(self, more: Mapping[str, Any]) -> Document:
        """With fields added at the end; they must be new."""
        made = Document.__new__(Document)
        added = b"," + orjson.dumps(more)[1:]
        made.encoded = self.encoded[:-1] + added
        made._quoted = None if self._quoted is None else self._quoted[:-1] + quote(added)
        made._at, made._near, made._may_hide = self._at, self._near, None
        return made

    def __getitem__(self, name: str) -> Any:
        at = self._at.get(name)
        if at is None:
            return self.whole()[name]
        value = self._near[at]
        if value is _ABSENT:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Document):
            return self.encoded == other.encoded
        return self.whole() == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Document({self.encoded[:80]!r})"


def quote(encoded: bytes) -> bytes:
    """JSON text as the inside of a JSON string: control characters are escaped in it already."""
    return encoded.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def encode(value: Any) -> bytes:
    """JSON of a value that may hold documents."""
    return orjson.dumps(value, default=_fragment)


def encode_twice(value: Any) -> tuple[list[bytes], list[bytes], bool]:
    """JSON of a value that may hold documents, the same inside a JSON string, both in pieces to
    be joined once, and whether it may hold hidden characters.

    Documents are neither encoded again nor copied nor searched here.
    """
    if type(value) is dict:
        for item in value.values():
            if type(item) is Document or (
                type(item) is list and item and type(item[0]) is Document
            ):
                laid = _laid(value)
                if laid is not None:
                    return laid
                break
    documents: list[Document] = []

    def place(item: Any) -> orjson.Fragment:
        if type(item) is not Document:
            raise TypeError(f"{type(item).__name__} is not JSON")
        documents.append(item)
        return _PLACE

    skeleton = orjson.dumps(value, default=place)
    if not documents:
        return [skeleton], [quote(skeleton)], json_may_hide(skeleton)
    pieces = skeleton.split(b"\0")
    plain: list[bytes] = []
    quoted: list[bytes] = []
    for between, document in zip(pieces, documents, strict=False):
        _put(plain, quoted, document, between)
    may_hide = json_may_hide(skeleton) or any(document.may_hide for document in documents)
    return [*plain, pieces[-1]], [*quoted, quote(pieces[-1])], may_hide


def _laid(value: dict[str, Any]) -> tuple[list[bytes], list[bytes], bool] | None:
    """The usual answer: documents, and lists of them, as fields.

    It costs a third of the general way, which takes over (None) where documents lie deeper.
    """
    plain: list[bytes] = []
    quoted: list[bytes] = []
    between = b"{"
    may_hide = False
    try:
        for name, item in value.items():
            between += _name(name)
            if type(item) is Document:
                _put(plain, quoted, item, between)
                may_hide = may_hide or item.may_hide or json_may_hide(between)
                between = b","
            elif type(item) is list and item and type(item[0]) is Document:
                _put(plain, quoted, item[0], between + b"[")
                may_hide = may_hide or item[0].may_hide or json_may_hide(between)
                for document in item[1:]:
                    if type(document) is not Document:
                        return None
                    plain += (b",", document.encoded)
                    quoted += (b",", document.quoted)
                    may_hide = may_hide or document.may_hide
                between = b"],"
            else:
                between += orjson.dumps(item) + b","
    except TypeError:
        return None
    plain.append(between[:-1] + b"}")
    quoted.append(quote(plain[-1]))
    return plain, quoted, may_hide or json_may_hide(plain[-1])


@lru_cache(maxsize=256)
def _name(name: str) -> bytes:
    return orjson.dumps(name) + b":"


def _put(plain: list[bytes], quoted: list[bytes], document: Document, between: bytes) -> None:
    plain += (between, document.encoded)
    quoted += (quote(between) if b'"' in between else between, document.quoted)


def opened(value: Any) -> Any:
    """The value with every document decoded, for callers in this process."""
    if isinstance(value, Document):
        return value.whole()
    if isinstance(value, dict):
        return {name: opened(item) for name, item in value.items()}
    return [opened(item) for item in value] if isinstance(value, list) else value


def _fragment(item: Any) -> Any:
    return orjson.Fragment(item.encoded) if type(item) is Document else str(item)
