"""Definitions, names and chunks of every language, from one small program in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.search.code.languages import LANGUAGES, language_of
from commonplace.search.code.reading import obstacle, read_structure
from commonplace.search.code.structure import Structure

SAMPLES = Path(__file__).parents[3] / "data" / "code"

EXPECTED = {
    "Shapes.cs": "namespace Example 3, interface Example.IMeasured 5, "
    "method Example.IMeasured.Area 7, constant Example.Colour.Red 10, class Example.Shape 12, "
    "field Example.Shape.DefaultSides 14, property Example.Shape.Sides 16, "
    "constructor Example.Shape.Shape 18, method Example.Shape.Area 23, "
    "method Example.Helpers.Square 31",
    "Shapes.java": "class Shapes 5, field Shapes.DEFAULT_SIDES 6, interface Shapes.Measured 8, "
    "constant Shapes.Colour.RED 12, method Shapes.totalArea 15, constructor Shapes.Shapes 19, "
    "class Shapes.Square 23, method Shapes.Square.area 31",
    "shapes.c": "macro DEFAULT_SIDES 4, constant colour.RED 6, struct shape 8, "
    "field shape.label 10, type shape_t 13, variable registry_size 15, declaration square 17, "
    "function shape_area 20, function shape_label 25",
    "shapes.cpp": "namespace geometry 3, variable geometry.kDefaultSides 5, "
    "class geometry.Shape 7, method geometry.Shape.~Shape 10, declaration geometry.Shape.area 11, "
    "method geometry.Shape.sides 12, struct geometry.Box 19, enum geometry.Colour 23, "
    "method geometry.Shape.area 25, function geometry.twice 30",
    "shapes.css": "rule :root 3, variable :root.--sides 4, rule .shape > #square 7, rule turn 11, "
    "rule .shape 17",
    "shapes.go": "constant DefaultSides 8, variable registry 10, struct Shape 13, "
    "field Shape.Sides 14, interface Measured 17, method Measured.Area 18, method Shape.Area 22, "
    "function square 26",
    "shapes.html": "section Shapes 4, section All shapes 9, element squares 10, "
    "section squares.Squares 11",
    "shapes.js": "constant DEFAULT_SIDES 4, function totalArea 7, function add 11, class Shape 13, "
    "field Shape.sides 14, method Shape.area 16, method Shape.describe 21, function square 25",
    "shapes.kt": "constant DEFAULT_SIDES 5, interface Measured 7, method Measured.area 8, "
    "enum Colour 11, constant Colour.RED 11, class Shape 14, field Shape.sides 14, "
    "property Shape.label 15, method Shape.area 17, method Shape.build 22, class Registry 26, "
    "method Registry.register 27, function square 30",
    "shapes.md": "section Shapes 1, section Shapes > Squares 5, section Shapes > Squares > Area 11,"
    " section Shapes > Circles 15",
    "shapes.php": "constant DEFAULT_SIDES 6, interface Measured 8, trait Named 13, "
    "method Named.label 15, class Shape 22, field Shape.sides 26, method Shape.area 28, "
    "function square 34",
    "shapes.py": "constant DEFAULT_SIDES 6, function total_area 9, class Shape 14, "
    "field Shape.sides 17, method Shape.name 20, method Shape.area 23, "
    "function Shape.area.square 24",
    "shapes.rb": "module Geometry 3, constant Geometry.DEFAULT_SIDES 4, class Geometry.Shape 7, "
    "method Geometry.Shape.area 14, method Geometry.Shape.build 18, method square 24",
    "shapes.rs": "constant DEFAULT_SIDES 3, struct Shape 7, field Shape.sides 8, enum Colour 11, "
    "constant Colour.Red 12, trait Measured 16, method Measured.area 17, method Shape.area 21, "
    "module helpers 26, function helpers.double 27, function square 32, macro shapes 37",
    "shapes.sh": "variable DEFAULT_SIDES 5, variable NAME 6, function area 9, function square 13",
    "shapes.sql": "table shapes 2, field shapes.sides 4, index idx_shapes_sides 7, "
    "view large_shapes 9, function square 11",
    "shapes.swift": "constant defaultSides 3, interface Measured 5, method Measured.area 6, "
    "enum Colour 9, constant Colour.red 10, struct Shape 14, property Shape.sides 15, "
    "constructor Shape.init 17, method Shape.area 21, method Shape.describe 27, function square 32",
    "shapes.ts": "constant DEFAULT_SIDES 3, interface Measured 5, method Measured.area 6, "
    "field Measured.label 7, type Sides 10, enum Colour 12, namespace Geometry 17, "
    "function Geometry.square 18, class Shape 23, field Shape.sides 24, method Shape.area 26, "
    "method Shape.describe 30, function totalArea 33",
    "shapes.tsx": "interface ShapeProps 3, function ShapeView 7, function describe 11, "
    "class ShapeList 13, method ShapeList.render 14",
}

IMPORTS = {
    "Shapes.cs": ["System.Collections.Generic"],
    "Shapes.java": ["java.util.List"],
    "shapes.c": ["math.h", "shapes.h"],
    "shapes.cpp": ["vector"],
    "shapes.css": ["base.css"],
    "shapes.go": ["fmt", "math"],
    "shapes.html": ["shapes.css", "shapes.js"],
    "shapes.js": ["./math.js", "fs"],
    "shapes.kt": ["kotlin.math.PI"],
    "shapes.php": ["Example\\Helpers\\Square"],
    "shapes.py": ["math", "collections.abc"],
    "shapes.rb": ["set"],
    "shapes.rs": ["std::f64::consts::PI"],
    "shapes.sh": ["./library.sh", "./other.sh"],
    "shapes.swift": ["Foundation"],
    "shapes.ts": ["./math"],
    "shapes.tsx": ["react"],
}

# Where `square` (or another function) is called in each.
CALLS = {
    "Shapes.cs": ("Square", 25),
    "Shapes.java": ("square", 32),
    "shapes.c": ("square", 22),
    "shapes.cpp": ("square", 26),
    "shapes.css": ("calc", 8),
    "shapes.go": ("square", 23),
    "shapes.js": ("square", 17),
    "shapes.kt": ("square", 18),
    "shapes.php": ("square", 30),
    "shapes.py": ("square", 27),
    "shapes.rb": ("square", 15),
    "shapes.rs": ("square", 22),
    "shapes.sh": ("square", 10),
    "shapes.sql": ("square", 9),
    "shapes.swift": ("square", 22),
    "shapes.ts": ("square", 27),
    "shapes.tsx": ("describe", 8),
}


def read(name: str) -> tuple[bytes, Structure]:
    source = (SAMPLES / name).read_bytes()
    return source, read_structure(language_of(name), source)


def test_there_is_a_sample_of_every_language() -> None:
    assert {language_of(name) for name in EXPECTED} == {*LANGUAGES, "markdown"}
    assert {path.name for path in SAMPLES.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_definitions_are_found_with_kind_path_and_line(name: str) -> None:
    _, structure = read(name)
    found = {
        f"{definition.kind} {definition.qualified} {definition.line}"
        for definition in structure.definitions
    }
    assert set(EXPECTED[name].split(", ")) <= found


@pytest.mark.parametrize("name", EXPECTED)
def test_a_definition_holds_its_name_and_starts_where_it_says(name: str) -> None:
    source, structure = read(name)
    for definition in structure.definitions:
        text = source[definition.start : definition.end].decode()
        assert definition.name in text
        assert definition.start_line == source[: definition.start].count(b"\n") + 1
        assert definition.end_line == source[: definition.end - 1].count(b"\n") + 1
        assert definition.start_line <= definition.line <= definition.end_line
        assert definition.signature


@pytest.mark.parametrize("name", IMPORTS)
def test_imports_are_found_in_order(name: str) -> None:
    _, structure = read(name)
    assert [imported.target for imported in structure.imports] == IMPORTS[name]


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_told_from_other_uses(name: str) -> None:
    source, structure = read(name)
    called, line = CALLS[name]
    references = {reference.name: reference for reference in structure.references}
    assert references[called].calls == (line,)
    lines = source.decode().split("\n")
    for reference in structure.references:
        assert set(reference.calls) <= set(reference.lines)
        assert all(reference.name in lines[number - 1] for number in reference.lines)


def test_the_line_of_a_definition_is_no_use_of_its_name() -> None:
    structure = read_structure("python", b"def load():\n    pass\n\nload()\nkeep = load\n")
    (load,) = (reference for reference in structure.references if reference.name == "load")
    assert load.lines == (4, 5)
    assert load.calls == (4,)


def test_local_variables_are_no_uses_but_imported_names_and_members_are() -> None:
    source = (
        b"from lib import parse\n\n\ndef work(items):\n    total = 0\n    for item in items:\n"
        b"        total += item.size\n    return map(parse, total, MAX_SIZE)\n"
    )
    references = {reference.name for reference in read_structure("python", source).references}
    assert {"parse", "size", "map", "MAX_SIZE"} <= references
    assert references.isdisjoint({"total", "item", "items"})


@pytest.mark.parametrize(
    ("language", "source", "reason"),
    [
        ("javascript", b"var a=1;" * 10_000, "minified"),
        ("python", b"x = 1\n" * 200_000, "larger than"),
        ("", b"text", "no grammar"),
        ("cobol", b"text", "no grammar"),
    ],
)
def test_text_that_is_not_parsed_says_why(language: str, source: bytes, reason: str) -> None:
    assert reason in obstacle(language, source)
    assert reason in read_structure(language, source).note


def test_text_in_another_language_is_not_cut_by_the_grammar() -> None:
    prose = b"It was the best of times, it was the worst of times; } { ) ( what? 'tis, indeed! \n"
    structure = read_structure("java", prose * 40)
    assert structure.spans == ()
    assert "cannot read" in structure.note


def test_a_file_with_an_error_keeps_its_other_definitions() -> None:
    source = (
        b"def first():\n    return 1\n\ndef broken(:\n    return\n\ndef last():\n    return 2\n"
    )
    names = {definition.name for definition in read_structure("python", source).definitions}
    assert {"first", "last"} <= names


def test_a_header_in_cpp_is_read_as_cpp() -> None:
    source = b"namespace shapes {\nclass Shape {\n public:\n  int sides() const;\n};\n}\n" * 3
    names = {definition.qualified for definition in read_structure("c", source).definitions}
    assert "shapes.Shape" in names


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("typescript", "enum Kind { One = 'a', Two }", "Kind.One Kind.Two"),
        ("typescript", "declare const limit: number;", "limit"),
        ("typescript", "class A { constructor(private repo: R) {} }", "A.constructor.repo"),
        ("typescript", "namespace N { export const one = 1; }", "N.one"),
        ("python", "width, height = 1, 2\n", "width height"),
        ("python", "if OLD:\n    LIMIT = 1\nelse:\n    LARGE = 2\n", "LIMIT LARGE"),
        ("python", "try:\n    import x\nexcept E:\n    x = None\n", "x"),
        ("c", "#ifndef A_H\n#define A_H\nextern int count;\n#endif\n", "A_H count"),
        ("c", 'static const char *names[] = {"a"};', "names"),
        ("c", "typedef int (*handler_t)(int);", "handler_t"),
        ("cpp", "struct S { int *first; int many[3]; T *make(); };", "S.first S.many S.make"),
        ("cpp", "template <class T> void Box<T>::put(T t) { }", "Box.put"),
        ("java", "class A { int one, two; }", "A.one A.two"),
        ("java", "record R(int size) {}", "R.size"),
        ("go", "package x\nvar one, two = 1, 2\n", "one two"),
        ("rust", "trait A { type Item; }", "A.Item"),
        ("ruby", "class A\n  attr_reader :one, :two\nend\n", "A.one A.two"),
        ("php", "<?php define('LIMIT', 2);", "LIMIT"),
        ("swift", "enum E { case one, two }", "E.one E.two"),
    ],
)
def test_less_usual_definitions_are_found(language: str, source: str, expected: str) -> None:
    found = {entry.qualified for entry in read_structure(language, source.encode()).definitions}
    assert set(expected.split()) <= found
