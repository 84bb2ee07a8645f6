"""Passages are completed to whole functions, without imports, each line once."""

from __future__ import annotations

from commonplace.context.engine.passages import PassageText, complete_passages, is_distinctive

TEXT = '''"""A module.

It says something.
"""

from __future__ import annotations

from typing import (
    Any,
    Final,
)

LIMIT = 3


def first(value):
    value += 1
    return value


def second():
    return LIMIT
'''
CONTENT = TEXT.encode()


def complete(*spans: tuple[str, str], imports: bool = False) -> list[tuple[int, int]]:
    passages = [
        PassageText(at, "/a.py", TEXT.index(start), TEXT.index(end) + len(end))
        for at, (start, end) in enumerate(spans)
    ]
    functions = {"/a.py": [(16, 18), (21, 22)]}
    completed = complete_passages(passages, {"/a.py": CONTENT}, functions, imports=imports)
    return [passage.lines for passage in completed]


def test_a_passage_that_begins_in_a_function_shows_all_of_it() -> None:
    assert complete(("    value += 1", "value += 1")) == [(16, 18)]


def test_imports_and_the_docstring_of_a_module_are_left_out() -> None:
    assert complete(('"""A module.', "def first(value):")) == [(13, 18)]


def test_imports_are_kept_where_there_is_room() -> None:
    assert complete(('"""A module.', "def first(value):"), imports=True) == [(1, 18)]


def test_a_line_is_shown_once() -> None:
    assert complete(("def first", "return value"), ("LIMIT = 3", "return LIMIT")) == [
        (16, 18),
        (19, 22),
    ]


def test_a_common_word_is_no_distinctive_name() -> None:
    assert not is_distinctive({"defines": ["connection", "shell"], "file_name": "shell"})
    assert is_distinctive({"defines": ["catch_all_view"]})
    assert is_distinctive({"defines": ["RenameIndex"]})
    assert is_distinctive({"exact": "must not be empty"})
    assert not is_distinctive({"exact": "0"})
    assert not is_distinctive({"exact": "1.2.3.4"})
