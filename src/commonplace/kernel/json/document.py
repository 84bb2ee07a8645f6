"""JSON objects kept as the bytes they are sent as, so that answers copy them whole (ADR 0092)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import repeat
from typing import Final

import orjson

from commonplace.kernel.hidden_characters import json_may_hide
from commonplace.kernel.json_types import Json, JsonObject

KEEP_QUOTED_BYTES = 64 * 1024  # a larger document is quoted whenever it is sent
_ABSENT: Final = object()
_PLACE: Final = orjson.Fragment(b"\0")  # JSON text never contains this byte


class Document(Mapping[str, Json]):
    """An immutable JSON object in encoded form.

    Fields in `near` are kept decoded; any other is decoded when it is read, so call `whole()` to
    read several.
    """

    __slots__ = ("_at", "_may_hide", "_near", "_quoted", "encoded")

    def __init__(
        self, value: Mapping[str, Json], near: Mapping[str, int], *, keep_quoted: bool = True
    ) -> None:
        """Encode a value.

        `near` maps each field that is kept decoded to its index; all documents of a kind share it.
        Without `keep_quoted` the document takes half the memory and is quoted whenever it is sent.
        """
        # Copied, because the buffer of orjson is up to eight times as large as its content.
        self.encoded = bytes(memoryview(orjson.dumps(value)))
        keep_quoted = keep_quoted and len(self.encoded) <= KEEP_QUOTED_BYTES
        self._quoted = quote(self.encoded) if keep_quoted else None
        self._may_hide: bool | None = None
        self._at = near
        self._near = tuple(map(value.get, near, repeat(_ABSENT)))

    def whole(self) -> JsonObject:
        """Decode the whole object. The caller may change the result."""
        value: JsonObject = orjson.loads(self.encoded)
        return value

    @property
    def quoted(self) -> bytes:
        """The encoded object, escaped for use inside a JSON string."""
        return self._quoted if self._quoted is not None else quote(self.encoded)

    @property
    def may_hide(self) -> bool:
        """Whether it may contain characters that a reader cannot see. Computed once."""
        if self._may_hide is None:
            self._may_hide = json_may_hide(self.encoded)
        return self._may_hide

    def extended(self, more: Mapping[str, Json]) -> Document:
        """Return a copy with new fields added at the end."""
        copy = Document.__new__(Document)
        added = b"," + orjson.dumps(more)[1:]
        copy.encoded = self.encoded[:-1] + added
        copy._quoted = None if self._quoted is None else self._quoted[:-1] + quote(added)
        copy._at, copy._near, copy._may_hide = self._at, self._near, None
        return copy

    def __getitem__(self, name: str) -> Json:
        at = self._at.get(name)
        if at is None:
            return self.whole()[name]
        value = self._near[at]
        if value is _ABSENT:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Json = None) -> Json:
        """Return a field or the default, without the exception that `Mapping.get` would catch."""
        at = self._at.get(name)
        value = self.whole().get(name, default) if at is None else self._near[at]
        return default if value is _ABSENT else value

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
    """Escape JSON text for use inside a JSON string. It has no control characters."""
    return encoded.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def encode(value: Json) -> bytes:
    """Encode a value that may contain documents."""
    return orjson.dumps(value, default=_fragment)


def encode_twice(value: Json) -> tuple[list[bytes], list[bytes], bool]:
    """Encode a value that may contain documents, plain and escaped for a JSON string.

    Returns both as pieces to join, and whether the text may contain hidden characters. Documents
    are neither encoded nor copied nor searched again.
    """
    if type(value) is dict:
        for item in value.values():
            if type(item) is Document or (
                type(item) is list and item and type(item[0]) is Document
            ):
                encoded = _encode_fields(value)
                if encoded is not None:
                    return encoded
                break
    documents: list[Document] = []

    def place(item: Json) -> orjson.Fragment:
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
        plain += (between, document.encoded)
        quoted += (quote(between), document.quoted)
    may_hide = json_may_hide(skeleton) or any(document.may_hide for document in documents)
    return [*plain, pieces[-1]], [*quoted, quote(pieces[-1])], may_hide


def _encode_fields(value: JsonObject) -> tuple[list[bytes], list[bytes], bool] | None:
    """Encode the usual answer, whose documents are fields or lists of fields.

    Takes a third of the time of the general way. Returns None if documents are nested deeper.
    """
    plain: list[bytes] = []
    quoted: list[bytes] = []
    other = b""  # everything except the documents
    between = b"{"
    may_hide = False
    try:
        for name, item in value.items():
            between += _name(name)
            if type(item) is Document:
                plain += (between, item.encoded)
                quoted += (quote(between), item.quoted)
                may_hide = may_hide or item.may_hide
                other, between = other + between, b","
            elif type(item) is list and item and type(item[0]) is Document:
                if set(map(type, item)) != {Document}:
                    return None
                _append_list(plain, quoted, item, between + b"[")
                may_hide = may_hide or any(document.may_hide for document in item)
                other, between = other + between, b"],"
            else:
                between += orjson.dumps(item) + b","
    except TypeError:
        return None
    plain.append(between[:-1] + b"}")
    quoted.append(quote(plain[-1]))
    return plain, quoted, may_hide or json_may_hide(other + between)


@lru_cache(maxsize=256)
def _name(name: str) -> bytes:
    return orjson.dumps(name) + b":"


def _append_list(
    plain: list[bytes], quoted: list[bytes], documents: list[Document], between: bytes
) -> None:
    encoded = [document.encoded for document in documents]
    plain.append(between)
    plain += _separate(encoded)
    quoted.append(quote(between))
    if documents[0]._quoted is None:  # quoting them together is faster than one by one
        quoted.append(quote(b",".join(encoded)))
    else:
        quoted += _separate([document.quoted for document in documents])


def _separate(pieces: list[bytes]) -> list[bytes]:
    """Return the pieces with commas between them."""
    separated = [b","] * (2 * len(pieces) - 1)
    separated[::2] = pieces
    return separated


def decode_documents(value: Json) -> Json:
    """Return a value with every document decoded, for callers in this process."""
    if isinstance(value, Document):
        return value.whole()
    if isinstance(value, dict):
        return {name: decode_documents(item) for name, item in value.items()}
    return [decode_documents(item) for item in value] if isinstance(value, list) else value


def _fragment(item: Json) -> Json:
    return orjson.Fragment(item.encoded) if type(item) is Document else str(item)
