"""References across domains."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.ref import MAX_REF, Ref, RefKind, stored_file

ULID = "01HX123ABCDEFGHJKMNPQRSTVW"
VISIBLE = st.characters(exclude_categories=("Cc", "Cs"))
PROJECTS = st.text(min_size=1, max_size=40, alphabet=VISIBLE)
PATHS = st.text(alphabet="abcXYZ019._-/", max_size=40).map("/{}".format)


def _openapi(pointer: str) -> Ref:
    return Ref(RefKind.OPENAPI, "/api.yaml", "shop", pointer=pointer)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("instruction:instr.alpha", Ref(RefKind.INSTRUCTION, "instr.alpha")),
        (f"memory:{ULID}", Ref(RefKind.MEMORY, ULID)),
        ("file:demo/notes/a.md", stored_file("demo", "/notes/a.md")),
        ("file:demo/a.md#10-20", Ref(RefKind.FILE, "/a.md", "demo", 10, 20)),
        ("file:demo/a.md#L10-L40", Ref(RefKind.FILE, "/a.md", "demo", lines=(10, 40))),
        ("file:my%20proj%2Fx/a.md", stored_file("my proj/x", "/a.md")),
        ("openapi:shop/api.yaml", _openapi("")),
        ("openapi:shop/api.yaml#/paths/~1pets~1{id}/get", _openapi("/paths/~1pets~1{id}/get")),
        ("openapi:shop/api.yaml#/info/x%20y%25", _openapi("/info/x y%")),
        ("openapi:shop/api.yaml#/a%23b/é", _openapi("/a#b/é")),
        ("openapi:shop/api.yaml#/a%23L1", _openapi("/a#L1")),
        ("openapi:shop/api.yaml#/a#L1-L9", replace(_openapi("/a"), lines=(1, 9))),
        ("openapi:shop/api.yaml#/a#10-90", replace(_openapi("/a"), start=10, end=90)),
        ("openapi:shop/api.yaml#L1-L9", replace(_openapi(""), lines=(1, 9))),
        ("instruction:a.b#L2-L3", Ref(RefKind.INSTRUCTION, "a.b", lines=(2, 3))),
        (f"memory:{ULID}#0-9", Ref(RefKind.MEMORY, ULID, start=0, end=9)),
        ("openapi:shop/api.yaml#/a%E2%80%8Bb", _openapi("/a\u200bb")),
    ],
)
def test_a_reference_is_read_and_written(text: str, ref: Ref) -> None:
    assert Ref.parse(text) == ref
    assert str(ref) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("file:demo/a.md#L7", "file:demo/a.md#L7-L7"),
        ("file:demo/a.md#L007-L0010", "file:demo/a.md#L7-L10"),
        ("openapi:shop/api.yaml#", "openapi:shop/api.yaml"),
        ("openapi:file:shop/api.yaml#/info", "openapi:shop/api.yaml#/info"),
        ("openapi:shop/api.yaml#/a#b/c", "openapi:shop/api.yaml#/a%23b/c"),
        ("openapi:shop/api.yaml#/paths/%7E1pets", "openapi:shop/api.yaml#/paths/~1pets"),
    ],
)
def test_other_spellings_become_the_canonical_one(text: str, canonical: str) -> None:
    assert str(Ref.parse(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "demo",
        "url:x",
        "instruction:",
        "memory:short",
        f"memory:{ULID.lower()}",
        "file:demo",
        "file:/a.md",
        "file:d/a#2-1",
        "file:d/a#1",
        "file:d/a#",
        "file:d/a#L0",
        "file:d/a#L0-L3",
        "file:d/a#L4-L3",
        "file:d/a#L4-3",
        "file:d/a#4-L5",
        "file:d/a#L\u0663",
        "file:d/a#L1234567890",
        "file:d/a#/paths",
        "file:d/a\n",
        "file:%00/a",
        "openapi:",
        "openapi:shop",
        "openapi:shop/api.yaml#paths",
        "openapi:shop/api.yaml#/a~2b",
        "openapi:shop/api.yaml#/a~",
        "openapi:shop/api.yaml#/%ED%A0%80",
        "openapi:shop/api.yaml#/%FF",
        "openapi:%0A/api.yaml#/info",
        "OPENAPI:shop/api.yaml",
        "instruction:#L1",
        "instruction:a#",
        "instruction:a#b",
        "instruction:a#L1#L2",
        f"memory:{ULID}#",
        "instruction:" + "x" * MAX_REF,
    ],
)
def test_an_invalid_reference_is_refused_with_the_valid_forms(text: str) -> None:
    with pytest.raises(CommonplaceError) as caught:
        Ref.parse(text)
    assert "file:PROJECT/PATH" in str(caught.value.hint)
    assert "openapi:PROJECT/PATH#POINTER" in str(caught.value.hint)


@given(
    PROJECTS,
    PATHS,
    st.none() | st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)).map(sorted),
)
def test_a_file_reference_round_trips_through_text(
    project: str, path: str, span: list[int] | None
) -> None:
    ref = Ref(RefKind.FILE, path, project, *(span or (None, None)))
    assert Ref.parse(str(ref)) == ref


@given(PROJECTS, PATHS, st.tuples(st.integers(1, 10**9 - 1), st.integers(1, 10**9 - 1)).map(sorted))
def test_a_reference_to_lines_round_trips_through_text(
    project: str, path: str, span: list[int]
) -> None:
    ref = Ref(RefKind.FILE, path, project, lines=(span[0], span[1]))
    assert Ref.parse(str(ref)) == ref


@given(
    PROJECTS,
    PATHS,
    st.lists(st.text(max_size=12, alphabet=st.characters(exclude_categories=("Cs",))), max_size=6),
    st.sampled_from([{}, {"lines": (3, 8)}, {"start": 3, "end": 8}]),
)
def test_a_reference_to_an_operation_round_trips_and_shows_every_character(
    project: str, path: str, keys: list[str], part: dict[str, Any]
) -> None:
    pointer = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
    ref = Ref(RefKind.OPENAPI, path, project, pointer=pointer, **part)
    text = str(ref)
    assert text.isprintable()
    assert not any(character.isspace() for character in text)
    assert Ref.parse(text) == ref


@given(
    st.sampled_from(["", "file:", "file:p/a#", "openapi:p/a#/", "openapi:", "instruction:"]),
    st.text(max_size=40),
)
def test_any_text_is_a_reference_or_refused_with_one_code(begin: str, rest: str) -> None:
    ref = None
    with contextlib.suppress(CommonplaceError):  # any other exception is a defect
        ref = Ref.parse(begin + rest)
    assert ref is None or Ref.parse(str(ref)) == ref
