"""Loading of documents: both formats, every version, hostile input."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from commonplace.openapi.engine.document.load import find_duplicate_keys, load, parse_text
from commonplace.openapi.model import DocumentLimits, Family
from measuring import runs_within
from oas_calls import load_error


@pytest.mark.parametrize(
    ("text", "version", "family", "kind"),
    [
        ('{"swagger": "2.0"}', "2.0", Family.V20, "json"),
        ("swagger: 2.0", "2.0", Family.V20, "yaml"),
        ("openapi: 3.0.3", "3.0.3", Family.V30, "yaml"),
        ("openapi: '3.1.0'", "3.1.0", Family.V31, "yaml"),
        ('{openapi: "3.2.0", info: {}}', "3.2.0", Family.V32, "yaml"),
        ("openapi: 3.0.9-rc1", "3.0.9-rc1", Family.V30, "yaml"),
        ('\ufeff  {"openapi": "3.1.1"}', "3.1.1", Family.V31, "json"),
    ],
)
def test_format_and_version_are_recognised_by_content(
    text: str, version: str, family: Family, kind: str
) -> None:
    document = load(text)
    assert (document.version, document.family, document.format) == (version, family, kind)


@pytest.mark.parametrize(
    "text",
    [
        "openapi: 3.3.0",
        "openapi: 4.0.0",
        "swagger: '1.2'",
        "openapi: 2.0",
        "swagger: 3.0.0",
        "openapi: true",
        "openapi: []",
    ],
)
def test_unsupported_versions_are_named_in_the_error(text: str) -> None:
    error = load_error(text)
    assert error.code.name == "UNSUPPORTED_VERSION"
    assert "3.2.x" in str(error.hint)


@pytest.mark.parametrize("text", ["", "# nothing", "[]", "just text", "42", "{}", "overlay: 1.0.0"])
def test_other_documents_are_not_a_spec(text: str) -> None:
    assert load_error(text).code.name == "NOT_A_SPEC"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{\n  "openapi": "3.0.0",\n  "info": }', 3, 11),
        ("openapi: 3.0.0\ninfo:\n  title: [a, b\n", 3, 10),
        ("openapi: 3.0.0\ninfo:\n  a: b: c\n", 3, 7),
    ],
)
def test_syntax_errors_have_line_and_column(text: str, line: int, column: int) -> None:
    error = load_error(text)
    assert error.code.name == "SPEC_SYNTAX"
    assert error.details["line"] == line
    assert abs(error.details["column"] - column) <= 1


def test_utf16_with_a_mark_is_read_and_other_bytes_are_refused() -> None:
    assert load("openapi: 3.0.0\ninfo: {title: é}".encode("utf-16")).data["info"] == {"title": "é"}
    assert load_error(b"openapi: 3.0.0\n\xff\xfe\xfa").code.name == "SPEC_UNREADABLE"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig"])
def test_json_is_read_in_each_encoding_of_unicode(encoding: str) -> None:
    assert load('{"openapi": "3.0.0", "info": {"title": "é"}}'.encode(encoding)).data["info"] == {
        "title": "é"
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("openapi: 3.0.0\n---\nopenapi: 3.0.0\n", "several YAML documents"),
        ("%YAML 1.2\n---\nopenapi: 3.0.0\n---\n", "several YAML documents"),
        ("# list\n---\n- openapi: 3.0.0\n", "is a list"),
    ],
)
def test_several_documents_in_one_text_are_refused(text: str, expected: str) -> None:
    assert expected in load_error(text).message


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("nested sequences", "- " * 14000 + "x", "SPEC_TOO_DEEP"),
        ("nested keys", "? " * 20000 + "x", "SPEC_TOO_DEEP"),
        ("mixed compact nesting", "- ? " * 20000 + "x", "SPEC_TOO_DEEP"),
        ("nested colons", ": " * 20000 + "x", "SPEC_TOO_DEEP"),
        ("brackets, JSON", "[" * 200_000, "SPEC_TOO_DEEP"),
        ("objects, JSON", '{"a":' * 200_000, "SPEC_TOO_DEEP"),
        ("closed brackets", "[" * 200_000 + "]" * 200_000, "SPEC_TOO_DEEP"),
        ("deep but parseable JSON", '{"a":' * 600 + "1" + "}" * 600, "SPEC_TOO_DEEP"),
        ("deep indentation", "\n".join(" " * i + "a:" for i in range(900)), "SPEC_TOO_DEEP"),
        (
            "deep indentation with carriage returns",
            "\r".join(" " * i + "-" for i in range(3000)),
            "SPEC_TOO_DEEP",
        ),
        (
            "alias bomb",
            "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)),
            "SPEC_TOO_LARGE",
        ),
        (
            "merge bomb",
            "a0: &a0 {"
            + ",".join(f"k{i}: 1" for i in range(1000))
            + "}\n"
            + "".join(f"b{i}: {{<<: *a0}}\n" for i in range(2000)),
            "SPEC_TOO_LARGE",
        ),
    ],
)
def test_hostile_documents_get_a_typed_answer_within_a_second(
    name: str, text: str, code: str
) -> None:
    assert load_error(text).code.name == code, name
    assert runs_within(1.0, lambda: load_error(text))


def test_limits_of_size_and_nodes_are_enforced() -> None:
    assert (
        load_error("openapi: 3.0.0\n" * 10, limits=DocumentLimits(size_bytes=100)).code.name
        == "SPEC_TOO_LARGE"
    )
    assert (
        load_error(
            orjson.dumps({"openapi": "3.0.0", "x": [1] * 200}), limits=DocumentLimits(nodes=100)
        ).code.name
        == "SPEC_TOO_LARGE"
    )


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("openapi: 3.0.0\ninfo:\n  title: a\n  title: b\n", "title", 4),
        ("openapi: 3.0.0\npaths:\n  /a: {get: 1, get: 2}\n", "get", 3),
        ('{"openapi": "3.0.0", "x": {"a": 1, "a": 2}}', "a", None),
    ],
)
def test_duplicate_keys_are_reported_and_the_last_one_wins(
    text: str, key: str, line: int | None
) -> None:
    document = load(text)
    assert [(duplicate.key, duplicate.line) for duplicate in find_duplicate_keys(document)] == [
        (key, line)
    ]


def test_strings_that_look_like_keys_are_not_duplicates() -> None:
    assert (
        find_duplicate_keys(load('{"openapi": "3.0.0", "a": ":b", "c": "x\\": y", "d\\\\": ": 1"}'))
        == ()
    )


class CoreLoader(yaml.CSafeLoader):
    """The slow reference: PyYAML with the resolvers of the YAML 1.2 core schema and string keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}


