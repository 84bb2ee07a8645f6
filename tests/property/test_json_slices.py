"""Decoding in slices equals whole decoding, wherever the text is cut."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.kernel.json import structure as json_scan
from commonplace.kernel.json.slices import (
    SliceError,
    decode_string,
    fill,
    loads_in_slices,
    without_strings,
)
from commonplace.kernel.json.structure import StructureError, StructureLimits, StructureScan

TEXT = st.text(st.sampled_from('ab"\\,:{}[]\n\u00e9\u20ac\U0001f600/')) | st.text()
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXT, inner, max_size=6),
    max_leaves=40,
)
ROOTS = st.lists(VALUES, max_size=8) | st.dictionaries(TEXT, VALUES, max_size=8)


def written(value: Any, indent: int | None, ascii_only: bool) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode(
        "utf-8", "surrogatepass"
    )


@given(ROOTS, st.integers(1, 60), st.sampled_from([None, 0, 2]), st.booleans())
def test_slices_of_any_size_give_the_same_value_in_the_same_order(
    value: Any, size: int, indent: int | None, ascii_only: bool
) -> None:
    raw = written(value, indent, ascii_only)
    assert orjson.dumps(loads_in_slices(raw, slice_bytes=size)) == orjson.dumps(orjson.loads(raw))


@given(ROOTS, st.integers(1, 40), st.data())
def test_text_refused_by_whole_decoding_is_refused_in_slices(
    value: Any, size: int, data: st.DataObject
) -> None:
    raw = bytearray(written(value, None, True))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw) - 1)) if raw else 0
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b",", b"]", b"}", b"{", b'"', b"\\", b"x", b"[1]"])
        )
    text = bytes(raw)
    try:
        expected = orjson.loads(text)
    except orjson.JSONDecodeError:
        with pytest.raises(SliceError):
            loads_in_slices(text, slice_bytes=size)
        return
    if type(expected) in (dict, list):
        assert loads_in_slices(text, slice_bytes=size) == expected


@pytest.mark.parametrize(
    "text",
    [
        b"[,1]",
        b"[1,,2]",
        b"[1,]",
        b'{"a":1,}',
        b'{,"a":1}',
        b'{"a":[,1]}',
        b"[1],[2]",
        b"[1]]",
        b"[[1]",
        b"[1,2",
    ],
)
def test_an_extra_comma_and_a_missing_bracket_are_refused(text: bytes) -> None:
    with pytest.raises(SliceError):
        loads_in_slices(text, slice_bytes=1)


@given(ROOTS, st.integers(1, 30))
def test_the_scan_counts_containers_and_depth_whatever_the_chunks(value: Any, size: int) -> None:
    raw = written(value, None, False)
    scan = StructureScan()
    for start in range(0, len(raw), size):
        scan.feed(raw[start : start + size])
    containers = 0
    deepest = 0
    levels = [(value, 1)]
    while levels:
        node, depth = levels.pop()
        if type(node) in (dict, list):
            containers += 1
            deepest = max(deepest, depth)
            levels += [
                (child, depth + 1) for child in (node.values() if type(node) is dict else node)
            ]
    assert (scan.containers, scan.depth) == (containers, 0)
    with pytest.raises(StructureError):
        feed_whole(raw, StructureLimits(containers=containers - 1))
    with pytest.raises(StructureError):
        feed_whole(raw, StructureLimits(depth=deepest - 1))


def feed_whole(raw: bytes, limits: StructureLimits) -> None:
    StructureScan(limits).feed(raw)


@given(st.dictionaries(TEXT, TEXT | st.lists(TEXT), min_size=1), st.integers(1, 12), st.booleans())
def test_long_strings_are_found_and_put_back(
    value: dict[str, Any], size: int, ascii_only: bool
) -> None:
    raw = written(value, None, ascii_only)
    try:
        expected = orjson.loads(raw)
    except orjson.JSONDecodeError:  # half of a surrogate pair
        return
    before = json_scan.LONG_STRING_BYTES
    json_scan.LONG_STRING_BYTES = 5
    try:
        scan = StructureScan()
        for start in range(0, len(raw), size):
            scan.feed(raw[start : start + size])
    finally:
        json_scan.LONG_STRING_BYTES = before
    skeleton, named = without_strings(raw, scan.long_strings)
    texts = {name: decode_string(raw, *place, slice_bytes=20) for name, place in named.items()}
    assert fill(orjson.loads(skeleton), texts) == expected


@pytest.mark.parametrize("text", ["\U0001f600" * 50, "\u00e9" * 50, "\\" * 50, '"' * 50, "a" * 50])
@pytest.mark.parametrize("size", range(12, 40))
def test_a_string_of_escapes_only_is_decoded_in_pieces(text: str, size: int) -> None:
    for raw in (json.dumps(text).encode(), json.dumps(text, ensure_ascii=False).encode()):
        assert decode_string(raw, 1, len(raw) - 1, slice_bytes=size) == text
