"""Verdicts follow the files, also when these change quickly or become something else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.anchors import CodeAnchor
from commonplace.memory.code.checker import CodeChecker
from commonplace.memory.code.protocol import FILE_BYTES
from commonplace.memory.code.repositories import Repositories

SOURCE = "def load(rows):\n    total = sum(rows)\n    return total\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "a.py").write_text(SOURCE)
    return tmp_path / "shop"


@pytest.fixture
def checker(shop: Path) -> Iterator[CodeChecker]:
    made = CodeChecker(Repositories((shop,)))
    yield made
    made.close()


def take(checker: CodeChecker, symbol: str | None = "load", path: str = "a.py") -> CodeAnchor:
    return checker.take_now(LOCAL_TENANT, CodeAnchor("shop", path, symbol))


def state(checker: CodeChecker, anchor: CodeAnchor, *, fresh: bool = True) -> str:
    (verdict,) = checker.check_now(LOCAL_TENANT, [anchor], fresh=fresh)
    return verdict.state.value


def test_an_edit_of_the_same_size_in_the_same_instant_is_noticed(
    checker: CodeChecker, shop: Path
) -> None:
    anchor = take(checker)
    for _ in range(20):
        (shop / "a.py").write_text(SOURCE.replace("sum", "max"))
        assert state(checker, anchor, fresh=False) == "changed"
        (shop / "a.py").write_text(SOURCE)
        assert state(checker, anchor, fresh=False) == "valid"


def test_a_text_is_followed_to_another_file_and_lost_with_it(
    checker: CodeChecker, shop: Path
) -> None:
    anchor = take(checker)
    (shop / "lib").mkdir()
    (shop / "a.py").rename(shop / "lib" / "b.py")
    assert state(checker, anchor) == "moved"
    assert state(checker, anchor, fresh=False) == "moved"
    (shop / "lib" / "b.py").write_text("")
    assert state(checker, anchor) == "gone"
    (shop / "a.py").write_text(SOURCE)
    assert state(checker, anchor) == "valid"


@pytest.mark.parametrize("place", ["site/a.py", "a.pyi", "src/site/b.py"])
def test_a_text_is_found_wherever_its_language_may_be(
    checker: CodeChecker, shop: Path, place: str
) -> None:
    anchor = take(checker)
    (shop / place).parent.mkdir(parents=True, exist_ok=True)
    (shop / "a.py").rename(shop / place)
    assert state(checker, anchor) == "moved"


def test_javascript_that_becomes_typescript_is_moved(checker: CodeChecker, shop: Path) -> None:
    (shop / "cart.js").write_text(
        "export function add(a, b) {\n  const c = a + b;\n  return c;\n}\n"
    )
    anchor = take(checker, "add", "cart.js")
    (shop / "cart.js").rename(shop / "cart.ts")
    assert state(checker, anchor) == "moved"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((2, 90), "a.py ends with line 3"),
        ((4, 4), "a.py ends with line 3"),
        ((2, 2), "b.py:2 has only empty lines"),
        (None, "empty.py is empty"),
    ],
)
def test_why_lines_have_no_text_is_said(
    checker: CodeChecker, shop: Path, lines: tuple[int, int] | None, said: str
) -> None:
    (shop / "b.py").write_text("x = 1\n\ny = 2\n")
    (shop / "empty.py").write_text("")
    with pytest.raises(CommonplaceError, match=said):
        checker.take_now(
            LOCAL_TENANT, CodeAnchor("shop", said.split(".py")[0] + ".py", None, lines)
        )


def test_a_symbol_that_is_not_there_is_answered_with_the_nearest(
    checker: CodeChecker, shop: Path
) -> None:
    names = [f"other_{number}" for number in range(20)]
    (shop / "a.py").write_text("".join(f"def {n}():\n    pass\n" for n in names) + SOURCE)
    with pytest.raises(CommonplaceError) as raised:
        take(checker, "laod")
    assert raised.value.hint == "Name one of: load."


def test_a_file_that_becomes_a_link_a_pipe_or_too_large_is_unknown(
    checker: CodeChecker, shop: Path
) -> None:
    anchor = take(checker)
    (shop / "a.py").rename(shop / "b.py")
    (shop / "a.py").symlink_to("b.py")
    assert state(checker, anchor) == "unknown"
    (shop / "a.py").unlink()
    os.mkfifo(shop / "a.py")
    assert state(checker, anchor) == "unknown"
    (shop / "a.py").unlink()
    (shop / "a.py").write_bytes(b"#" * (FILE_BYTES + 1))
    assert state(checker, anchor) == "unknown"
    (shop / "a.py").write_bytes(b"\0binary")
    assert state(checker, anchor) == "unknown"


def test_a_syntax_error_elsewhere_in_the_file_does_not_hide_a_symbol(
    checker: CodeChecker, shop: Path
) -> None:
    anchor = take(checker)
    (shop / "a.py").write_text("def broken(:\n    pass\n\n\n" + SOURCE)
    assert state(checker, anchor) == "valid"


def test_code_nested_deeply_is_answered(checker: CodeChecker, shop: Path) -> None:
    anchor = take(checker)
    (shop / "a.py").write_text("x = " + "(" * 50_000 + ")" * 50_000 + "\n" + SOURCE)
    assert state(checker, anchor) in ("valid", "unknown")


def test_several_definitions_of_one_name_are_one_text(checker: CodeChecker, shop: Path) -> None:
    pair = "class A:\n    @property\n    def x(self):\n        return 1\n"
    pair += "    @x.setter\n    def x(self, value):\n        self.y = value\n"
    (shop / "p.py").write_text(pair)
    anchor = take(checker, "A.x", "p.py")
    assert anchor.lines == (2, 7)
    (shop / "p.py").write_text(pair.replace("self.y = value", "self.z = value"))
    assert state(checker, anchor) == "changed"


def test_headings_of_a_document_are_symbols(checker: CodeChecker, shop: Path) -> None:
    (shop / "notes.md").write_text("# Shop\n\n## Locks\n\nTake the lock first.\n\n## Other\n")
    anchor = take(checker, "Locks", "notes.md")
    assert anchor.symbol == "Shop > Locks"
    (shop / "notes.md").write_text("# Shop\n\n## Locks\n\nNo lock is needed.\n\n## Other\n")
    assert state(checker, anchor) == "changed"


def test_a_kind_of_file_without_symbols_asks_for_lines(checker: CodeChecker, shop: Path) -> None:
    (shop / "data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(CommonplaceError, match="cannot be parsed") as failed:
        take(checker, "a", "data.csv")
    assert failed.value.hint == "Give its lines instead."