CoreLoader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    CoreLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first)
    )
CoreLoader.add_constructor(
    "tag:yaml.org,2002:int",
    lambda loader, node: int(node.value, 0) if node.value[:2] in ("0o", "0x") else int(node.value),
)
CoreLoader.add_constructor(
    "tag:yaml.org,2002:float",
    lambda loader, node: float(node.value.replace(".inf", "inf").replace(".nan", "nan")),
)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return first == second or (math.isnan(first) and math.isnan(second))
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    return type(first) is type(second) and bool(first == second)


@pytest.mark.oracle
def test_the_fast_loader_agrees_with_a_slow_one_on_the_corpus(data: Path, soak: bool) -> None:
    checked = 0
    for path in sorted((data / "openapi").rglob("*.yaml")):
        text = path.read_text()
        if len(text) > 600_000 and not soak:
            continue
        assert _same(parse_text(text).data, yaml.load(text, Loader=CoreLoader)), path.name
        checked += 1
    assert checked > 150


@pytest.mark.oracle
def test_json_and_yaml_give_the_same_document(data: Path) -> None:
    for name in ("uber-2.0.json", "discord.json"):
        text = (data / "openapi" / "dev" / name).read_text()
        value = orjson.loads(text)
        dumped = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
        assert load(dumped).data == value == load(text).data
