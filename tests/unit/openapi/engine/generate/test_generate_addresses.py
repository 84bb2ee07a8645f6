"""Generated clients send each operation to its own server and path, also where a path key has a
query or a fragment.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from go_toolchain import check_go, environment, go, write_module

from commonplace.openapi.engine.generate.path_keys import read_path_key
from commonplace.openapi.engine.generate.run import Generated, generate
from commonplace.openapi.model import Family


class Recorder:
    """A real HTTP server that remembers the targets it was asked for."""

    def __init__(self) -> None:
        targets: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                targets.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self.targets = targets
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def hosts() -> Iterator[tuple[Recorder, Recorder]]:
    pair = (Recorder(), Recorder())
    yield pair
    for host in pair:
        host.server.shutdown()
        host.server.server_close()


def operation(name: str, *parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "get": {
            "operationId": name,
            "parameters": list(parameters),
            "responses": {"204": {"description": "ok"}},
            **more,
        }
    }


def query(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "string"}}


def document(main: str, other: str) -> dict[str, Any]:
    variables = {"stage": {"default": "beta"}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Addresses", "version": "1"},
        "servers": [{"url": f"{main}/v1"}],
        "paths": {
            "/plain": operation("plain"),
            "/upload": operation(
                "upload", servers=[{"url": f"{other}/{{stage}}/", "variables": variables}]
            ),
            "/item": {**operation("item"), "servers": [{"url": f"{other}/path"}]},
            "/relative": operation("relative", servers=[{"url": "/v2"}]),
            "/search?kind=book": operation("searchBooks", query("page")),
            "/search?kind=film": operation("searchFilms", query("page"), query("kind")),
            "/find?text={q}": operation(
                "find", {"name": "q", "in": "path", "required": True, "schema": {"type": "string"}}
            ),
            "/things#Action=List": operation("listThings", query("page")),
            "/pages{?size}": operation("pages"),
        },
    }


CALLS = {
    "plain": {},
    "upload": {},
    "item": {},
    "relative": {},
    "search_books": {"page": "2"},
    "search_films": {"kind": "series"},
    "find": {"text": "a b"},
    "list_things": {"page": "3"},
    "pages": {"size": "9"},
}
OWN = (
    [
        "/v1/plain",
        "/v2/relative",
        "/v1/search?kind=book&page=2",
        "/v1/search?kind=series",
        "/v1/find?text=a+b",
        "/v1/things?page=3",
        "/v1/pages?size=9",
    ],
    ["/beta/upload", "/path/item"],
)
PROXIED = [*OWN[0][:1], "/v1/upload", "/v1/item", *OWN[0][1:]]
PYTHON = """
import json, sys
from client import Client
client = Client(*sys.argv[2:])
for name, arguments in json.loads(sys.argv[1]).items():
    getattr(client, name)(**arguments)
"""
GO = """package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"

	"example.com/generated/api"
)

func text(value string) *string { return &value }

func must[T any](_ T, err error) {
	if err != nil {
		panic(err)
	}
}

type catalogue struct{ api.UnimplementedServer }

func (catalogue) SearchBooks(
	context.Context, api.SearchBooksRequest,
) (*api.SearchBooksResponse, error) {
	fmt.Println("books")
	return &api.SearchBooksResponse{}, nil
}

func (catalogue) SearchFilms(
	context.Context, api.SearchFilmsRequest,
) (*api.SearchFilmsResponse, error) {
	fmt.Println("films")
	return &api.SearchFilmsResponse{}, nil
}

func serve() {
	listener := httptest.NewServer(api.NewHandler(catalogue{}))
	defer listener.Close()
	client, err := api.NewClient(listener.URL)
	if err != nil {
		panic(err)
	}
	must(client.SearchFilms(context.Background(), api.SearchFilmsRequest{}))
	must(client.SearchBooks(context.Background(), api.SearchBooksRequest{}))
	_, err = client.SearchFilms(context.Background(), api.SearchFilmsRequest{Kind: text("series")})
	fmt.Println(err.(*api.APIError).StatusCode)
}

