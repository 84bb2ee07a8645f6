"""What large messages of one caller cost everybody else. `make bench SUITE=availability`.

    python -m benchmarks.availability [--seconds 20]

Four senders post 60 MB of `{"a":[{},{},...]}` again and again; meanwhile /healthz is asked all the
time, and legal OpenAPI documents of 13 MB and 60 MB are sent inline. Marks: 99 % of the answers of
/healthz within 250 ms, less than 700 MB resident, every legal document served. Senders and the
prober are processes of their own, so that only the server is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from benchmarks.measure import show, verdict
from benchmarks.soak import memory_of, served
from benchmarks.soak_worker import document

HOSTILE_BYTES = 60_000_000
SENDERS = 4
ALLOWED_P99_SECONDS = 0.25
ALLOWED_BYTES = 700_000_000
SOURCE = Path(__file__).parents[2] / "shared" / "data" / "openapi" / "dev" / "github-api.json"


def hostile_body() -> bytes:
    return b'{"a":[' + b"{}," * ((HOSTILE_BYTES - 10) // 3) + b"{}]}"


def send_hostile(address: str, key: str, path: str, stop: Event) -> None:
    """Post the body until told to stop.

    A refusal while it is sent, or a connection that is cut, is an answer too.
    """
    body = hostile_body()
    host, port = address.split(":")
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer "
        f"{key}\r\nContent-Type: application/json\r\n"
    )
    head += (
        f"Accept: application/json, text/event-stream\r\nContent-Length: "
        f"{len(body)}\r\nConnection: close\r\n\r\n"
    )
    while not stop.is_set():
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 30) as link:
            link.sendall(head.encode())
            link.sendall(body)
            while link.recv(65536):
                pass


def probe(address: str, stop: Event, results: Any) -> None:
    """Ask /healthz every 5 ms; the seconds of each answer."""
    taken: list[float] = []
    link = http.client.HTTPConnection(address, timeout=60)
    while not stop.is_set():
        begun = time.perf_counter()
        link.request("GET", "/healthz")
        link.getresponse().read()
        taken.append(time.perf_counter() - begun)
        stop.wait(0.005)
    results.put(taken)


def legal_document(megabytes: float) -> str:
    """A valid description that makes a message of this size: the paths and schemas of a real
    one, repeated.
    """
    source = json.loads(SOURCE.read_bytes())
    if megabytes <= 13:
        return SOURCE.read_text()
    paths, schemas = source["paths"], source["components"]["schemas"]
    most, copies = int(megabytes * 1e6), 0
    step = len(json.dumps(json.dumps({"paths": paths, "schemas": schemas}, indent=2)))
    size = len(json.dumps(SOURCE.read_text()))
    parts: dict[str, Any] = {"paths": dict(paths), "schemas": dict(schemas)}
    while size + step < most:
        copies += 1
        size += step
        parts["paths"] |= {
            f"/copy{copies}{path}": _renamed(item, copies) for path, item in paths.items()
        }
        parts["schemas"] |= {f"Copy{copies}{name}": schema for name, schema in schemas.items()}
    root = {
        **source,
        "paths": parts["paths"],
        "components": {**source["components"], "schemas": parts["schemas"]},
    }
    size = len(json.dumps(json.dumps(root, indent=2)))
    return json.dumps(
        {**root, "info": {**source["info"], "description": "x" * max(0, most - size)}}, indent=2
    )


def _renamed(item: dict[str, Any], copy: int) -> dict[str, Any]:
    """A path item whose operations have ids of their own."""
    return {
        method: {**operation, "operationId": f"{operation['operationId']}-{copy}"}
        if isinstance(operation, dict) and "operationId" in operation
        else operation
        for method, operation in item.items()
    }


def call(
    address: str, key: str, tool: str, arguments: dict[str, Any]
) -> tuple[float, dict[str, Any]]:
    """Seconds and answer of one stateless call."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ).encode()
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {key}",
    }
    headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    begun = time.perf_counter()
    link = http.client.HTTPConnection(address, timeout=300)
    link.request("POST", "/mcp", body, headers)
    answer: dict[str, Any] = json.loads(link.getresponse().read())
    link.close()
    return time.perf_counter() - begun, answer


def measure(seconds: float, hostile: bool, documents: dict[str, str]) -> dict[str, Any]:
    """One server, one phase: latencies of /healthz, peak memory, and what became of the
    documents.
    """
    spawn = multiprocessing.get_context("spawn")
    stop, results = spawn.Event(), spawn.Queue()
    with served(trace=False) as (address, pid, keys):
        processes = [spawn.Process(target=probe, args=(address, stop, results))]
        if hostile:
            processes += [
                spawn.Process(target=send_hostile, args=(address, keys[0], "/mcp", stop))
                for _ in range(SENDERS)
            ]
        call(
            address, keys[0], "oas_parse", {"spec": {"content": document(1)}}
        )  # the toolset is loaded
        for process in processes:
            process.start()
        begun = time.monotonic()
        served_documents = {
            name: _answered(
                lambda text=text: call(address, keys[0], "oas_parse", {"spec": {"content": text}})
            )
            for name, text in documents.items()
        }
        while time.monotonic() - begun < seconds:
            stop.wait(0.1)
        peak = memory_of(pid)["VmHWM"]
        stop.set()
        taken = sorted(results.get(timeout=120))
        for process in processes:
            process.join(60)
            if process.is_alive():
                process.kill()
    return {"taken": taken, "peak": peak, "documents": served_documents}


def _answered(work: Callable[[], tuple[float, dict[str, Any]]]) -> str:
    seconds, answer = work()
    result = answer.get("result", {})
    good = "error" not in answer and not result.get("isError")
    return f"served in {seconds:.1f} s" if good else f"FAILED {json.dumps(answer)[:200]}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.availability",
        description=__doc__.splitlines()[0] if __doc__ else "",
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    documents = {"13 MB": legal_document(13), "60 MB": legal_document(60)}
    sys.stdout.write(
        f"documents: {', '.join(f'{len(text):,}' for text in documents.values())} characters\n"
    )
    rows, passed = [], True
    for title, hostile, sent in (
        ("quiet", False, {}),
        ("documents", False, documents),
        ("hostile and documents", True, documents),
    ):
        found = measure(options.seconds if hostile else min(options.seconds, 8.0), hostile, sent)
        taken = found["taken"]
        p99 = taken[len(taken) * 99 // 100]
        good = (
            p99 < ALLOWED_P99_SECONDS
            and found["peak"] < ALLOWED_BYTES
            and all("served" in how for how in found["documents"].values())
        )
        passed = passed and good
        times = f"{taken[len(taken) // 2] * 1e3:.1f} / {p99 * 1e3:.0f} / {taken[-1] * 1e3:.0f}"
        rows.append(
            (
                title,
                f"{len(taken):,}",
                times,
                f"{found['peak'] / 1e6:.0f}",
                "; ".join(found["documents"].values()),
            )
        )
    show(
        "Large messages",
        ("phase", "answers", "/healthz median / p99 / max (ms)", "peak RSS (MB)", "documents"),
        rows,
    )
    sys.stdout.write(
        f"{verdict(passed)}: p99 under 250 ms, under 700 MB, every legal document served\n"
    )
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
