"""Where documents come from: the cache, the roots, stored files and the network."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import ipaddress
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson
import pytest

from commonplace.kernel.auth import AuthContext, local_user
from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.model import ApiDocument, DocumentLimits, Spec
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.documents import DocumentStore
from commonplace.openapi.store.loader import DocumentLoader
from commonplace.openapi.store.url_rules import UrlRules
from commonplace.openapi.store.workers import Workers
from oas_calls import Tools, minimal

TEXT = "openapi: 3.0.0\ninfo: {title: one, version: '1'}\npaths: {}\n"


def code(store: DocumentStore, **spec: str) -> str:
    with pytest.raises(CommonplaceError) as caught:
        store.load(Spec(**spec))
    return caught.value.code.name


# the cache


def test_an_unchanged_file_is_loaded_once(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TEXT)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    store = DocumentStore()
    assert store.load(Spec(file=str(path))) is store.load(Spec(file=str(path)))


def test_a_changed_file_is_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TEXT)
    store = DocumentStore()
    store.load(Spec(file=str(path)))
    path.write_text(TEXT.replace("one", "another"))
    assert store.load(Spec(file=str(path))).data["info"]["title"] == "another"


def test_two_edits_within_one_clock_tick_are_both_noticed(tmp_path: Path) -> None:
    """Same size, same modification time: only the content tells."""
    path = tmp_path / "a.yaml"
    store = DocumentStore()
    seen = []
    for title in ("one", "two", "six"):
        path.write_text(TEXT.replace("one", title))
        now = path.stat().st_mtime_ns // 10**9 * 10**9
        os.utime(path, ns=(now, now))
        seen.append(store.load(Spec(file=str(path))).data["info"]["title"])
    assert seen == ["one", "two", "six"]


def test_content_is_cached_by_its_hash_and_ten_entries_are_kept() -> None:
    store = DocumentStore()
    first = store.load(Spec(content=TEXT))
    assert store.load(Spec(content=TEXT)) is first
    for number in range(9):
        store.load(Spec(content=TEXT.replace("one", f"t{number}")))
    assert store.load(Spec(content=TEXT)) is first  # used just now, so it stays
    for number in range(10):
        store.load(Spec(content=TEXT.replace("one", f"u{number}")))
    assert store.load(Spec(content=TEXT)) is not first


def test_a_large_document_is_kept_from_the_collector_until_it_is_evicted(tmp_path: Path) -> None:
    large = minimal(
        components={
            "schemas": {
                f"S{number}": {"type": "string", "description": "d" * 100}
                for number in range(12_000)
            }
        }
    )
    file = tmp_path / "large.json"
    file.write_bytes(orjson.dumps(large))
    store = DocumentStore(cache_entries=1)
    before = gc.get_freeze_count()
    store.resolver(store.load(Spec(file=str(file))))  # a document and its resolver know each other
    assert gc.get_freeze_count() > before
    store.load(Spec(content=TEXT))
    assert gc.get_freeze_count() == 0
    assert not [
        item
        for item in gc.get_objects()
        if isinstance(item, ApiDocument) and item.name == str(file)
    ]


def test_many_callers_share_one_load(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TEXT)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    loader = DocumentLoader(DocumentStore(), Workers(), None)

    async def load_twenty_times() -> set[int]:
        documents = await asyncio.gather(
            *(loader.load(local_user(), Spec(file=str(path))) for _ in range(20))
        )
        return {id(document) for document in documents}

    try:
        assert len(asyncio.run(load_twenty_times())) == 1
    finally:
        loader.close()


# files


def test_over_http_only_roots_are_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "root", tmp_path / "secret"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.yaml").write_text(TEXT)
    (outside / "b.yaml").write_text(TEXT)
    (inside / "link.yaml").symlink_to(outside / "b.yaml")
    store = DocumentStore(Access(local=False, roots=(inside,)))
    assert store.load(Spec(file=str(inside / "a.yaml"))).version == "3.0.0"
    for path in (
        outside / "b.yaml",
        inside / "link.yaml",
        inside / ".." / "secret" / "b.yaml",
        Path("/etc/passwd"),
    ):
        assert code(store, file=str(path)) == "PATH_NOT_ALLOWED"
    assert (
        code(DocumentStore(Access(local=False)), file=str(inside / "a.yaml")) == "PATH_NOT_ALLOWED"
    )


def test_directories_and_missing_paths_are_refused(tmp_path: Path) -> None:
    store = DocumentStore(limits=DocumentLimits(size_bytes=100))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_text("x" * 101)
    assert code(store, file=str(tmp_path)) == "SPEC_UNREADABLE"
    assert code(store, file=str(tmp_path / "pipe")) == "SPEC_UNREADABLE"
    assert code(store, file=str(tmp_path / "large")) == "SPEC_TOO_LARGE"
    assert code(store, file=str(tmp_path / "none")) == "SPEC_NOT_FOUND"
    assert code(store, file="a\0b") == "SPEC_NOT_FOUND"
    assert code(store, file="~nobody-here/api.yaml") == "SPEC_NOT_FOUND"


def test_outputs_stay_inside_the_working_folder_and_the_roots(tmp_path: Path) -> None:
    work, root, other = (tmp_path / name for name in ("work", "root", "other"))
    for folder in (work, root, other):
        folder.mkdir()
    (work / "out").symlink_to(other)
    local = Access(local=True, roots=(root,), working_folder=work)
    assert local.resolve_writable("a.yaml") == work / "a.yaml"
    assert local.resolve_writable(str(root / "deep" / "a.yaml")) == root / "deep" / "a.yaml"
    for path in (str(other / "a.yaml"), "out/a.yaml", "../other/a.yaml"):
        with pytest.raises(CommonplaceError):
            local.resolve_writable(path)
    with pytest.raises(CommonplaceError):
        Access(local=False, roots=(root,), working_folder=work).resolve_writable(
            str(work / "a.yaml")
        )


def test_references_reach_files_beside_the_document_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "secret.yaml").write_text("password: hunter2\n")
    (tmp_path / "api" / "parts.yaml").write_text(
        "Pet: {type: object, properties: {owner: {$ref: 'more/owner.yaml#/Owner'}}}\n"
    )
    (tmp_path / "api" / "more").mkdir()
    (tmp_path / "api" / "more" / "owner.yaml").write_text("Owner: {type: string, maxLength: 3}\n")
    (tmp_path / "api" / "main.yaml").write_text(
        TEXT.replace(
            "paths: {}",
            "paths: {}\ncomponents: {schemas: {A: {$ref: 'parts.yaml#/Pet'}, B: {$ref: "
            "'../secret.yaml#/password'}}}",
        )
    )
    store = DocumentStore(Access(local=True, working_folder=tmp_path / "api"))
    document = store.load(Spec(file=str(tmp_path / "api" / "main.yaml")))
    inliner = store.inliner(document)
    shown = {
        node.name: inliner.write(node.schema).value for node in index_document(document).schemas
    }
    assert shown["A"] == {
        "type": "object",
        "properties": {"owner": {"type": "string", "maxLength": 3}},
    }
    assert shown["B"] == {"$ref": "../secret.yaml#/password"}
    assert inliner.unresolved == {"../secret.yaml#/password"}


class OneStoredFile:
    """A stored file that counts how often it is read."""

    def __init__(self, content: str) -> None:
        self.content = content.encode()
        self.reads = 0

    async def digest(self, caller: AuthContext, reference: str) -> str | None:
        assert (caller, reference) == (local_user(), "file:api/spec.yaml")
        return hashlib.sha256(self.content).hexdigest()

    async def read(self, caller: AuthContext, reference: str) -> bytes:
        assert (caller, reference) == (local_user(), "file:api/spec.yaml")
        self.reads += 1
        return self.content


def test_a_stored_file_is_read_as_the_caller() -> None:
    tools = Tools(OpenApiService(stored_files=OneStoredFile(TEXT)))
    assert tools.call("parse", spec={"ref": "file:api/spec.yaml"})["title"] == "one"
    assert Tools().error("parse", spec={"ref": "file:api/spec.yaml"}).code.name == "NOT_AVAILABLE"


def test_a_stored_file_is_read_again_only_after_it_changed() -> None:
    file = OneStoredFile(TEXT)
    tools = Tools(OpenApiService(stored_files=file))
    for _ in range(3):
        assert tools.call("parse", spec={"ref": "file:api/spec.yaml"})["title"] == "one"
    assert file.reads == 1
    file.content = file.content.replace(b"one", b"two")
    assert tools.call("parse", spec={"ref": "file:api/spec.yaml"})["title"] == "two"


# the network


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        host = self.headers["Host"]
        answers = {
            "/spec": (200, {}, TEXT.encode()),
            "/moved": (302, {"Location": "/spec"}, b""),
            "/loop": (302, {"Location": "/loop"}, b""),
            "/inside": (302, {"Location": "http://169.254.169.254/latest"}, b""),
            "/elsewhere": (302, {"Location": "file:///etc/passwd"}, b""),
            "/large": (200, {}, b"x" * 200_000),
            "/parts": (200, {}, b"A: {type: string}\n"),
            "/main": (
                200,
                {},
                (
                    TEXT + f"components: {{schemas: {{A: {{$ref: 'http://{host}/parts#/A'}}, B: "
                    f"{{$ref: 'parts#/A'}}}}}}\n"
                ).encode(),
            ),
        }
        status, headers, body = answers.get(self.path, (404, {}, b"none"))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        return None


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_a_url_is_fetched_and_redirects_are_followed(site: str) -> None:
    store = DocumentStore()
    assert store.load(Spec(url=f"{site}/spec")).data["info"]["title"] == "one"
    moved = store.load(Spec(url=f"{site}/moved"))
    assert moved.base == f"{site}/spec"
    assert moved is not store.load(Spec(url=f"{site}/moved"))  # never cached


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/none", "SPEC_NOT_FOUND"),
        ("/loop", "FETCH_FAILED"),
        ("/inside", "URL_NOT_ALLOWED"),
        ("/elsewhere", "URL_NOT_ALLOWED"),
        ("/large", "SPEC_TOO_LARGE"),
    ],
)
def test_bad_responses_and_redirects_are_refused(site: str, path: str, expected: str) -> None:
    assert (
        code(DocumentStore(limits=DocumentLimits(size_bytes=100_000)), url=site + path) == expected
    )


def test_over_http_private_addresses_need_the_allow_list(site: str) -> None:
    assert code(DocumentStore(Access(local=False)), url=f"{site}/spec") == "URL_NOT_ALLOWED"
    assert (
        code(
            DocumentStore(Access(local=False)),
            url=f"http://localhost:{site.rsplit(':', 1)[1]}/spec",
        )
        == "URL_NOT_ALLOWED"
    )
    allowed = DocumentStore(Access(local=False, allow_hosts=("127.0.0.1",)))
    assert allowed.load(Spec(url=f"{site}/spec")).version == "3.0.0"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/x",
        "file:///etc/passwd",
        "http://",
        "http://[bad",
        "http://a b/",
        "not a url",
        "http://x\r\nHost: y/",
    ],
)
def test_other_urls_are_not_fetched(url: str) -> None:
    assert code(DocumentStore(), url=url) in ("URL_NOT_ALLOWED", "FETCH_FAILED")


def test_a_path_given_as_a_url_hints_at_file() -> None:
    with pytest.raises(CommonplaceError) as caught:
        DocumentStore().load(Spec(url="openapi.yaml"))
    assert "has no host" in caught.value.message
    assert "`file`" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("address", "local", "remote"),
    [
        ("127.0.0.1", True, False),
        ("10.0.0.1", True, False),
        ("169.254.169.254", False, False),
        ("::1", True, False),
        ("fe80::1", False, False),
        ("fd00::1", True, False),
        ("::ffff:127.0.0.1", True, False),
        ("::ffff:169.254.169.254", False, False),
        ("0.0.0.0", False, False),
        ("100.64.0.1", True, False),
        ("8.8.8.8", True, True),
        ("2606:4700::1111", True, True),
    ],
)
def test_which_addresses_are_allowed(address: str, local: bool, remote: bool) -> None:
    assert UrlRules(local=True).admits(ipaddress.ip_address(address)) is local
    assert UrlRules(local=False).admits(ipaddress.ip_address(address)) is remote


def test_a_document_by_url_refers_to_its_neighbours(site: str) -> None:
    store = DocumentStore()
    document = store.load(Spec(url=f"{site}/main"))
    shown = [
        store.inliner(document).write(node.schema).value
        for node in index_document(document).schemas
    ]
    assert shown == [{"type": "string"}, {"type": "string"}]


def test_content_cannot_refer_to_files(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("A: 1\n")
    spec = minimal(components={"schemas": {"A": {"$ref": f"{tmp_path}/x.yaml#/A"}}})
    answer = Tools().call(
        "walk_schemas",
        spec={"content": orjson.dumps(spec).decode()},
        detail=True,
        resolve_refs=True,
    )
    assert answer["unresolved_refs"] == [f"{tmp_path}/x.yaml#/A"]
