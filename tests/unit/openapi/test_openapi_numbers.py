"""Number literals survive every tool that writes a document, in JSON and in YAML, also those
that a float cannot hold.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2]))

from commonplace.openapi.engine.document.load import parse_text
from commonplace.openapi.engine.yaml.emit import to_text
from oas_calls import Tools

LITERALS = [
    "18446744073709551616",
    "-9223372036854775809",
    "18446744073709551615",
    "9" * 400,
    "9" * 5000,
    "1e400",
    "-1e400",
    "1e-400",
    "1.10",
    "100.00",
    "0.1234567890123456789",
    "1E5",
    "1e16",
    "2.50e-3",
    "1.0",
    "0.5",
    "7",
]
JSON = (
    '{"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, '
    '"paths": {"/a/{b}": {"get": {"responses": {"200": {"description": "d"}}}}}, "x-n": [%s]}'
)
YAML = """openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /a/{b}:
    get:
      responses: {'200': {description: d}}
x-n:
%s
"""
SOURCES = {
    "json": JSON % ", ".join(LITERALS),
    "yaml": YAML % "\n".join(f"  - {literal} # why" for literal in LITERALS),
}


def numbers_of(text: str) -> list[str]:
    """The literals behind `x-n`, as they are written."""
    return re.findall(
        r"[-+0-9.eE]*[0-9][-+0-9.eE]*",
        re.sub(r"#.*", "", text.partition("x-n")[2].partition("x-end")[0]),
    )


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.parametrize("other", SOURCES)
def test_every_literal_is_written_as_it_was_read(form: str, other: Any) -> None:
    tree = parse_text(SOURCES[form])
    assert len(tree.data["x-n"]) == len(LITERALS)
    assert all(isinstance(value, (int, float)) for value in tree.data["x-n"])
    assert numbers_of(to_text(tree.data, other, tree.numbers)) == LITERALS


@pytest.mark.parametrize("form", SOURCES)
def test_the_tools_that_write_keep_every_literal(form: str) -> None:
    tools, spec = Tools(), {"content": SOURCES[form]}
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": "t", "version": "1"},
        "actions": [{"target": "$.info", "update": {"description": "d"}}],
    }
    second = {
        "content": '{"openapi": "3.0.3", "info": {"title": "s", "version": "1"}, "paths": {}, '
        '"x-end": 1}'
    }
    written = {
        "parse": tools.call("oas_parse", spec=spec, full=True, pointer="/x-n")["full_document"],
        "fix": tools.call("oas_fix", spec=spec, include_document=True)["document"],
        "convert up": tools.call("oas_convert", spec=spec, target="3.1")["document"],
        "convert down": tools.call("oas_convert", spec=spec, target="2.0")["document"],
        "join": tools.call("oas_join", specs=[spec, second])["document"],
        "overlay": tools.call(
            "oas_overlay_apply", spec=spec, overlay={"content": json.dumps(overlay)}
        )["document"],
    }
    for tool, text in written.items():
        found = numbers_of(text if tool != "parse" else f"x-n{text}")
        assert found[: len(LITERALS)] == LITERALS, (tool, text[-300:])


@pytest.mark.parametrize("form", SOURCES)
def test_literals_of_an_overlay_and_of_the_second_document_survive(form: str) -> None:
    tools = Tools()
    overlay = (
        '{"overlay": "1.0.0", "info": {"title": "t", "version": "1"}, "actions": '
        '[{"target": "$", "update": {"x-m": [1.10, 1e400]}}]}'
    )
    text = tools.call(
        "oas_overlay_apply", spec={"content": SOURCES[form]}, overlay={"content": overlay}
    )["document"]
    assert re.findall(r"[0-9.e]+", text.partition("x-m")[2])[:2] == ["1.10", "1e400"]
    second = (
        '{"openapi": "3.0.3", "info": {"title": "s", "version": "1"}, "paths": {}, '
        '"components": {"schemas": {"S": {"maximum": 1.50}}}}'
    )
    joined = tools.call("oas_join", specs=[{"content": SOURCES[form]}, {"content": second}])[
        "document"
    ]
    assert "1.50" in joined


def test_a_version_written_as_a_number_stays_as_it_is_written() -> None:
    source = "openapi: 3.0.3\ninfo:\n  title: t\n  version: 1.10\npaths: {}\n"
    made = Tools().call("oas_convert", spec={"content": source}, target="3.1")["document"]
    assert "version: 1.10\n" in made


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: |-\n  1.10\n", "1.10"),
        ("a: '1.10'\n", "1.10"),
        ("a: |-\n  b: 1.10\n", "b: 1.10"),
        ("a: x 1.10\n", "x 1.10"),
        ("a: 1.1.10\n", "1.1.10"),
        ("a: 2024-01-10\n", "2024-01-10"),
        ("a: 1.10, 2.20\n", "1.10, 2.20"),
        ('a: "[1.10, 2.20]"\n', "[1.10, 2.20]"),
    ],
)
def test_text_that_looks_like_a_number_stays_text(text: str, value: str) -> None:
    assert parse_text(text).data == {"a": value}


@pytest.mark.parametrize(
    "text",
    ["a: 1.10 # c\n", "a:\n  1.10\n", "{a: 1.10}\n", "a: &n 1.10\n", '{"a":1.10}', '{"a" : 1.10 }'],
)
def test_a_number_is_found_in_every_place(text: str) -> None:
    tree = parse_text(text)
    assert tree.data == {"a": 1.1}
    assert "1.10" in to_text(tree.data, "json", tree.numbers)


@settings(max_examples=300, deadline=None)
@given(
    st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)
)
def test_any_literal_survives(literal: str) -> None:
    for source in (f'{{"n": {literal}}}', f"n: {literal}\n"):
        tree = parse_text(source)
        for form in ("json", "yaml"):
            written = to_text(tree.data, form, tree.numbers)  # type: ignore[arg-type]
            again = parse_text(written)
            found = re.search(r"[-+0-9.eE]*[0-9][-+0-9.eE]*", written)
            assert found is not None
            assert found[0] == literal or float(found[0]) == float(literal), (source, written)
            assert again.data == tree.data


def test_not_a_number_is_still_refused() -> None:
    for text in ('{"a": NaN, "b": 1e400}', '{"a": Infinity}', '{"a": 1e400,}'):
        with pytest.raises(Exception, match="not JSON"):
            parse_text(text)