func main() {
	if os.Args[1] == "serve" {
		serve()
		return
	}
	client, err := api.NewClient(os.Args[1])
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	must(client.Plain(ctx, api.PlainRequest{}))
	must(client.Upload(ctx, api.UploadRequest{}))
	must(client.Item(ctx, api.ItemRequest{}))
	must(client.Relative(ctx, api.RelativeRequest{}))
	must(client.SearchBooks(ctx, api.SearchBooksRequest{Page: text("2")}))
	must(client.SearchFilms(ctx, api.SearchFilmsRequest{Kind: text("series")}))
	must(client.Find(ctx, api.FindRequest{Text: "a b"}))
	must(client.ListThings(ctx, api.ListThingsRequest{Page: text("3")}))
	must(client.Pages(ctx, api.PagesRequest{Size: text("9")}))
}
"""


def made(language: Any, hosts: tuple[Recorder, Recorder], **options: bool) -> Generated:
    return generate(
        document(hosts[0].url, hosts[1].url), Family.V30, language=language, client=True, **options
    )


def test_the_python_client_sends_each_operation_to_its_own_server(
    tmp_path: Path, hosts: tuple[Recorder, Recorder]
) -> None:
    folder = tmp_path / "client"
    folder.mkdir()
    for name, text in made("python", hosts).files.items():
        (folder / name).write_text(text)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "client"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
    for base, expected in (((), OWN), ((hosts[0].url + "/v1/",), OWN)):
        subprocess.run(
            [sys.executable, "-c", PYTHON, json.dumps(CALLS), *base],
            cwd=tmp_path,
            check=True,
            timeout=120,
        )
        assert (hosts[0].targets, hosts[1].targets) == expected
        hosts[0].targets.clear()
        hosts[1].targets.clear()


def test_a_base_url_given_by_the_caller_receives_every_operation(
    tmp_path: Path, hosts: tuple[Recorder, Recorder]
) -> None:
    folder = tmp_path / "client"
    folder.mkdir()
    for name, text in generate(
        document("https://api.example.com", "https://upload.example.com"),
        Family.V30,
        language="python",
        client=True,
    ).files.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-c", PYTHON, json.dumps(CALLS), hosts[0].url + "/v1"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    assert hosts[0].targets == PROXIED


def test_the_go_client_sends_each_operation_to_its_own_server(
    tmp_path: Path, hosts: tuple[Recorder, Recorder]
) -> None:
    module = write_module(tmp_path / "module", {})
    (module / "main.go").write_text(GO)
    (module / "api").mkdir()
    for name, text in made("go", hosts, server=True).files.items():
        (module / "api" / name).write_text(text)
    check_go(module)
    go(module, "build", "-o", "program", ".")
    for base in ("", hosts[0].url + "/v1"):
        subprocess.run([str(module / "program"), base], check=True, timeout=120, env=environment())
        assert (hosts[0].targets, hosts[1].targets) == OWN
        hosts[0].targets.clear()
        hosts[1].targets.clear()
    served = subprocess.run(
        [str(module / "program"), "serve"],
        check=True,
        timeout=120,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert served.stdout.split() == ["films", "books", "404"]


def test_path_keys_with_a_query_or_a_fragment_are_reported(
    hosts: tuple[Recorder, Recorder],
) -> None:
    warned = {
        (warning.path.split("/")[2], warning.message.split(",")[0])
        for warning in made("python", hosts).warnings
    }
    queries = {path for path, message in warned if message == "The path has a query"}
    assert queries == {
        "~1search?kind=book",
        "~1search?kind=film",
        "~1find?text={q}",
        "~1pages{?size}",
    }
    assert ("~1things#Action=List", "'#Action=List' of the path is a fragment") in warned


def test_operations_that_differ_by_a_fragment_only_are_reported() -> None:
    paths = {"/#A": operation("first"), "/#B": operation("second")}
    source = {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths}
    warnings = generate(source, Family.V30, client=True).warnings
    assert [warning.path for warning in warnings if warning.critical] == ["/paths/~1#B/get"]


def test_a_path_key_is_split_into_its_parts() -> None:
    key = read_path_key("/a/{b}?x=1&y={z}&w=p{q}&v=ä b{&more*}#frag")
    assert (key.path, key.fixed, key.templates) == (
        "/a/{b}",
        ("x=1", "v=%C3%A4%20b"),
        (("y", "z"),),
    )
    assert (key.expanded, key.left_out, key.fragment) == (("more",), ("w=p{q}",), "frag")
