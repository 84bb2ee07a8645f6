"""Redaction of the arguments of calls."""

from __future__ import annotations

import hashlib
import json

import orjson
from hypothesis import given
from hypothesis import strategies as st

from commonplace.telemetry.redaction import redact, scrub, scrub_thoroughly

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: (
        st.lists(children, max_size=5) | st.dictionaries(st.text(max_size=20), children, max_size=5)
    ),
    max_leaves=10,
)


def test_hidden_fields_leave_length_and_hash_only() -> None:
    kept = redact({"path": "/a", "content": "geheim é"}, frozenset({"content"}), 256)
    raw = "geheim é".encode()
    assert kept == {
        "path": "/a",
        "content": {
            "redacted": True,
            "length": len(raw),
            "sha256": hashlib.sha256(raw).hexdigest(),
        },
    }


def test_hidden_fields_are_hidden_at_any_depth() -> None:
    entries = {
        "entries": [{"id": "a", "body": "secret words"}],
        "entry": {"body": ["secret words"]},
    }
    kept = redact(entries, frozenset({"body"}), 256)
    assert "secret words" not in json.dumps(kept)


def test_long_text_becomes_a_preview_that_says_it_was_cut() -> None:
    kept = redact({"query": "é" * 400}, frozenset(), 256)
    assert kept["query"] == {"preview": "é" * 128, "truncated": True, "length": 800}
    assert redact({"query": "x" * 257}, frozenset(), 256)["query"]["truncated"] is True
    assert redact({"query": "x" * 256}, frozenset(), 256)["query"] == "x" * 256


def test_large_content_costs_nothing_to_hide() -> None:
    kept = redact(
        {"content": "x" * 5_000_000, "document": "y" * 5_000_000}, frozenset({"content"}), 16
    )
    assert kept["content"] == {"redacted": True, "length": 5_000_000}
    assert kept["document"] == {"preview": "y" * 16, "truncated": True, "length": 5_000_000}


def test_invalid_unicode_can_be_recorded() -> None:
    kept = redact({"a\udcff": "b\udcff", "c": {"d\udcff": ["e\udcff"]}}, frozenset(), 256)
    orjson.dumps(kept)


def test_names_that_hold_secrets_are_masked() -> None:
    kept = redact(
        {
            "password": "a",
            "api_key": "b",
            "nested": {"client_secret": "c"},
            "credentials": {"u": "d"},
            "max_tokens": 5,
        },
        frozenset(),
        9,
    )
    assert kept == {
        "password": "***",
        "api_key": "***",
        "nested": {"client_secret": "***"},
        "credentials": "***",
        "max_tokens": 5,
    }


def test_text_that_looks_like_a_credential_is_masked() -> None:
    for secret in (
        "cp_abcdefgh_" + "x" * 43,
        "Bearer abcdefghijklmnop",
        "sk-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnopqrstuvwx",
        "AKIAABCDEFGHIJKLMNOP",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    ):
        assert secret not in scrub(f"before {secret} after")
    assert scrub("plain words stay") == "plain words stay"


def test_permanent_records_contain_no_recognisable_credential() -> None:
    kept = {
        "title": "DB_PASS=" + "Tr0ub4dor3xx",
        "tags": ["glrt-" + "aB3dE5fG7hJ9kL1mN2pQ"],
        "of": {"url": "redis://:" + "Tr0ub4dor3@h"},
        "n": 5,
    }
    assert scrub_thoroughly(kept) == {
        "title": "DB_PASS=***",
        "tags": ["***"],
        "of": {"url": "redis://:***@h"},
        "n": 5,
    }


@given(st.dictionaries(st.text(max_size=80), json_values, max_size=30))
def test_redacted_arguments_are_small_and_encodable(arguments: dict[str, object]) -> None:
    kept = redact(arguments, frozenset({"content"}), 64)
    assert len(kept) <= 21
    json.dumps(kept)


@given(st.text(min_size=40, alphabet=st.characters(codec="utf-8")))
def test_hidden_content_never_shows(content: str) -> None:
    kept = json.dumps(
        redact({"content": content, "n": {"content": [content]}}, frozenset({"content"}), 1000),
        ensure_ascii=False,
    )
    assert content not in kept
