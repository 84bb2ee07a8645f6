"""Answers that say what was not checked, not counted, not repaired or not written."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from commonplace.openapi.model import DocumentLimits
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.documents import DocumentStore
from oas_calls import Tools, content, minimal, operation

SPEC = minimal("3.1.0", paths={"/a": {"get": operation()}})


def test_references_that_were_not_followed_are_told_without_warnings_too() -> None:
    schema = {"$ref": "https://example.invalid/other.yaml#/S"}
    spec = minimal(components={"schemas": {"S": schema}})
    answer = Tools().call("oas_validate", spec=content(spec), no_warnings=True)
    assert (answer["valid"], answer["warnings"], answer["unchecked_count"]) == (True, [], 1)
    assert "not checked" in answer["note"]
    assert "note" not in Tools().call("oas_validate", spec=content(SPEC), no_warnings=True)


def test_parse_and_walk_count_operations_alike(data: Path) -> None:
    tools = Tools()
    hooks = {
        "made": {
            "post": operation(callbacks={"done": {"{$request.body#/u}": {"post": operation()}}})
        }
    }
    called = {
        "/a": {
            "get": operation(callbacks={"c": {"{$url}": {"post": operation(), "put": operation()}}})
        }
    }
    specs = [content(minimal("3.1.0", paths=called, webhooks=hooks))]
    specs += [
        {"file": str(path)}
        for path in sorted(data.glob("openapi/dev/*"))
        if path.stat().st_size < 3_000_000
    ]
    for spec in specs:
        parsed, walked = (
            tools.call("oas_parse", spec=spec),
            tools.call("oas_walk_operations", spec=spec, limit=1),
        )
        beside = walked.get("webhook_operations", 0) + walked.get("callback_operations", 0)
        assert parsed["operation_count"] == walked["total"] - beside, spec
    first = tools.call("oas_walk_operations", spec=specs[0])
    assert (first["total"], first["webhook_operations"], first["callback_operations"]) == (5, 1, 3)
    assert tools.call("oas_parse", spec=specs[0])["webhook_count"] == 1


def test_a_conversion_to_the_same_version_reports_what_is_broken() -> None:
    broken = {"openapi": "3.0.3", "info": {"title": "t"}, "paths": {"/a": {"get": {}}}}
    answer = Tools().call("oas_convert", spec=content(broken), target="3.0")
    assert not answer["success"]
    assert answer["critical_count"] >= 2
    assert Tools().call("oas_convert", spec=content(SPEC), target="3.1")["success"]


def test_security_schemes_are_grouped_by_type_and_other_values_are_refused_by_name() -> None:
    schemes = {"a": {"type": "http", "scheme": "basic"}, "b": {"type": "http", "scheme": "bearer"}}
    spec = content(minimal(components={"securitySchemes": schemes}))
    assert Tools().call("oas_walk_security", spec=spec, group_by="type")["groups"] == [
        {"key": "http", "count": 2}
    ]
    assert "'type'" in Tools().error("oas_walk_security", spec=spec, group_by="name").message


@pytest.mark.parametrize("tool", ["fix", "convert", "join", "overlay_apply"])
def test_an_output_that_is_no_description_is_not_overwritten(tool: str, tmp_path: Path) -> None:
    tools = Tools(OpenApiService(DocumentStore(Access(working_folder=tmp_path))))
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": "t", "version": "1"},
        "actions": [{"target": "$.info", "update": {"x": 1}}],
    }
    more: dict[str, Any] = {
        "fix": {"spec": content(SPEC)},
        "convert": {"spec": content(SPEC), "target": "3.0"},
        "join": {
            "specs": [content(SPEC), content(minimal("3.1.0", paths={"/b": {"get": operation()}}))]
        },
        "overlay_apply": {"spec": content(SPEC), "overlay": content(overlay)},
    }[tool]
    notes = tmp_path / "notes.md"
    for text in (
        "# Notes\n\nWe like openapi: 3.0.0\n",
        "a: 1\n",
        "[1, 2]",
        '{"name": "openapi"}',
        "key: [broken",
    ):
        notes.write_text(text)
        assert tools.error(f"oas_{tool}", **more, output="notes.md").code.name == "FOREIGN_FILE"
        assert notes.read_text() == text
    for text in (
        "",
        "# only a comment\n",
        orjson.dumps(SPEC).decode(),
        "openapi: 3.0.0\n",
        "# c\nopenapi: 3.0.0\ninfo: [broken\n",
    ):
        notes.write_text(text)
        assert tools.call(f"oas_{tool}", **more, output="notes.md")["written_to"]
    notes.write_text("# Notes\n")
    assert tools.call(f"oas_{tool}", **more, output="notes.md", overwrite=True)["written_to"]


BODY = orjson.dumps(SPEC)
BOMB = gzip.compress(b" " * 50_000_000)
ANSWERS = {
    "/gzip": ("gzip", gzip.compress(BODY)),
    "/members": ("gzip", gzip.compress(BODY[:20]) + gzip.compress(BODY[20:])),
    "/x-gzip": ("x-gzip", gzip.compress(BODY)),
    "/zlib": ("deflate", zlib.compress(BODY)),
    "/bare": ("deflate", zlib.compress(BODY, wbits=-15)),
    "/twice": ("deflate, gzip", gzip.compress(zlib.compress(BODY))),
    "/identity": ("identity", BODY),
    "/cut": ("gzip", gzip.compress(BODY)[:-20]),
    "/false": ("gzip", BODY),
    "/br": ("br", BODY),
    "/bomb": ("gzip", BOMB),
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            encoding, body = ANSWERS[self.path]
            self.send_response(200)
            self.send_header("Content-Encoding", encoding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{made.server_address[1]}"
    made.shutdown()
    made.server_close()


@pytest.mark.parametrize(
    "path", ["/gzip", "/members", "/x-gzip", "/zlib", "/bare", "/twice", "/identity"]
)
def test_encoded_responses_are_decoded(path: str, server: str) -> None:
    assert Tools().call("oas_parse", spec={"url": server + path})["operation_count"] == 1


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/cut", "FETCH_FAILED", "broken"),
        ("/false", "FETCH_FAILED", "broken"),
        ("/br", "FETCH_FAILED", "'br' is not supported"),
        ("/bomb", "SPEC_TOO_LARGE", "larger than 1000000 bytes"),
    ],
)
def test_encodings_that_are_broken_unknown_or_too_large_are_refused(
    path: str, code: str, words: str, server: str
) -> None:
    error = Tools(OpenApiService(DocumentStore(limits=DocumentLimits(size_bytes=1_000_000)))).error(
        "oas_parse", spec={"url": server + path}
    )
    assert error.code.name == code
    assert words in error.message
