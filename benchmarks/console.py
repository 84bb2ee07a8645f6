"""What the console costs: tools/call with none and with five consoles open, time to usable content. `make bench SUITE=console`."""

from __future__ import annotations

import http.client
import sys
import tempfile
import time
from pathlib import Path

import orjson

from benchmarks.measure import INITIALIZE, ROOT, show, verdict

sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "server")]

from conformance.program import serve_http  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from tests.browser.conftest import FLAGS, chromium  # noqa: E402

CONSOLES = 5
CALLS = 3_000
ROUNDS = 5
PAGES = (("/console/", "Calls per second"), ("/console/tools", "health_check"), ("/console/audit", "Check the chains"))
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def latencies(address: str, calls: int) -> list[float]:
    """Milliseconds of sequential calls of health_check on one connection."""
    link = http.client.HTTPConnection(address, timeout=30)
    link.request("POST", "/mcp", orjson.dumps(INITIALIZE), HEADERS)
    opened = link.getresponse()
    opened.read()
    headers = {**HEADERS, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "health_check", "arguments": {}}})
    taken = []
    for _ in range(calls):
        begun = time.perf_counter()
        link.request("POST", "/mcp", body, headers)
        link.getresponse().read()
        taken.append((time.perf_counter() - begun) * 1000)
    link.close()
    return taken


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def main() -> int:
    with serve_http(Path(tempfile.mkdtemp())) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        first = browser.new_page()
        rows = []
        for path, text in PAGES:
            times = []
            for _ in range(3):
                begun = time.perf_counter()
                first.goto(f"http://{server.address}{path}")
                first.get_by_text(text).first.wait_for(timeout=60_000)
                times.append(time.perf_counter() - begun)
            rows.append([path, f"{times[0]:.2f}", f"{min(times[1:]):.2f}"])
        first.close()
        show("time to usable content, s", ["page", "first", "again"], rows)
        without: list[float] = []
        beside: list[float] = []
        for _ in range(ROUNDS):
            without += latencies(server.address, CALLS // ROUNDS)
            pages = [browser.new_page() for _ in range(CONSOLES)]
            for page in pages:
                page.goto(f"http://{server.address}/console/")
                page.get_by_text("Calls per second").wait_for(timeout=60_000)
            pages[0].wait_for_timeout(1500)
            beside += latencies(server.address, CALLS // ROUNDS)
            for page in pages:
                page.close()
        browser.close()
    growth = p95(beside) / p95(without) - 1
    show(
        f"tools/call over HTTP, p95 of {CALLS} calls",
        ["consoles", "p95 ms"],
        [["0", f"{p95(without):.3f}"], [str(CONSOLES), f"{p95(beside):.3f}"], ["growth", f"{growth:+.0%}"]],
    )
    show("console marks", ["mark", "verdict"], [["p95 grows by less than 20 % with 5 consoles open", verdict(growth < 0.2)]])
    return 0 if growth < 0.2 else 1


if __name__ == "__main__":
    sys.exit(main())
