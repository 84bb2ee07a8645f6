"""JSON pointers."""

from __future__ import annotations

import pytest

from commonplace.openapi.engine.pointers import MISSING, lookup_pointer, resolve_pointer


def test_pointers_follow_rfc_6901_and_percent_encoding() -> None:
    data = {"a/b": {"~": [10, {"c%d": 1}]}, "": 5}
    assert lookup_pointer(data, "") is data
    assert lookup_pointer(data, "/a~1b/~0/0") == 10
    assert lookup_pointer(data, "/a~1b/~0/1/c%25d") == 1
    assert lookup_pointer(data, "/") == 5
    for wrong in ("/x", "/a~1b/~0/2", "/a~1b/~0/01", "/a~1b/~0/-", "a", "/a~1b/~0/0/x"):
        assert lookup_pointer(data, wrong) is MISSING


def test_a_reference_to_an_anchor_is_not_a_pointer_to_the_document() -> None:
    data = {"a": 1}
    assert resolve_pointer(data, "#") is data
    assert resolve_pointer(data, "#/a") == 1
    for wrong in ("#a", "#%2Fa", "other.yaml#/a", ""):
        with pytest.raises(LookupError):
            resolve_pointer(data, wrong)
