"""States of anchors for any edit: invariants, and the verdicts of git on made-up histories."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.anchors import commit_all, replay, run_git

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.anchors import AnchorState, CodeAnchor
from commonplace.memory.code.checker import CodeChecker
from commonplace.memory.code.repositories import Repositories

LINES = st.lists(
    st.sampled_from(["total = 0", "count(rows)", "return total", "x", "", "while rows:", "# note"]),
    min_size=3,
    max_size=14,
)
QUIET = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def checker(tmp_path: Path) -> CodeChecker:
    (tmp_path / "shop").mkdir()
    return CodeChecker(Repositories(given=tmp_path / "shop", names=("shop",)))


def write(tmp_path: Path, name: str, lines: list[str]) -> None:
    (tmp_path / "shop" / name).write_text("\n".join(lines) + "\n")


@QUIET
@given(lines=LINES, data=st.data())
def test_lines_follow_their_text_through_any_edit_outside_of_them(
    tmp_path: Path, checker: CodeChecker, lines: list[str], data: st.DataObject
) -> None:
    lines = [*lines, "the_end()"]
    write(tmp_path, "a.txt", lines)
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    if not any(lines[first - 1 : last]):
        return
    anchor = checker.take_now(LOCAL_TENANT, CodeAnchor("shop", "a.txt", None, (first, last)))
    above, below = data.draw(LINES), data.draw(LINES)
    spaced = [line.replace(" ", "\t  ") + "  " for line in lines[first - 1 : last]]
    write(tmp_path, "a.txt", [*above, *spaced, *below])
    (verdict,) = checker.check_now(LOCAL_TENANT, [anchor], fresh=True)
    assert verdict.state is AnchorState.VALID
    assert verdict.lines is not None
    now = (tmp_path / "shop" / "a.txt").read_text().split("\n")
    text = [line.split() for line in now[verdict.lines[0] - 1 : verdict.lines[1]]]
    assert anchor.lines is not None
    assert ["".join(words) for words in text] == [
        line.replace(" ", "") for line in lines[anchor.lines[0] - 1 : anchor.lines[1]]
    ]


@QUIET
@given(lines=LINES, new=st.lists(LINES, max_size=2))
def test_a_state_is_valid_only_if_the_text_is_there_and_gone_only_if_the_file_is_not(
    tmp_path: Path, checker: CodeChecker, lines: list[str], new: list[list[str]]
) -> None:
    write(tmp_path, "a.txt", ["start()", *lines, "stop()"])
    anchor = checker.take_now(LOCAL_TENANT, CodeAnchor("shop", "a.txt", None, (1, len(lines) + 2)))
    (tmp_path / "shop" / "a.txt").unlink()
    (tmp_path / "shop" / "b.txt").unlink(missing_ok=True)
    for name, content in zip(("a.txt", "b.txt"), new, strict=False):
        write(tmp_path, name, content)
    (verdict,) = checker.check_now(LOCAL_TENANT, [anchor], fresh=True)
    assert verdict.state is not AnchorState.VALID  # `start()` is in no other text
    assert verdict.state is not AnchorState.MOVED
    if new:
        assert verdict.state is AnchorState.CHANGED
    (other,) = CodeChecker(Repositories()).check_now(LOCAL_TENANT, [anchor], fresh=True)
    assert other.state is AnchorState.UNKNOWN


BODIES = st.lists(
    st.tuples(
        st.sampled_from(("load", "save", "drop", "find")),
        st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=6, unique=True),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda part: part[0],
)


def render(functions: list[tuple[str, list[str]]]) -> str:
    return "\n\n".join(
        f"def {name}(rows):\n"
        + "\n".join(f"    {name}_{step} = rows.{step}()" for step in steps)
        + f"\n    return {name}_{steps[-1]}\n"
        for name, steps in functions
    )


@settings(QUIET, max_examples=8)
@given(versions=st.lists(BODIES, min_size=2, max_size=4))
def test_verdicts_on_definitions_are_those_of_git(
    tmp_path_factory: pytest.TempPathFactory, versions: list[list[tuple[str, list[str]]]]
) -> None:
    repository = tmp_path_factory.mktemp("replay") / "shop"
    repository.mkdir()
    run_git(repository, "init", "-q")
    commits = []
    for functions in versions:
        (repository / "shop.py").write_text(render(functions))
        commits.append(commit_all(repository, "next"))
    result = replay(repository, commits)
    assert result.verdicts
    assert result.differing == []
