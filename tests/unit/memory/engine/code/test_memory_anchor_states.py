"""Every state of an anchor, from its file and the others around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from commonplace.memory.anchors import AnchorState, CodeAnchor
from commonplace.memory.engine.code.fingerprint import Fingerprint, SourceText
from commonplace.memory.engine.code.states import Symbols, decide

ADD = "def add(self, entry):\n    self.rows.append(entry)\n    self.commit()\n    return entry"


class File:
    """A file whose definitions are given."""

    def __init__(self, path: str, text: str, symbols: Symbols | None = None) -> None:
        self.path = path
        self.text = SourceText(text.encode())
        self._symbols = symbols

    def symbols(self) -> Symbols | None:
        return self._symbols


class Files:
    """The other files of a repository."""

    def __init__(self, files: Sequence[File] = (), gap: str = "") -> None:
        self._files = files
        self.gap = gap

    def with_line(self, number: int) -> Iterator[File]:
        return (file for file in self._files if number in file.text.hashes)

    def renamed(self, wanted: Fingerprint, share: float) -> Iterator[File]:
        return (file for file in self._files if wanted.resembles_file(file.text.hashes))


def anchor_on(
    file: File, symbol: str | None = None, lines: tuple[int, int] | None = None
) -> CodeAnchor:
    symbols = file.symbols() or {}
    spans = list(symbols[symbol]) if symbol else [lines or (1, len(file.text.lines))]
    found = str(file.text.fingerprint(spans, symbols.values() if symbol else ()))
    return CodeAnchor("shop", file.path, symbol, spans[0] if symbol else lines, found)


OLD = File("a.py", f"import os\n{ADD}\nprint(1)", {"Store.add": [(2, 5)]})
SYMBOL = anchor_on(OLD, "Store.add")
LINES = anchor_on(OLD, lines=(2, 5))
WHOLE = anchor_on(OLD)


def state(anchor: CodeAnchor, own: File | None, *others: File, gap: str = "") -> tuple[str, str]:
    verdict = decide(anchor, own, Files(others, gap))
    return verdict.state.value, verdict.now


def test_the_same_text_on_other_lines_is_valid() -> None:
    shifted = File("a.py", f"import os\n\nimport sys\n{ADD}", {"Store.add": [(4, 7)]})
    assert state(SYMBOL, shifted) == ("valid", "a.py:Store.add")
    assert state(LINES, shifted) == ("valid", "a.py:4-7")
    assert state(WHOLE, shifted) == ("changed", "a.py")
    assert state(WHOLE, OLD) == ("valid", "a.py")


def test_another_text_under_the_same_name_is_changed() -> None:
    other = File("a.py", f"import os\n{ADD} or None", {"Store.add": [(2, 5)]})
    assert state(SYMBOL, other) == ("changed", "a.py:Store.add")
    assert state(LINES, other) == ("changed", "a.py")


def test_the_same_text_under_another_symbol_or_path_is_moved() -> None:
    renamed = File("a.py", f"x\n{ADD}", {"Shop.add": [(2, 5)]})
    assert state(SYMBOL, renamed) == ("moved", "a.py:Shop.add")
    elsewhere = File("b.py", f"x\n{ADD}", {"Store.add": [(2, 5)]})
    assert state(SYMBOL, None, elsewhere) == ("moved", "b.py:Store.add")
    assert state(LINES, None, elsewhere) == ("moved", "b.py:2-5")
    empty = File("a.py", "import os", {})
    assert state(SYMBOL, empty, elsewhere) == ("moved", "b.py:Store.add")
    assert state(LINES, empty, elsewhere) == ("moved", "b.py:2-5")


def test_a_definition_with_another_name_and_most_lines_is_changed() -> None:
    renamed = ADD.replace("def add", "def insert")
    own = File("a.py", f"import os\n{renamed}", {"Store.insert": [(2, 5)]})
    assert state(SYMBOL, own) == ("changed", "a.py:Store.insert")


def test_a_renamed_file_with_changes_is_changed() -> None:
    text = "\n".join(f"value_{n} = {n}" for n in range(20))
    old = File("a.py", f"{text}\n{ADD}", {"add": [(21, 24)]})
    new = File("b.py", f"{text}\n{ADD} or 1", {"add": [(21, 24)]})
    assert state(anchor_on(old, "add"), None, new) == ("changed", "b.py:add")
    assert state(anchor_on(old), None, new) == ("changed", "b.py")


def test_a_definition_of_one_line_moves_with_its_renamed_file() -> None:
    text = "\n".join(f"value_{n} = {n}" for n in range(20))
    old = File("a.rs", f"{text}\nstruct Args(Arc<Imp>);", {"Args": [(21, 21)]})
    same = File("b.rs", f"{text}\n\nstruct Args(Arc<Imp>);", {"Args": [(22, 22)]})
    other = File("b.rs", f"{text}\nstruct Args(Rc<Imp>);", {"Args": [(21, 21)]})
    assert state(anchor_on(old, "Args"), None, same) == ("moved", "b.rs:Args")
    assert state(anchor_on(old, "Args"), None, other) == ("changed", "b.rs:Args")


def test_one_line_moves_with_its_renamed_file() -> None:
    line = anchor_on(OLD, lines=(6, 6))
    renamed = File("b.py", f"import os\n{ADD}\n\nprint(1)", {"Store.add": [(2, 5)]})
    assert state(line, None, renamed) == ("moved", "b.py:7")
    assert state(line, None, File("b.py", f"import os\n{ADD}\nprint(2)")) == ("changed", "b.py")
    assert state(WHOLE, None, File("b.py", f"import os\n{ADD}\nprint(1)")) == ("moved", "b.py")


def test_a_text_that_is_nowhere_is_gone() -> None:
    other = File("b.py", "print(2)", {})
    assert state(SYMBOL, File("a.py", "print(3)", {}), other) == ("gone", "")
    assert state(SYMBOL, None, other) == ("gone", "")
    assert state(LINES, None, other) == ("gone", "")
    assert state(WHOLE, None, other) == ("gone", "")


def test_nothing_is_called_gone_if_some_files_were_not_read() -> None:
    verdict = decide(SYMBOL, None, Files(gap="only 9 files were compared"))
    assert (verdict.state, verdict.reason) == ("unknown", "only 9 files were compared")


def test_a_file_that_cannot_be_parsed_is_compared_by_its_lines() -> None:
    assert state(SYMBOL, File("a.py", f"%%%\n{ADD}")) == ("valid", "a.py:Store.add")
    verdict = decide(SYMBOL, File("a.py", "%%%"), Files())
    assert verdict.state is AnchorState.UNKNOWN


def test_without_a_hash_nothing_is_said() -> None:
    assert decide(replace(SYMBOL, hash=""), None, Files()).state is AnchorState.UNKNOWN


def test_a_digest_alone_is_enough_for_what_is_in_place() -> None:
    short = replace(SYMBOL, hash=SYMBOL.digest)
    assert state(short, OLD) == ("valid", "a.py:Store.add")
    changed = File("a.py", f"import os\n{ADD} or None", {"Store.add": [(2, 5)]})
    assert state(short, changed)[0] == "changed"
    assert state(short, None)[0] == "gone"


def test_a_short_text_is_not_taken_for_a_copy_elsewhere() -> None:
    old = File("a.py", "x = 1\ny = 2", {"x": [(1, 1)]})
    copy = File("b.py", "x = 1", {"x": [(1, 1)]})
    assert state(anchor_on(old, "x"), File("a.py", "z = 3", {}), copy) == ("gone", "")


CLOSE = "def close(self):\n    self.handle.close()\n    self.handle = None"


def copies_of_close(*names: str) -> File:
    """Return a file with classes that have the same method."""
    text = "\n".join(f"class {name}:\n{CLOSE}" for name in names)
    spans = {f"{name}.close": [(4 * at + 2, 4 * at + 4)] for at, name in enumerate(names)}
    return File("a.py", text, spans)


def test_a_definition_that_is_removed_has_not_moved_to_its_copies() -> None:
    anchor = anchor_on(copies_of_close("A", "B", "C"), "B.close")
    assert state(anchor, copies_of_close("A", "C")) == ("gone", "")
    assert state(anchor, copies_of_close("A", "D", "C")) == ("moved", "a.py:D.close")
    assert state(anchor, copies_of_close("A", "B")) == ("valid", "a.py:B.close")


def test_a_short_definition_of_another_name_elsewhere_is_another_one() -> None:
    old = copies_of_close("A")
    other = File("b.py", CLOSE, {"B.close": [(1, 3)]})
    same = File("b.py", CLOSE, {"A.close": [(1, 3)]})
    left = File("a.py", "print(1)", {})
    assert state(anchor_on(old, "A.close"), left, other) == ("gone", "")
    assert state(anchor_on(old, "A.close"), left, same) == ("moved", "b.py:A.close")


def test_a_method_of_one_line_moves_with_its_class() -> None:
    text = "class A:\n    def f(self): pass\n    x = 1"
    old = File("a.py", text, {"A": [(1, 3)], "A.f": [(2, 2)]})
    elsewhere = File("b.py", f"{text}\n    y = 2", {"A": [(1, 4)], "A.f": [(2, 2)]})
    left = File("a.py", "print(1)", {})
    assert state(anchor_on(old, "A.f"), left, elsewhere) == ("moved", "b.py:A.f")
    emptied = File("a.py", "class A:\n    x = 1", {"A": [(1, 2)]})
    assert state(anchor_on(old, "A.f"), emptied, elsewhere) == ("gone", "")
