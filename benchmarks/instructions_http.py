"""The objectives of the instructions contract, measured over HTTP."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchmarks.measure import http_server, rss_mb

CLIENTS = 50
HTTP_SECONDS = 5.0
PORT = 18797
Targets = tuple[float, float, float]
Objective = tuple[str, Sequence[float], float, Targets]


def measure_http(home: Path, size: int) -> list[Objective]:
    """Measure the four classes of calls of the contract with up to 50 clients.

    Returns the name, sorted latencies in milliseconds, requests per second and targets for p50, p95
    and p99 of each class; the last row is the memory in MB.
    """
    chance = random.Random(2)

    def rpc(method: str, params: Callable[[int], dict[str, Any]]) -> Callable[[int], bytes]:
        return lambda n: orjson.dumps(
            {"jsonrpc": "2.0", "id": n, "method": method, "params": params(n)}
        )

    def bulk(n: int) -> dict[str, Any]:
        return {
            "entries": [{"id": f"bulk-{n}-{k}", "body": "Bulk."} for k in range(20)],
            "mode": "overwrite",
        }

    classes = [
        (
            "reads",
            CLIENTS,
            rpc("instructions/get", lambda _: {"id": f"rule-{chance.randrange(size):06}"}),
            (50.0, 120.0, 300.0),
        ),
        (
            "simple mutations",
            CLIENTS,
            rpc(
                "instructions/add",
                lambda n: {"entry": {"id": f"http-{n}", "body": "x"}, "lax": True},
            ),
            (100.0, 250.0, 500.0),
        ),
        ("bulk (20 entries)", 4, rpc("instructions/import", bulk), (500.0, 2000.0, 5000.0)),
        ("analytics", 4, rpc("instructions/governanceHash", lambda _: {}), (200.0, 500.0, 1000.0)),
    ]
    environment = {
        "COMMONPLACE_HOME": str(home),
        "MCP_ENABLE_MUTATION": "1",
        "INSTRUCTIONS_DIR": str(home / "instructions"),
    }
    results: list[Objective] = []
    with http_server(
        [sys.executable, "-m", "commonplace", "serve", "--http", f"127.0.0.1:{PORT}"],
        PORT,
        environment,
    ) as process:
        asyncio.run(_drive(1, classes[0][2], 0.5))
        for name, clients, make, targets in classes:
            spent, seconds = asyncio.run(_drive(clients, make, HTTP_SECONDS))
            results.append(
                (name, sorted(second * 1000 for second in spent), len(spent) / seconds, targets)
            )
        results.append(("memory", [rss_mb(process.pid)], 0.0, (512.0, 512.0, 512.0)))
    return results


async def run_http_client(
    port: int, make: Callable[[int], bytes], until: float, spent: list[float], start: int
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = start
    try:
        while time.perf_counter() < until:
            body = make(number)
            number += 1
            head = (
                f"POST /rpc HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: "
                f"application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            begun = time.perf_counter()
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in answer.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            payload = await reader.readexactly(length)
            spent.append(time.perf_counter() - begun)
            if b'"error":{' in payload[:200]:
                raise RuntimeError(payload[:300].decode())
    finally:
        writer.close()


async def _drive(
    clients: int, make: Callable[[int], bytes], seconds: float
) -> tuple[list[float], float]:
    spent: list[float] = []
    begun = time.perf_counter()
    await asyncio.gather(
        *(
            run_http_client(PORT, make, begun + seconds, spent, client * 1_000_000)
            for client in range(clients)
        )
    )
    return spent, time.perf_counter() - begun
