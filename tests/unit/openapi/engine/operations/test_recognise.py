"""API descriptions are recognised by their content."""

from __future__ import annotations

import pytest

from commonplace.openapi.engine.operations.recognise import may_be_description
from measuring import runs_within


@pytest.mark.parametrize(
    "source",
    [
        b"openapi: 3.1.0\npaths: {}\n",
        b"\xef\xbb\xbf# a comment\n%YAML 1.2\n---\n\nswagger: '2.0'\n",
        b'"openapi": "3.0.0"\n',
        b"components: {}\ninfo:\n  title: x\nopenapi: 3.2.0\n",
        b'{"openapi":"3.0.0"}',
        b'\n\n  {\n  "info": {},\n  "swagger" : "2.0"\n}',
        b"{openapi: 3.1.0, paths: {}}",
        b"openapi:\n  3.1.0\n",
    ],
)
def test_descriptions_in_json_and_yaml_are_recognised(source: bytes) -> None:
    assert may_be_description(source)


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"openapi",
        b"# Title\n\nSome prose, then\n\nopenapi: 3.1.0\n",
        b"import yaml\n\nSPEC = '''\nopenapi: 3.1.0\n'''\n",
        b"key: value\nnested:\n  openapi: 3.1.0\n",
        b'{"text": "openapi: 3.1.0"}',
        b"[1, 2]",
        b"openapi: 4.0.0\n",
        b"asyncapi: 3.0.0\n",
        b"\x00\x01openapi: 3.1.0",
    ],
)
def test_other_texts_are_not(source: bytes) -> None:
    assert not may_be_description(source)


@pytest.mark.parametrize(
    "source",
    [
        b"a: 1\n" + b"{," * 3_000_000,
        b"a: 1\n" + b", " * 3_000_000,
        b"a: 1\n" + b" \n" * 3_000_000,
        b"a:" + b" " * 5_000_000,
        b"#" * 5_000_000,
        b"# x\n" * 1_000_000,
        b"x" * 5_000_000,
        b"a: 1\nopenapi" + b"\n" * 5_000_000,
    ],
    ids=lambda source: source[:12].decode(),
)
def test_recognising_is_linear_on_hostile_texts(source: bytes) -> None:
    assert not may_be_description(source)
    assert runs_within(2.0, lambda: may_be_description(source))
