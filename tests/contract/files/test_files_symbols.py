"""The symbol index on both databases: what it holds after each change of a file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from files_box import Box

from commonplace.files.model import FilePath, Project
from commonplace.files.navigation import Navigation
from commonplace.files.store.protocol import SymbolStore
from commonplace.kernel.auth import Tenant, tenant_hash
from commonplace.search.lexical.text import query_terms

Result = TypeVar("Result")
SAMPLES = Path(__file__).parents[2] / "data" / "code"
P = Project("p")
T1, T2 = tenant_hash(Tenant("t1")), tenant_hash(Tenant("t2"))


def run(awaited: Awaitable[Result]) -> Result:
    async def wait() -> Result:
        return await awaited

    return asyncio.run(wait())


def navigation(box: Box) -> Navigation:
    found = box.files.service.navigation
    assert found is not None
    return found


def symbols(box: Box) -> SymbolStore:
    return navigation(box).symbols


def defined(box: Box, name: str, tenant: str = T1, **more: Any) -> list[tuple[str, str, int]]:
    found = run(symbols(box).definitions(tenant, P, [name], 10, **more))
    return [(entry.path, entry.definition.qualified, entry.definition.line) for entry in found]


def used(box: Box, name: str, tenant: str = T1) -> list[tuple[str, tuple[int, ...]]]:
    return [(use.path, use.lines) for use in run(symbols(box).uses(tenant, P, [name], 10))]


@pytest.fixture
def code(box: Box) -> Box:
    box.write("/src/shapes.py", (SAMPLES / "shapes.py").read_text())
    box.write("/lib/shapes.go", (SAMPLES / "shapes.go").read_text())
    box.write("/docs/shapes.md", (SAMPLES / "shapes.md").read_text())
    box.index()
    return box


def test_definitions_are_found_by_name_as_written_first(code: Box) -> None:
    assert defined(code, "Area") == [
        ("/docs/shapes.md", "Shapes > Squares > Area", 11),
        ("/lib/shapes.go", "Measured.Area", 18),
        ("/lib/shapes.go", "Shape.Area", 22),
        ("/src/shapes.py", "Shape.area", 23),
    ]
    assert defined(code, "area")[0] == ("/src/shapes.py", "Shape.area", 23)
    assert {path for path, _, _ in defined(code, "AREA")} == {
        "/lib/shapes.go",
        "/docs/shapes.md",
        "/src/shapes.py",
    }
    assert defined(code, "area", prefix="/lib")[0][0] == "/lib/shapes.go"
    assert defined(code, "nothing") == []
    assert defined(code, "NUL\0") == []


def test_uses_are_found_by_name_with_calls_and_imports(code: Box) -> None:
    (python, go) = sorted(
        run(symbols(code).uses(T1, P, ["square"], 10)), key=lambda use: use.path, reverse=True
    )
    assert (python.path, python.lines, python.calls) == ("/src/shapes.py", (27,), (27,))
    assert (go.path, go.calls) == ("/lib/shapes.go", (23,))
    imports = {use.path: use.imports for use in run(symbols(code).uses(T1, P, ["math"], 10))}
    assert imports == {"/lib/shapes.go": (5,), "/src/shapes.py": (3,)}
    assert used(code, "DEFAULT_SIDES") == [("/src/shapes.py", (17,))]


def test_an_outline_lists_definitions_in_order_with_bytes_of_the_file(code: Box) -> None:
    outline = run(symbols(code).outline(T1, P, FilePath("/src/shapes.py")))
    assert outline is not None
    assert outline.language == "python"
    assert [entry.definition.name for entry in outline.definitions] == [
        "DEFAULT_SIDES",
        "total_area",
        "Shape",
        "sides",
        "name",
        "area",
        "square",
    ]
    assert [imported.target for imported in outline.imports] == ["math", "collections.abc"]
    area = outline.definitions[5].definition
    text = code.read("/src/shapes.py", offset=area.start, length=area.end - area.start)
    assert text.startswith("def area(self)")
    assert area.signature == "def area(self) -> float"
    assert run(symbols(code).outline(T1, P, FilePath("/none.py"))) is None


def test_the_lines_of_functions_are_read_for_several_files_at_once(code: Box) -> None:
    python, go, none = (FilePath(f"/{name}") for name in ("src/shapes.py", "lib/shapes.go", "none"))
    found = run(symbols(code).function_lines(T1, P, [python, go, none]))
    outline = run(symbols(code).outline(T1, P, python))
    assert outline is not None
    assert found[python] == [
        (entry.definition.start_line, entry.definition.end_line)
        for entry in outline.definitions
        if entry.definition.kind in ("function", "method")
    ]
    assert len(found[python]) == 4
    assert found[go]
    assert found[none] == []
    assert run(symbols(code).function_lines(T2, P, [python])) == {python: []}


def test_files_are_found_by_name_and_by_words_of_their_path(code: Box) -> None:
    store = symbols(code)
    assert run(store.files_named(T1, P, "shapes.py", 5)) == ["/src/shapes.py"]
    assert run(store.files_named(T1, P, "Src/Shapes.py", 5)) == ["/src/shapes.py"]
    assert run(store.files_named(T1, P, "lib/shapes.py", 5)) == []
    matches = run(store.files_by_words(T1, P, query_terms("shapes in the docs"), 5))
    assert matches[0].path == "/docs/shapes.md"
    assert {match.path for match in matches} == {
        "/docs/shapes.md",
        "/lib/shapes.go",
        "/src/shapes.py",
    }


def test_the_chunk_at_a_line_is_found_by_its_search_key(code: Box) -> None:
    (place,) = run(symbols(code).chunks_at(T1, P, [(FilePath("/src/shapes.py"), 23)]))
    assert place.start_line <= 23 <= place.end_line
    chunks = run(code.files.service._chunks.chunks(T1, P, [place.key]))
    assert chunks[0].text == code.read("/src/shapes.py")[place.start : place.end]
    assert run(symbols(code).chunks_at(T1, P, [(FilePath("/src/shapes.py"), 9_999)])) == []


def test_symbols_follow_every_change_of_a_file(code: Box) -> None:
    code.write("/src/shapes.py", "def circumference():\n    return perimeter()\n")
    code.index()
    assert defined(code, "total_area") == []
    assert defined(code, "circumference") == [("/src/shapes.py", "circumference", 1)]
    assert used(code, "perimeter") == [("/src/shapes.py", (2,))]
    code.call("file_rename", path="/src/shapes.py", new_path="/src/circles.py")
    code.index()
    assert defined(code, "circumference") == [("/src/circles.py", "circumference", 1)]
    assert run(symbols(code).files_named(T1, P, "shapes.py", 5)) == []
    code.call("file_delete", path="/src", recursive=True)
    assert defined(code, "circumference") == []  # before its index is removed, too
    code.index()
    for table in ("definitions", "references", "imports", "path_words"):
        rows = code.rows(
            f"SELECT count(*) FROM mcp_file_{table} WHERE record_id NOT IN "
            "(SELECT id FROM mcp_file_index_records)"
        )
        assert rows == [(0,)]
    assert code.rows("SELECT file_path FROM mcp_file_index_records ORDER BY 1") == [
        ("/docs/shapes.md",),
        ("/lib/shapes.go",),
    ]


def test_a_tenant_never_sees_the_symbols_of_another(code: Box) -> None:
    code.write("/mine.py", "def total_area(): ...\n", project="p", tenant="t2")
    code.index()
    assert defined(code, "total_area", T2) == [("/mine.py", "total_area", 1)]
    assert [path for path, _, _ in defined(code, "total_area")] == ["/src/shapes.py"]
    assert used(code, "square", T2) == []
    assert run(symbols(code).outline(T2, P, FilePath("/src/shapes.py"))) is None
    assert run(symbols(code).files_named(T2, P, "shapes.py", 5)) == []
    assert run(symbols(code).files_by_words(T2, P, ["shape"], 5)) == []
    assert run(symbols(code).chunks_at(T2, P, [(FilePath("/src/shapes.py"), 1)])) == []


def test_symbols_move_and_go_with_their_tenant(code: Box) -> None:
    store: Any = code.files.service.store
    run(store.move_tenant(T1, T2))
    assert defined(code, "total_area") == []
    assert defined(code, "total_area", T2) == [("/src/shapes.py", "total_area", 9)]
    run(store.delete_tenant(T2))
    assert defined(code, "total_area", T2) == []
    assert code.rows("SELECT count(*) FROM mcp_file_definitions") == [(0,)]
    assert code.rows("SELECT count(*) FROM mcp_file_index_records") == [(0,)]


def test_hostile_names_are_stored_or_left_out_but_never_fail_a_job(box: Box) -> None:
    box.write("/marks.py", "def before():\n    return '\u2400\x01'\n\ndef aft\x02er():\n    pass\n")
    box.write("/long.py", f"def {'x' * 5_000}():\n    return {'y' * 5_000}()\n")
    box.write("/deep.js", "(" * 20_000 + "\n" + "{\n" * 5_000)
    box.write("/lines.py", "".join(f"name_{n} = call_{n}(name_{n})\n" for n in range(9_000)))
    box.index()
    state = box.call("file_index_status")
    assert (state["dead"], state["pending"], state["indexed_files"]) == (0, 0, 4)
    assert [entry[0] for entry in defined(box, "before")] == ["/marks.py"]
    counted = box.rows("SELECT count(*) FROM mcp_file_definitions GROUP BY record_id")
    assert max(counted) == (4_000,)


@pytest.mark.parametrize("column", ["chunker", "analysis"])
def test_an_index_of_an_older_version_is_made_again_and_searchable_meanwhile(
    code: Box, column: str
) -> None:
    before = {row[0] for row in code.rows("SELECT id FROM mcp_file_chunks")}
    code.change(f"UPDATE mcp_file_index_records SET {column} = 0")
    if column == "chunker":  # as the first version left it
        code.change(
            "UPDATE mcp_file_chunks SET symbol = '', kind = '', start_line = 0, end_line = 0"
        )
        code.change("DELETE FROM mcp_file_definitions")
    assert code.call("file_index_status")["outdated"] == 3
    assert "/src/shapes.py" in code.found("total area of shapes")
    assert not code.call("file_index_status")["up_to_date"]
    code.index()
    assert code.call("file_index_status")["outdated"] == 0
    assert code.call("file_index_status")["up_to_date"]
    assert defined(code, "total_area") == [("/src/shapes.py", "total_area", 9)]
    assert "/src/shapes.py" in code.found("total area of shapes")
    after = code.rows("SELECT id, start_line FROM mcp_file_chunks")
    assert {row[0] for row in after} == before  # the same text keeps its chunks, and its vectors
    assert all(row[1] > 0 for row in after)


def test_a_newer_index_is_left_alone(code: Box) -> None:
    code.change("UPDATE mcp_file_index_records SET chunker = 999, analysis = 999")
    assert code.call("file_index_status")["outdated"] == 0
    code.index()
    assert code.rows("SELECT min(chunker) FROM mcp_file_index_records") == [(999,)]


def test_files_that_lacked_a_grammar_are_outdated_once_it_is_installed(code: Box) -> None:
    code.change("UPDATE mcp_file_index_records SET grammar_missing = 1 WHERE language = 'python'")
    assert code.call("file_index_status")["missing_grammars"] == []
    assert code.call("file_index_status")["outdated"] == 1
    code.index()
    assert code.call("file_index_status")["outdated"] == 0


def test_the_tool_answers_where_a_name_is_defined_and_who_uses_it(code: Box) -> None:
    answer = code.call("file_symbols", name="Shape.area")
    first = answer["symbols"][0]
    assert (first["file_path"], first["line"], first["kind"]) == ("/src/shapes.py", 23, "method")
    text = code.read(
        "/src/shapes.py",
        offset=first["file_seek_start_bytes"],
        length=first["file_seek_end_bytes"] - first["file_seek_start_bytes"],
    )
    assert text.startswith("def area")
    assert {"file_path": "/src/shapes.py", "lines": [11], "calls": [11], "imports": []} in answer[
        "uses"
    ]
    assert code.call("file_symbols", name="Shape::Area")["symbols"][0]["line"] == 22
    assert code.call("file_symbols", name="area", uses=False)["uses"] == []
    assert code.call("file_symbols", name="area", limit=1)["has_more"] is True
    nothing = code.call("file_symbols", name="absent")
    assert (nothing["symbols"], nothing["uses"]) == ([], [])
    assert nothing["notes"] == ["no indexed file defines absent"]


def test_the_tool_gives_the_outline_of_a_file(code: Box) -> None:
    answer = code.call("file_symbols", path="/docs/shapes.md")
    assert [entry["qualified_name"] for entry in answer["symbols"]] == [
        "Shapes",
        "Shapes > Squares",
        "Shapes > Squares > Area",
        "Shapes > Circles",
    ]
    assert answer["language"] == "markdown"
    assert code.call("file_symbols", path="/lib/shapes.go")["imports"] == [
        {"target": "fmt", "line": 4},
        {"target": "math", "line": 5},
    ]
    assert code.code("file_symbols", path="/none.py") == "NOT_FOUND"
    assert code.code("file_symbols", path="/src/shapes.py", tenant="t2") == "NOT_FOUND"


@pytest.mark.parametrize(
    ("arguments", "code_name"),
    [
        ({}, "INVALID_QUERY"),
        ({"name": "a", "path": "/a"}, "INVALID_QUERY"),
        ({"name": "x" * 300}, "INVALID_QUERY"),
        ({"path": "no-slash"}, "INVALID_PATH"),
        ({"name": "a", "start_line": 3}, "INVALID_ARGUMENT"),
        ({"path": "/a", "start_line": 3, "end_line": 2}, "INVALID_ARGUMENT"),
        ({"path": "/a", "start_line": -3}, "INVALID_ARGUMENT"),
        ({"name": "a", "limit": 0}, "INVALID_ARGUMENT"),
    ],
)
def test_questions_outside_the_rules_are_refused(
    box: Box, arguments: dict[str, Any], code_name: str
) -> None:
    assert box.code("file_symbols", **arguments) == code_name


def test_neighbours_are_the_enclosing_definition_callees_and_callers(box: Box) -> None:
    helper = "def parse(text):\n    return text.split()\n"
    inner = "".join(f"    step_{n} = {n}\n" for n in range(40))
    main = f"from lib import parse\n\n\ndef load(path):\n{inner}    return parse(read(path))\n"
    user = "def main():\n    return load('a')\n"
    for path, text in (("/lib.py", helper), ("/load.py", main), ("/main.py", user)):
        box.write(path, text)
    box.index()
    answer = box.call("file_symbols", path="/load.py", start_line=40, end_line=45)
    around = {(entry["relation"], entry["qualified_name"]) for entry in answer["neighbours"]}
    assert around == {("enclosing", "load"), ("callee", "parse"), ("caller", "main")}
    for entry in answer["neighbours"]:
        start, end = entry["file_seek_start_bytes"], entry["file_seek_end_bytes"]
        text = box.read(entry["file_path"], offset=start, length=end - start)
        assert text == entry["content"]
        first, last = entry["start_line"], entry["end_line"]
        lines = box.read(entry["file_path"]).split("\n")[first - 1 : last]
        assert text.rstrip("\n") == "\n".join(lines)
    small = box.call("file_symbols", path="/load.py", start_line=40, max_characters=200)
    assert sum(len(entry["content"]) for entry in small["neighbours"]) <= 200
    assert small["neighbours"][0]["cut"] is True
    assert (
        box.call("file_symbols", path="/load.py", start_line=1, max_characters=0)["neighbours"]
        == []
    )


def test_definitions_of_tests_and_mocks_come_after_those_of_code(box: Box) -> None:
    source = "def open_lease():\n    return 1\n"
    for path in ("/mocks/lease.py", "/src/lease.py", "/tests/lease.py"):
        box.write(path, source)
    box.index()
    paths = [entry["file_path"] for entry in box.call("file_symbols", name="open_lease")["symbols"]]
    assert paths == ["/src/lease.py", "/mocks/lease.py", "/tests/lease.py"]
