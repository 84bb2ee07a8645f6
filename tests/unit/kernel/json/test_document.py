"""JSON documents kept as encoded bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.kernel.json.document import (
    KEEP_QUOTED_BYTES,
    Document,
    decode_documents,
    encode,
    encode_twice,
)

NEAR = {"title": 0, "owner": 1}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def flat(items: list[Any], beside: dict[str, Any]) -> dict[str, Any]:
    return {
        "hash": "h",
        "before": beside,
        "items": items,
        "first": items[0] if items else None,
        "after": beside,
    }


def nested(items: list[Any], beside: dict[str, Any]) -> dict[str, Any]:
    return {
        "before": beside,
        "items": items,
        "nested": [{"item": item, "after": beside} for item in items],
    }


def mixed(items: list[Any], beside: dict[str, Any]) -> dict[str, Any]:
    return {"items": [*items, beside, None]}


@pytest.mark.parametrize("keep_quoted", [True, False])
@pytest.mark.parametrize("shape", [flat, nested, mixed])
@given(
    st.lists(st.dictionaries(TEXT, VALUES, max_size=4), max_size=4),
    st.dictionaries(TEXT, VALUES, max_size=3),
)
def test_an_answer_with_documents_reads_like_one_with_plain_values(
    shape: Callable[[list[Any], dict[str, Any]], dict[str, Any]],
    keep_quoted: bool,
    values: list[dict[str, Any]],
    beside: dict[str, Any],
) -> None:
    plain = shape(values, beside)
    answer = shape([Document(value, NEAR, keep_quoted=keep_quoted) for value in values], beside)
    structured, text, _ = encode_twice(answer)
    assert b"".join(structured) == orjson.dumps(plain)
    assert orjson.loads(orjson.loads(b'"' + b"".join(text) + b'"')) == plain
    assert orjson.loads(encode(answer)) == plain
    assert decode_documents(answer) == plain


def test_a_document_is_a_mapping_of_what_went_in() -> None:
    document = Document({"title": "t", "body": "b", "list": [1, 2]}, NEAR)
    assert dict(document) == {"title": "t", "body": "b", "list": [1, 2]}
    assert (
        document["title"],
        document["body"],
        document.get("owner"),
        document.get("absent", 3),
    ) == ("t", "b", None, 3)
    assert "owner" not in document
    assert "list" in document
    assert document == {"title": "t", "body": "b", "list": [1, 2]}
    assert document == Document({"title": "t", "body": "b", "list": [1, 2]}, NEAR)
    assert document != Document({"title": "t"}, NEAR)
    with pytest.raises(KeyError):
        document["owner"]
    document.whole()["list"].append(3)
    assert document["list"] == [1, 2]


@pytest.mark.parametrize("size", [10, KEEP_QUOTED_BYTES + 1])
def test_an_extended_document_says_more_in_both_forms(size: int) -> None:
    document = Document({"body": 'a "quoted" \\ line\n' * size}, NEAR).extended(
        {"usageCount": 3, "lastUsedAt": '"'}
    )
    wanted = {"body": 'a "quoted" \\ line\n' * size, "usageCount": 3, "lastUsedAt": '"'}
    assert document == wanted
    assert json.loads(json.loads('"' + document.quoted.decode() + '"')) == wanted


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError):
        encode_twice({"item": object()})


def test_documents_that_keep_their_quoted_form_mix_with_documents_that_do_not() -> None:
    values = [{"title": 'a "b"'}, {"title": "\\"}, {"title": "c"}]
    for first in (True, False):
        documents = [
            Document(value, NEAR, keep_quoted=first is (index % 2 == 0))
            for index, value in enumerate(values)
        ]
        _, text, _ = encode_twice({"items": documents})
        assert orjson.loads(orjson.loads(b'"' + b"".join(text) + b'"')) == {"items": values}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_document_with_hidden_characters_marks_the_whole_list(place: int) -> None:
    titles = ["a", "b", "c"]
    assert (
        encode_twice({"items": [Document({"title": title}, NEAR) for title in titles]})[2] is False
    )
    titles[place] += "\u202e"
    assert (
        encode_twice({"items": [Document({"title": title}, NEAR) for title in titles]})[2] is True
    )
