"""References across domains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.ref import Ref, RefKind

ULID = "01HX123ABCDEFGHJKMNPQRSTVW"


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("instruction:instr.alpha", Ref(RefKind.INSTRUCTION, "instr.alpha")),
        (f"memory:{ULID}", Ref(RefKind.MEMORY, ULID)),
        ("file:demo/notes/a.md", Ref(RefKind.FILE, "/notes/a.md", "demo")),
        ("file:demo/a.md#10-20", Ref(RefKind.FILE, "/a.md", "demo", 10, 20)),
        ("file:my%20proj%2Fx/a.md", Ref(RefKind.FILE, "/a.md", "my proj/x")),
    ],
)
def test_a_reference_is_read_and_written(text: str, ref: Ref) -> None:
    assert Ref.parse(text) == ref
    assert str(ref) == text


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
        "file:d/a\n",
        "file:%00/a",
        "instruction:" + "x" * 3000,
    ],
)
def test_an_invalid_reference_is_refused_with_the_valid_forms(text: str) -> None:
    with pytest.raises(CommonplaceError) as caught:
        Ref.parse(text)
    assert "file:PROJECT/PATH" in str(caught.value.hint)


@given(
    st.text(min_size=1, max_size=40, alphabet=st.characters(exclude_categories=("Cc", "Cs"))),
    st.text(alphabet="abcXYZ019._-/", max_size=40).map("/{}".format),
    st.none() | st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)).map(sorted),
)
def test_a_file_reference_round_trips_through_text(
    project: str, path: str, span: list[int] | None
) -> None:
    ref = Ref(RefKind.FILE, path, project, *(span or (None, None)))
    assert Ref.parse(str(ref)) == ref
