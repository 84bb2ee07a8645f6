"""`commonplace oas validate|parse|walk|diff`: formats, exit codes and messages."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commonplace.openapi.engine.validate.rules import RULES
from oas_calls import minimal, operation

BROKEN = """openapi: 3.0.0
info: {title: A, version: '1'}
paths:
  /a/{id}:
    get:
      responses: {'200': {description: ok}}
"""


def pets(**parts: Any) -> dict[str, Any]:
    listing = operation(
        operationId="list",
        tags=["pets"],
        parameters=[{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
    )
    return minimal(
        paths={"/pets": {"get": listing, "post": operation(operationId="add", tags=["pets"])}},
        tags=[{"name": "pets"}],
        **parts,
    )


# validate


def test_a_valid_document_is_reported_on_stderr_with_exit_code_0(shell: Any) -> None:
    printed = shell.oas("validate", shell.write("a.json", pets()))
    assert printed.out == ""
    assert "a.json: valid OpenAPI 3.0.3, 0 errors, 0 warnings" in printed.err


def test_findings_are_a_table_with_line_rule_place_and_remedy(shell: Any) -> None:
    printed = shell.oas("validate", shell.write("a.yaml", BROKEN), expect=1)
    row = printed.out.splitlines()[1].split()
    assert row[:3] == ["error", "5", "path-parameter-missing"]
    assert "/paths/~1a~1{id}/get" in printed.out
    assert "commonplace oas fix does it" in " ".join(printed.out.split())
    assert "not valid OpenAPI 3.0.0, 1 errors, 1 warnings" in printed.err


def test_json_is_the_answer_of_the_tool(shell: Any) -> None:
    file = shell.write("a.yaml", BROKEN)
    for flags in (("--json",), ("--format", "json")):
        answer = shell.oas("validate", file, *flags, expect=1).json
        assert (answer["valid"], answer["error_count"], answer["errors"][0]["rule"]) == (
            False,
            1,
            "path-parameter-missing",
        )


def test_sarif_names_each_rule_once_and_each_place(shell: Any) -> None:
    log = shell.oas("validate", shell.write("a.yaml", BROKEN), "--format", "sarif", expect=1).json
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["operation-undescribed", "path-parameter-missing"]
    assert (
        run["tool"]["driver"]["rules"][1]["shortDescription"]["text"]
        == RULES["path-parameter-missing"].meaning
    )
    first = run["results"][0]
    assert (first["ruleId"], first["level"], rules[first["ruleIndex"]]) == (
        "path-parameter-missing",
        "error",
        "path-parameter-missing",
    )
    place = first["locations"][0]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "a.yaml"},
        "region": {"startLine": 5},
    }
    assert place["logicalLocations"] == [{"fullyQualifiedName": "/paths/~1a~1{id}/get"}]


def test_markdown_is_a_table_for_a_pull_request(shell: Any) -> None:
    lines = shell.oas(
        "validate", shell.write("a.yaml", BROKEN), "-f", "markdown", expect=1
    ).out.splitlines()
    assert lines[0] == "### `a.yaml` is **not valid** OpenAPI 3.0.0"
    assert lines[4] == "| | line | problem | where | rule |"
    assert all(line.count("|") == 6 for line in lines[4:])


def test_rules_are_ignored_by_flag_and_by_file(shell: Any) -> None:
    file = shell.write("a.yaml", BROKEN)
    shell.oas("validate", file, "--ignore", "path-parameter-missing")
    shell.write("ignored.txt", "# known\npath-parameter-missing:/paths/*\n\n")
    printed = shell.oas(
        "validate", file, "--ignore-file", "ignored.txt", "--no-warnings", "--json"
    ).json
    assert (printed["valid"], printed["warnings"]) == (True, [])
    assert (
        "cannot be read"
        in shell.oas("validate", file, "--ignore-file", "missing.txt", expect=2).err
    )


def test_strict_asks_for_more(shell: Any) -> None:
    file = shell.write("a.json", minimal(paths={"/a": {"get": operation()}}))
    assert shell.oas("validate", file, "--json").json["warning_count"] == 0
    assert "operation-id-missing" in {
        warning["rule"]
        for warning in shell.oas("validate", file, "--strict", "--json").json["warnings"]
    }


# parse


def test_parse_shows_fields_and_the_whole_document(shell: Any) -> None:
    file = shell.write("a.json", pets(servers=[{"url": "https://a.example"}]))
    rows = dict(line.split(maxsplit=1) for line in shell.oas("parse", file).out.splitlines()[1:])
    assert {
        name: rows[name].strip() for name in ("title", "operation_count", "servers", "tags")
    } == {
        "title": "Test",
        "operation_count": "2",
        "servers": "https://a.example",
        "tags": "pets",
    }
    assert shell.oas("parse", file, "--json").json["path_count"] == 1
    assert shell.oas("parse", file, "--full").out == shell.read("a.json")
    assert shell.oas("parse", file, "--full", "--pointer", "/info").json == {
        "title": "Test",
        "version": "1",
    }


def test_a_document_larger_than_an_answer_is_printed_whole(shell: Any) -> None:
    """A pipe is not the context of a model."""
    large = minimal(
        components={
            "schemas": {
                f"S{number}": {"type": "string", "description": "d" * 500} for number in range(3000)
            }
        }
    )
    file = shell.write("large.json", large)
    assert shell.oas("parse", file, "--full").json == large
    assert len(shell.oas("convert", file, "--target", "3.1").json["components"]["schemas"]) == 3000


def test_a_document_may_come_from_standard_input(shell: Any) -> None:
    assert shell.oas("parse", "-", "--json", stdin=BROKEN).json["title"] == "A"
    assert "the root is an object" not in shell.oas("parse", "-", stdin="", expect=2).out


# walk


def test_walk_lists_filters_groups_and_pages(shell: Any) -> None:
    file = shell.write("a.json", pets())
    printed = shell.oas("walk", "operations", file, "-w", "method=post")
    assert printed.out.splitlines()[0].split() == [
        "method",
        "path",
        "operation_id",
        "summary",
        "tags",
    ]
    assert printed.out.splitlines()[1].split() == ["POST", "/pets", "add", "does", "it", "pets"]
    assert "1 of 1 shown, 2 in all" in printed.err
    assert shell.oas("walk", "operations", file, "-g", "method", "--json").json["groups"] == [
        {"key": "GET", "count": 1},
        {"key": "POST", "count": 1},
    ]
    paged = shell.oas("walk", "operations", file, "--limit", "1", "--offset", "1", "--json").json
    assert [row["operation_id"] for row in paged["summaries"]] == ["add"]
    assert (
        shell.oas("walk", "parameters", file, "--detail").json["parameters"][0]["parameter"]["in"]
        == "query"
    )
    assert shell.oas("walk", "operations", file, "-w", "deprecated=true").out == ""


@pytest.mark.parametrize(
    "kind",
    ["operations", "schemas", "parameters", "responses", "headers", "security", "paths", "refs"],
)
def test_every_kind_can_be_walked(shell: Any, kind: str) -> None:
    schemas = {"A": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/A"}}}}
    parts = {
        "schemas": schemas,
        "headers": {"H": {"schema": {}}},
        "securitySchemes": {"k": {"type": "http", "scheme": "basic"}},
    }
    printed = shell.oas("walk", kind, shell.write("a.json", pets(components=parts)))
    assert len(printed.out.splitlines()) >= 2


# diff


def test_diff_lists_breaking_changes_with_exit_code_1(shell: Any) -> None:
    base = shell.write("base.json", pets())
    changed = pets()
    del changed["paths"]["/pets"]["post"]
    revision = shell.write("revision.json", changed)
    printed = shell.oas("diff", base, revision, expect=1)
    assert printed.out.splitlines()[1].split()[:2] == ["critical", "operation-removed"]
    assert "1 breaking" in printed.err
    shell.oas("diff", revision, base)
    shell.oas("diff", base, base, "--fail-on", "warning")
    shell.oas("diff", base, revision, "--fail-on", "never")
    assert shell.oas("diff", base, revision, "--json", expect=1).json["breaking_count"] == 1
    (run,) = shell.oas("diff", base, revision, "-f", "sarif", expect=1).json["runs"]
    assert [result["level"] for result in run["results"]] == ["error"]
    markdown = shell.oas("diff", base, revision, "-f", "markdown", expect=1).out.splitlines()
    assert markdown[0] == "### API changes: `base.json` → `revision.json`"
    assert markdown[6].startswith("| **critical** |")


def test_diff_can_hide_harmless_changes(shell: Any) -> None:
    base, more = shell.write("base.json", minimal()), shell.write("more.json", pets())
    assert shell.oas("diff", base, more, "--json").json["total_changes"] > 0
    for flag in ("--breaking-only", "--no-info"):
        assert shell.oas("diff", base, more, flag, "--json").json["changes"] == []


# bad input


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("validate", "nowhere.yaml"), 3, "There is no file 'nowhere.yaml'"),
        (("validate", "broken.json"), 2, "line 1, column"),
        (("parse", "broken.yaml"), 2, "line 2"),
        (("parse", "list.json"), 2, "is a list, not an object"),
        (("parse", "folder"), 2, "is a folder"),
        (("parse", "new.json"), 2, "3.3.0"),
        (("parse", "bytes.bin"), 2, "UTF-8"),
        (("walk", "operations", "good.json", "-w", "method"), 2, "is not field=value"),
        (("walk", "operations", "good.json", "-w", "colour=red"), 2, "colour"),
        (("walk", "operations", "good.json", "-g", "colour"), 2, "group_by"),
        (("walk", "fruits", "good.json"), 2, "fruits"),
        (("diff", "good.json", "nowhere.yaml"), 3, "nowhere.yaml"),
        (("validate", "http://169.254.1.1/a.yaml"), 4, "169.254.1.1"),
        (("validate",), 2, "source"),
    ],
)
def test_bad_input_prints_a_message_and_sets_the_exit_code(
    shell: Any, arguments: tuple[str, ...], code: int, said: str
) -> None:
    shell.write("good.json", pets())
    shell.write("broken.json", '{"openapi": "3.0.0", "info": ')
    shell.write("broken.yaml", "openapi: 3.0.0\ninfo: [\n")
    shell.write("list.json", "[1]")
    shell.write("new.json", minimal("3.3.0"))
    (shell.folder / "bytes.bin").write_bytes(b"openapi: \xff\xfe\xfa")
    (shell.folder / "folder").mkdir()
    printed = shell.oas(*arguments, expect=code)
    assert printed.out == ""
    assert said in printed.err


def test_a_terminal_shows_a_spinner(shell: Any) -> None:
    """A spinner on stderr while a document is read; what is printed stays clean."""
    file = shell.write("a.json", pets())
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("commonplace")), "oas", "parse", file, "--json"]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=shell.folder,
        env={**os.environ, "TERM": "xterm"},
        timeout=60,
        check=True,
    )
    os.close(theirs)
    assert "parse ..." in os.read(ours, 65536).decode()
    os.close(ours)
    assert done.stdout.startswith(b"{")
