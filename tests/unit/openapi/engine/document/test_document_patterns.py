"""Patterns for paths and names."""

from __future__ import annotations

from commonplace.openapi.engine.document.patterns import match_glob, match_path
from measuring import runs_within


def test_patterns_match_segments_and_cannot_be_made_slow() -> None:
    assert match_path("/users/*", "/users/{id}")
    assert not match_path("/users/*", "/users/{id}/posts")
    assert match_path("/users/**", "/users/{id}/posts")
    assert match_path("/users/**", "/users")
    assert match_path("/**/posts/**", "/a/b/posts/c")
    assert not match_path("/**/posts/**", "/a/b/c")
    assert match_path("/v*/x", "/v1/x")
    assert match_glob("*schemas/P?t", "#/components/SCHEMAS/Pet")

    def match_hostile() -> None:
        assert not match_path("/" + "*a" * 200 + "/b", "/" + "a" * 5000 + "/c")
        assert not match_path("/**/" * 50 + "x", "/a" * 500)
        assert not match_glob("*a" * 100 + "b", "a" * 5000)

    assert runs_within(1, match_hostile)


def test_a_path_pattern_needs_no_slash_at_its_start() -> None:
    assert match_path("*", "/users/{id}/posts")
    assert match_path("*posts", "/users/{id}/posts")
    assert not match_path("*Posts", "/users/{id}/posts")
    assert match_path("users/*", "/users/{id}")
    assert not match_path("users/*", "/users/{id}/posts")
    assert match_path("{$request.body#/url}/*", "{$request.body#/url}/data")
