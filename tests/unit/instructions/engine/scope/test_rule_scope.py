"""Scope of an instruction: globs, languages, activation, and how broken values are read."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from commonplace.instructions.engine.normalise import ReadingRules, normalise
from commonplace.instructions.engine.scope.languages import language_of
from commonplace.instructions.engine.scope.path_index import PathIndex
from commonplace.instructions.engine.scope.repository_path import normalise_path
from commonplace.instructions.engine.scope.rule_scope import (
    RuleScope,
    effective_activation,
    find_glob_problem,
)
from commonplace.instructions.model import Instruction, RuleOrigin
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.text.globs import compile_glob
from measuring import runs_within


def read(**fields: Any) -> Instruction:
    return normalise({"id": "a", "body": "Do it.", **fields}, "a", 0.0, ReadingRules())


def admits(path: str, **fields: Any) -> bool:
    return "a" in PathIndex([("a", RuleScope.of(fields))]).admitting(path)


@pytest.mark.parametrize(
    ("globs", "path", "expected"),
    [
        (["src/**"], "src/a/b.ts", True),
        (["src/**"], "srcs/a.ts", False),
        (["src/"], "src/a/b.ts", True),
        (["./src/*.ts"], "src/a.ts", True),
        (["*.ts"], "a.ts", True),
        (["*.ts"], "src/a.ts", False),
        (["**/*.ts"], "a.ts", True),
        (["**/*.{ts,tsx}"], "x/y/a.tsx", True),
        (["src/**", "!src/gen/**"], "src/gen/a.ts", False),
        (["!src/gen/**", "src/**"], "src/gen/a.ts", False),
        (["!src/gen/**"], "src/a.ts", True),
        (["!src/gen/**"], "src/gen/a.ts", False),
        (["docs/[a-c]*.md"], "docs/b.md", True),
        (["docs/x.[!.]"], "docs/x.c", True),
        ([r"app/\[id\]/*.tsx"], "app/[id]/page.tsx", True),
        (["Makefile"], "Makefile", True),
        (["Makefile"], "a/Makefile", False),
        (["**/Makefile"], "a/Makefile", True),
        (["src/*.test.*"], "src/a.test.ts", True),
        (["src/v1.*/x"], "src/v1.2/x", True),
        (["a/**/b/*.c"], "a/b/x.c", True),
        (["**"], ".env", True),
    ],
)
def test_globs_include_and_exclude_repository_paths(
    globs: list[str], path: str, expected: bool
) -> None:
    assert admits(path, appliesTo=globs) is expected


def test_languages_narrow_the_globs_and_have_other_spellings() -> None:
    assert admits("src/a.py", languages=["Python"])
    assert admits("src/a.tsx", languages=["ts"])
    assert not admits("src/a.go", languages=["python"])
    assert not admits("lib/a.py", appliesTo=["src/**"], languages=["python"])
    assert admits("src/a.py", appliesTo=["src/**"], languages=["python"])
    assert admits("ci/Dockerfile.dev", languages=["docker"])
    assert language_of(".py") is None
    assert language_of("README") is None


def test_activation_follows_from_the_fields_unless_it_is_stated() -> None:
    assert effective_activation({}) == "always"
    assert effective_activation({"appliesTo": ["a"]}) == "glob"
    assert effective_activation({"languages": ["go"]}) == "glob"
    assert effective_activation({"appliesTo": ["a"], "activation": "always"}) == "always"
    assert admits("other", appliesTo=["a"], activation="always")
    assert not admits("other", appliesTo=["a"], activation="description")
    assert effective_activation({"activation": "glob"}) == "manual"


NO_GLOBS = ("", "!", "  ", "/etc/**", "~/x", "../x", "a/../b", "a\0b", "a\nb", "a\u200bb")
NO_PATHS = ("", " ", "/etc/passwd", "~/x", "..", "../x", "a/../../x", ".", "a/..", "a\0b", "a\nb")


@pytest.mark.parametrize("glob", [*NO_GLOBS, "x" * 301, "[a", "[z-a]", "{a,b}" * 9, 7, None])
def test_what_is_not_a_glob_over_repository_paths_is_named(glob: object) -> None:
    assert find_glob_problem(glob)


def test_an_index_that_is_followed_equals_one_that_is_made_anew() -> None:
    fields: list[dict[str, Any]] = [
        {"appliesTo": ["src/**", "src/api/*.py"]},
        {"appliesTo": ["src/**", "!src/gen/**"]},
        {"appliesTo": ["src/api/main.py", "Makefile"]},
        {"appliesTo": ["!docs/**"]},
        {"languages": ["python"]},
        {"activation": "always"},
    ]
    scopes = {str(at): RuleScope.of(stated) for at, stated in enumerate(fields)}
    paths = ("src/api/main.py", "src/gen/a.py", "docs/a.md", "Makefile", "src/a/b/c.ts")
    expected = [PathIndex(scopes.items()).matching(path) for path in paths]
    assert expected[0] == {
        "0": "src/**",
        "1": "src/**",
        "2": "src/api/main.py",
        "3": "**",
        "4": "python",
    }
    index = PathIndex(scopes.items())
    for id_ in ("0", "3", "4", "5", "missing"):
        index.drop(id_)
    assert index.admitting("src/gen/a.py") == set()
    assert index.matching("Makefile") == {"2": "Makefile"}
    for id_ in ("5", "4", "0", "3"):
        index.put(id_, scopes[id_])
    assert [index.matching(path) for path in paths] == expected
    assert index.open == {"5"}


def test_text_that_is_no_glob_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert compile_glob("[z-y]") is None
    assert capfd.readouterr().err == ""


def test_hostile_globs_take_linear_time() -> None:
    hostile = ["*a" * 140 + "b", "**/" * 90 + "x", "{" * 150, "?" * 300, "**" * 149]
    assert all(find_glob_problem(glob) is None for glob in hostile)
    index = PathIndex(
        (str(at), RuleScope.of({"appliesTo": [glob]})) for at, glob in enumerate(hostile)
    )
    for path in ("a" * 1000, "a/" * 500 + "y"):
        assert runs_within(0.5, partial(index.admitting, path))


@pytest.mark.parametrize(
    ("fields", "expected", "repaired"),
    [
        ({"appliesTo": "src/**"}, {"appliesTo": ["src/**"]}, {"appliesTo"}),
        ({"appliesTo": []}, {}, set()),
        ({"appliesTo": None, "languages": None, "activation": None}, {}, set()),
        ({"appliesTo": ["a", 7, "/x"]}, {"appliesTo": ["a"]}, {"appliesTo"}),
        ({"appliesTo": ["/x"]}, {"activation": "manual"}, {"appliesTo"}),
        ({"appliesTo": ["/x", "!b"]}, {"activation": "manual"}, {"appliesTo"}),
        ({"appliesTo": ["!b"]}, {"appliesTo": ["!b"]}, set()),
        ({"appliesTo": 7}, {"activation": "manual"}, {"appliesTo"}),
        ({"languages": ["Go", "go", "C++"]}, {"languages": ["go", "c++"]}, set()),
        ({"languages": "Go"}, {"languages": ["go"]}, {"languages"}),
        ({"languages": ["?"]}, {"activation": "manual"}, {"languages"}),
        ({"activation": "model_decision"}, {"activation": "description"}, {"activation"}),
        ({"activation": "Always"}, {"activation": "always"}, {"activation"}),
        ({"activation": ["x"]}, {"activation": "manual"}, {"activation"}),
        ({"origin": {"file": "../x"}}, {}, {"origin"}),
        ({"origin": {"file": "a.md", "line": 0}}, {}, {"origin"}),
        ({"origin": {"file": "a.md", "who": 1}}, {}, {"origin"}),
        ({"conflictsWith": ["b", 1]}, {"conflictsWith": ["b"]}, {"conflictsWith"}),
    ],
)
def test_broken_scopes_are_repaired_and_never_widened(
    fields: dict[str, Any], expected: dict[str, Any], repaired: set[str]
) -> None:
    entry = read(**fields)
    names = ("appliesTo", "languages", "activation", "origin", "conflictsWith")
    assert {name: entry.document[name] for name in names if name in entry.document} == expected
    assert set(entry.salvaged) == repaired


def test_a_list_of_globs_that_expands_too_far_is_cut_on_load() -> None:
    groups = ["{" + ",".join(f"d{at}{n}" for n in range(60)) + "}/x" for at in range(5)]
    entry = read(appliesTo=groups)
    assert entry.document["appliesTo"] == groups[:3]
    assert entry.salvaged == ("appliesTo",)


def test_an_origin_survives_the_document() -> None:
    origin = RuleOrigin(".cursor/rules/a.mdc", 3, "cursor", "f" * 64, "web")
    entry = read(origin=origin.as_json())
    assert RuleOrigin.of(entry.document) == origin
    assert RuleOrigin.of({}) is None
    assert RuleOrigin("AGENTS.md").as_json() == {"file": "AGENTS.md", "line": 1}


@pytest.mark.parametrize("path", [*NO_PATHS, "C:/x", r"C:\x", r"\\host\x", "x" * 1025, "\ud800"])
def test_paths_outside_the_repository_are_refused(path: str) -> None:
    with pytest.raises(CommonplaceError) as refused:
        normalise_path(path)
    assert refused.value.code.name == "INVALID_RULE_PATH"


def test_paths_are_normalised() -> None:
    assert normalise_path("./src//a/../b.py") == "src/b.py"
    assert normalise_path(r"src\a.py") == "src/a.py"
