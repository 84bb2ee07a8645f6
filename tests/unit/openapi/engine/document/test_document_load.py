"""Text into documents: both formats, every version, and everything hostile."""

from __future__ import annotations

import math
import re
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.load import find_duplicate_keys, load, parse_text
from commonplace.openapi.engine.yaml.emit import to_text
from commonplace.openapi.model import DocumentLimits, Family


def refused(text: str | bytes, **options: Any) -> CommonplaceError:
    with pytest.raises(CommonplaceError) as caught:
        load(text, **options)
    return caught.value


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
def test_other_versions_are_refused_by_name(text: str) -> None:
    error = refused(text)
    assert error.code.name == "UNSUPPORTED_VERSION"
    assert "3.2.x" in str(error.hint)


@pytest.mark.parametrize("text", ["", "# nothing", "[]", "just text", "42", "{}", "overlay: 1.0.0"])
def test_what_is_not_a_description_is_said_so(text: str) -> None:
    assert refused(text).code.name == "NOT_A_SPEC"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{\n  "openapi": "3.0.0",\n  "info": }', 3, 11),
        ("openapi: 3.0.0\ninfo:\n  title: [a, b\n", 3, 10),
        ("openapi: 3.0.0\ninfo:\n  a: b: c\n", 3, 7),
    ],
)
def test_syntax_errors_have_a_place(text: str, line: int, column: int) -> None:
    error = refused(text)
    assert error.code.name == "SPEC_SYNTAX"
    assert error.details["line"] == line
    assert abs(error.details["column"] - column) <= 1


def test_utf16_with_a_mark_is_read_and_other_bytes_are_refused() -> None:
    assert load("openapi: 3.0.0\ninfo: {title: é}".encode("utf-16")).data["info"] == {"title": "é"}
    assert refused(b"openapi: 3.0.0\n\xff\xfe\xfa").code.name == "SPEC_UNREADABLE"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig"])
def test_json_is_read_in_each_encoding_of_unicode(encoding: str) -> None:
    assert load('{"openapi": "3.0.0", "info": {"title": "é"}}'.encode(encoding)).data["info"] == {
        "title": "é"
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("openapi: 3.0.0\n---\nopenapi: 3.0.0\n", "several YAML documents"),
        ("%YAML 1.2\n---\nopenapi: 3.0.0\n---\n", "several YAML documents"),
        ("# list\n---\n- openapi: 3.0.0\n", "is a list"),
    ],
)
def test_several_documents_in_one_text_are_refused_by_name(text: str, told: str) -> None:
    assert told in refused(text).message


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
    begun = time.process_time()
    assert refused(text).code.name == code, name
    assert time.process_time() - begun < 1.0


def test_limits_of_size_and_nodes_hold() -> None:
    assert (
        refused("openapi: 3.0.0\n" * 10, limits=DocumentLimits(size_bytes=100)).code.name
        == "SPEC_TOO_LARGE"
    )
    assert (
        refused(
            orjson.dumps({"openapi": "3.0.0", "x": [1] * 200}), limits=DocumentLimits(nodes=100)
        ).code.name
        == "SPEC_TOO_LARGE"
    )


def test_plain_scalars_follow_yaml_1_2() -> None:
    text = (
        "openapi: 3.0.0\na: 1_000\nb: 0b11\nc: _1\nd: yes\ne: 0o17\nf: 012\ng: ~\nh: "
        "2020-01-01\ni: 1e3\n"
    )
    text += "j: |\n  keeps 1_000 as it is\nk: [1_0, 2]\n"
    data = load(text).data
    expected = {
        "a": "1_000",
        "b": "0b11",
        "c": "_1",
        "d": "yes",
        "e": 15,
        "f": 12,
        "g": None,
        "h": "2020-01-01",
        "i": 1000.0,
    }
    assert {key: data[key] for key in expected} == expected
    assert data["j"] == "keeps 1_000 as it is\n"
    assert data["k"] == ["1_0", 2]


def test_keys_are_strings_with_their_spelling() -> None:
    data = load("openapi: 3.0.0\n200: a\n3.10: b\ntrue: c\nnull: d\nmap: {404: x, 1.50: y}\n").data
    assert list(data) == ["openapi", "200", "3.10", "true", "null", "map"]
    assert data["map"] == {"404": "x", "1.50": "y"}


def test_lists_and_mappings_as_keys_are_refused() -> None:
    assert refused("openapi: 3.0.0\n? [a]\n: b").code.name == "SPEC_SYNTAX"


def test_a_quoted_merge_key_is_a_key_like_any_other() -> None:
    assert parse_text("a: {'<<': {b: 1}}\nc: {\"<<\": {d: 1}, <<: {e: 2}}\n").data == {
        "a": {"<<": {"b": 1}},
        "c": {"<<": {"d": 1}, "e": 2},
    }
    assert parse_text('text: |\n  <<: {a: 1}\nwords: "see <<: there"\n').data == {
        "text": "<<: {a: 1}\n",
        "words": "see <<: there",
    }
    assert parse_text("a:\n  ? <<\n  : {b: 1}\n").data == {"a": {"b": 1}}


def test_merge_keys_are_expanded_and_own_keys_win() -> None:
    data = load(
        "openapi: 3.0.0\nx: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz: {<<: [*x, *y], a: 0}\n"
    ).data
    assert data["z"] == {"a": 0, "b": 2, "c": 4}


def test_values_beyond_json_become_json() -> None:
    data = load(
        "openapi: 3.0.0\na: .inf\nb: 123456789012345678901234567890\nc: !!set {x, y}\n"
    ).data
    assert data["a"] == "inf"
    assert data["b"] == pytest.approx(1.2345678901234568e29)
    assert data["c"] == ["x", "y"]
    assert orjson.dumps(data)


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


def test_strings_that_look_like_keys_are_no_duplicates() -> None:
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
def test_json_and_its_yaml_form_are_one_document(data: Path) -> None:
    for name in ("uber-2.0.json", "discord.json"):
        text = (data / "openapi" / "dev" / name).read_text()
        value = orjson.loads(text)
        dumped = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
        assert load(dumped).data == value == load(text).data


def test_keys_that_are_lists_inside_keys_are_a_syntax_error() -> None:
    with pytest.raises(CommonplaceError) as raised:
        load("? :   \t- ")
    assert raised.value.code.name == "SPEC_SYNTAX"


@pytest.mark.parametrize("text", ["x-a: {number}", "x-a: [-{number}]", "? {number}\n: a"])
def test_integers_of_thousands_of_digits_are_kept(text: str) -> None:
    head = 'openapi: 3.0.3\ninfo: {title: a, version: "1"}\npaths: {}\n'
    found = load(head + text.replace("{number}", "9" * 5000))
    assert "9" * 5000 in to_text(found.data, "yaml", found.numbers)
