"""Connections to PostgreSQL and Valkey over TLS, with an authority of the test.

The binaries of the tests speak no TLS themselves: PgBouncer does it for PostgreSQL, a relay for
Valkey.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, environment
from model_client import Caller, configure
from team_server import TeamServer

from certificates import TestAuthority
from pgbouncer import PgBouncer


@contextlib.contextmanager
def tls_relay(target_port: int, tls: tuple[Path, Path]) -> Iterator[int]:
    """Accept TLS on a free port and pass the plain bytes to a port of this machine."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*tls)
    loop = asyncio.new_event_loop()
    port: list[int] = []
    started, stopping = threading.Event(), asyncio.Event()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", target_port)
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    async def serve() -> None:
        server = await asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=context)
        port.append(server.sockets[0].getsockname()[1])
        started.set()
        await stopping.wait()
        server.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(20)
    try:
        yield port[0]
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(20)


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path)


@pytest.fixture
def storage(
    authority: TestAuthority, postgres_url: str, valkey_url: str
) -> Iterator[dict[str, Any]]:
    """Settings of a team whose database and cache want TLS."""
    tls = authority.issue("storage")
    with contextlib.ExitStack() as stack:
        poolers = [
            PgBouncer(postgres_url, mode=mode, tls=tls) for mode in ("transaction", "session")
        ]
        for pooler in poolers:
            stack.callback(pooler.close)
        cache = stack.enter_context(tls_relay(int(valkey_url.split(":")[-1].split("/")[0]), tls))
        pooled, direct = (pooler.tls_url(postgres_url, authority.certificate) for pooler in poolers)
        yield {
            "url": pooled,
            "direct_url": direct,
            "prepared_statements": False,
            "cache_url": f"rediss://localhost:{cache}/0?ssl_ca_certs={authority.certificate}",
        }


def findings(folder: Path) -> dict[str, dict[str, str]]:
    done = subprocess.run(
        [str(COMMONPLACE), "doctor", "--json"],
        env=environment(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_a_server_uses_database_and_cache_over_verified_tls(
    storage: dict[str, Any], tmp_path: Path
) -> None:
    server = TeamServer(
        tmp_path / "one",
        storage,
        flags=("--auth", "passthrough"),
        limits={"tenant_per_second": 100, "tenant_burst": 200},
    )
    try:
        caller = Caller(server.url, bearer="team-a-0123456789")
        caller.call("file_write", path="/a.md", content="The walrus sings.")
        caller.settled()
        assert caller.found("walrus") == ["/a.md"]
        with urllib.request.urlopen(f"http://{server.address}/readyz", timeout=30) as answer:
            assert json.load(answer)["status"] == "ready"
    finally:
        server.close()
    checks = findings(tmp_path / "one")
    assert checks["database"]["status"] == "ok"
    assert checks["cache"]["status"] == "ok"


def test_certificates_of_another_authority_are_refused(
    storage: dict[str, Any], authority: TestAuthority, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = TestAuthority(tmp_path / "other")
    wrong = {
        name: value.replace(str(authority.certificate), str(other.certificate)).replace(
            str(authority.certificate).replace("/", "%2F"),
            str(other.certificate).replace("/", "%2F"),
        )
        if isinstance(value, str)
        else value
        for name, value in storage.items()
    }
    assert wrong["url"] != storage["url"]
    assert wrong["cache_url"] != storage["cache_url"]
    configure(tmp_path / "two", {}, storage={**storage, "cache_url": wrong["cache_url"]})
    assert findings(tmp_path / "two")["cache"]["status"] == "fail"
    configure(tmp_path / "three", {}, storage={**wrong, "cache_url": ""})
    refused = subprocess.run(
        [str(COMMONPLACE), "serve", "--http", "127.0.0.1:0"],
        env=environment(tmp_path / "three"),
        cwd=tmp_path / "three",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
    assert "SSL error" in refused.stderr, refused.stderr
