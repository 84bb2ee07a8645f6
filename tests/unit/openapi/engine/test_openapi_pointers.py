"""JSON pointers."""

from __future__ import annotations

from commonplace.openapi.engine.pointers import MISSING, lookup_pointer


def test_pointers_follow_rfc_6901_and_percent_encoding() -> None:
    data = {"a/b": {"~": [10, {"c%d": 1}]}, "": 5}
    assert lookup_pointer(data, "") is data
    assert lookup_pointer(data, "/a~1b/~0/0") == 10
    assert lookup_pointer(data, "/a~1b/~0/1/c%25d") == 1
    assert lookup_pointer(data, "/") == 5
    for wrong in ("/x", "/a~1b/~0/2", "/a~1b/~0/01", "/a~1b/~0/-", "a", "/a~1b/~0/0/x"):
        assert lookup_pointer(data, wrong) is MISSING
