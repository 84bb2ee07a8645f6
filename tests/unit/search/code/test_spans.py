"""Chunks follow definitions: whole, split on blocks, or joined."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from commonplace.search.chunk import MAX_BYTES, Chunk
from commonplace.search.code.chunking import split_source
from commonplace.search.code.languages import language_of
from commonplace.search.code.reading import read_structure

LIBRARY = Path(ast.__file__).parent


def chunks_of(source: bytes, language: str = "python") -> list[Chunk]:
    return split_source(source, read_structure(language, source))


def body(lines: int, indent: int = 4) -> str:
    return "".join(f"{' ' * indent}value_{number} = compute({number})\n" for number in range(lines))


def check(source: bytes, chunks: list[Chunk]) -> None:
    """Check what every cut must keep: the bytes in order, and the lines they are on."""
    at = 0
    for chunk in chunks:
        assert chunk.start == at
        assert source[chunk.start : chunk.end].decode() == chunk.text
        assert chunk.start_line == source[: chunk.start].count(b"\n") + 1
        assert chunk.end_line == source[: max(chunk.start, chunk.end - 1)].count(b"\n") + 1
        assert chunk.end - chunk.start <= MAX_BYTES
        at = chunk.end
    assert at == len(source)


def test_a_function_of_fitting_size_is_one_chunk_with_its_comment_and_decorator() -> None:
    one = f"# About one.\n@cache\ndef one():\n{body(30)}\n\n"
    two = f"def two():\n{body(30)}"
    chunks = chunks_of((one + two).encode())
    assert [chunk.text for chunk in chunks] == [one, two]
    assert [(chunk.symbol, chunk.kind) for chunk in chunks] == [
        ("one", "function"),
        ("two", "function"),
    ]
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(1, 35), (36, 66)]


def test_methods_of_a_large_class_are_chunks_and_know_the_class() -> None:
    source = "class Big:\n    '''Says what it is.'''\n\n    limit = 3\n\n" + "".join(
        f"    def method_{number}(self):\n{body(20, 8)}\n" for number in range(4)
    )
    chunks = chunks_of(source.encode())
    check(source.encode(), chunks)
    assert [chunk.symbol for chunk in chunks] == [
        "Big.method_0",
        "Big.method_1",
        "Big.method_2",
        "Big.method_3",
    ]
    assert chunks[0].text.startswith("class Big:")  # its short head is joined
    assert all("Big.method" in " ".join(chunk.headings) for chunk in chunks)


def test_a_long_function_is_split_between_statements_and_repeats_its_signature() -> None:
    blocks = "".join(
        f"    if ready({number}):\n{body(12, 8)}    send({number})\n" for number in range(16)
    )
    source = f"def long(first, second):\n    '''Says what it does.'''\n{blocks}".encode()
    chunks = chunks_of(source)
    check(source, chunks)
    assert len(chunks) > 2
    for chunk in chunks:
        assert chunk.symbol == "long"
        assert chunk.text.startswith(("def long", "    if ready", "    send"))
    assert all("def long(first, second)" in chunk.headings for chunk in chunks[1:])


def test_short_definitions_are_joined() -> None:
    source = "".join(f"def short_{number}():\n    return {number}\n\n\n" for number in range(60))
    chunks = chunks_of(source.encode())
    check(source.encode(), chunks)
    assert 2 <= len(chunks) <= 6
    assert all(chunk.text.startswith("def short_") for chunk in chunks)
    assert "short_1" in chunks[0].headings[0]


def test_an_edit_changes_only_the_chunks_beside_it() -> None:
    functions = [f"def work_{number}(value):\n{body(15)}\n\n" for number in range(30)]
    before = chunks_of("".join(functions).encode())
    functions.insert(10, f"def added(value):\n{body(15)}\n\n")
    after = chunks_of("".join(functions).encode())
    assert len({chunk.text for chunk in after} - {chunk.text for chunk in before}) <= 2


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", "x = '" + "é" * 5_000 + "'\n" + body(5, 0)),
        ("a.py", "data = [\n" + "    1,\n" * 2_000 + "]\n"),
        ("a.py", "def f():\r\n    return 1\r\n" * 200),
        ("a.py", "def f():\n    return '\0'\n" * 200),
        ("a.py", "\n" * 5_000),
        ("a.py", "def f(): pass"),
        ("a.py", ""),
        ("a.js", "function f() {" + "g();" * 200 + "}\n" + "let a = 1;\n" * 300),
        ("a.c", "int a; int b; int f(void) { return 1; } int g(void) { return 2; }\n" * 100),
        ("a.html", "<p>" + "text " * 60 + "</p>\n" + "<div>\n" * 200),
    ],
)
def test_offsets_are_exact_for_unusual_text(name: str, source: str) -> None:
    check(source.encode(), chunks_of(source.encode(), language_of(name)))


def test_offsets_are_exact_for_fifty_files_of_the_standard_library() -> None:
    paths = sorted(LIBRARY.glob("*.py"))[:50]
    assert len(paths) == 50
    for path in paths:
        source = path.read_bytes()
        check(source, chunks_of(source))


def test_definitions_of_the_standard_library_are_those_that_python_finds() -> None:
    source = Path(str(sys.modules["ast"].__file__)).read_bytes()
    expected = {
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    }
    found = {
        definition.name
        for definition in read_structure("python", source).definitions
        if definition.kind in ("function", "method", "class")
    }
    assert found == expected


def test_markdown_chunks_know_the_trail_of_their_headings() -> None:
    source = b"# Guide\n\n" + b"words " * 100 + b"\n\n## Install\n\n" + b"more " * 250 + b"\n"
    chunks = split_source(source, read_structure("markdown", source))
    assert [chunk.symbol for chunk in chunks] == ["Guide", "Guide > Install"]
    assert {chunk.kind for chunk in chunks} == {"section"}


def test_text_without_structure_is_cut_as_before_and_has_lines() -> None:
    source = b"first line\n\n" + b"a sentence of plain text.\n" * 200
    chunks = split_source(source)
    check(source, chunks)
    assert {(chunk.symbol, chunk.kind) for chunk in chunks} == {("", "")}
