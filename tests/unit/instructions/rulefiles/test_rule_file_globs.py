"""Globs and front matter of rule files."""

from __future__ import annotations

import pytest

from commonplace.instructions.rulefiles.front_matter import patterns_of, split_front_matter
from commonplace.instructions.rulefiles.globs import matches_any
from measuring import runs_within


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.md", "a.md", True),
        ("*.md", "docs/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "x/y/a.md", True),
        ("src/**", "src/a/b.ts", True),
        ("src/**", "srcs/a.ts", False),
        ("src/**/test/*.py", "src/test/a.py", True),
        ("{a,b{c,d}}/x", "bd/x", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[a-c].py", "b.py", True),
        ("[!a-c].py", "b.py", False),
        ("[broken", "[broken", False),
        (r"\[id\]/page.tsx", "[id]/page.tsx", True),
        ("./src/*.py", "src/a.py", True),
        ("a.c", "abc", False),
    ],
)
def test_a_glob_matches_as_its_clients_say(pattern: str, path: str, expected: bool) -> None:
    assert matches_any(path, [pattern]) is expected


def test_an_exclamation_mark_takes_back() -> None:
    patterns = ["src/**", "!src/generated/**"]
    assert matches_any("src/a.py", patterns)
    assert not matches_any("src/generated/a.py", patterns)


@pytest.mark.parametrize(
    "pattern", ["*a" * 200 + "b", "**/" * 300 + "x", "{a,b}" * 40, "{" * 5_000, "[" * 5_000]
)
def test_a_hostile_glob_costs_no_time(pattern: str) -> None:
    path = "a/" * 200 + "a" * 500
    assert not matches_any(path, [pattern])
    assert runs_within(0.5, lambda: matches_any(path, [pattern]))


@pytest.mark.parametrize(
    ("header", "globs"),
    [
        ("globs: **/*.ts", ("**/*.ts",)),
        ("globs: **/*.ts, src/{a,b}/*.js", ("**/*.ts", "src/{a,b}/*.js")),
        ("globs:\n  - **/*.ts\n  - *.js", ("**/*.ts", "*.js")),
        ('globs: ["a", "b"]', ("a", "b")),
        ('globs: "a,b"', ("a", "b")),
        ("globs: [*.ts, *.tsx]", ("*.ts", "*.tsx")),
        ("description: a: b\nglobs: *.ts", ("*.ts",)),
        ("globs:", ()),
    ],
)
def test_globs_are_read_as_people_write_them(header: str, globs: tuple[str, ...]) -> None:
    rule = split_front_matter(f"---\n{header}\n---\nBody.\n")
    assert patterns_of(rule.fields.get("globs")) == globs
    assert rule.body == "Body.\n"


def test_text_without_a_closed_header_is_all_body() -> None:
    for text in ("Rule.\n", "---\nnever: closed\n", "----\n", ""):
        assert split_front_matter(text).body == text


def test_aliases_cannot_make_a_header_large() -> None:
    lines = ["a: &a [x, x]"] + [
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]" for n in range(20)
    ]
    header = "\n".join(lines)
    rule = split_front_matter(f"---\n{header}\n---\nBody.\n")
    assert not rule.valid
    assert rule.body == "Body.\n"
