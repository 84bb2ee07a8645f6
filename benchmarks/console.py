"""What the console costs: time until text is visible, bytes, requests and server CPU per page.

`make bench SUITE=console`, or `python -m benchmarks.console [pages|consoles|seed] [--small]`.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.measure import INITIALIZE, ROOT, median, show, verdict

sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "server")]

from conformance.program import Served, serve_http  # noqa: E402
from playwright.sync_api import Browser, CDPSession, sync_playwright  # noqa: E402
from tests.browser.conftest import FLAGS, chromium  # noqa: E402
from tests.browser.seeding import FULL, PROJECT, SMALL, Sizes, fill  # noqa: E402

CONSOLES = 5
CALLS = 3_000
ROUNDS = 5
VISITS = 10
TEXT_MILLISECONDS = 300
FIRST_LOAD_BYTES = 120_000
LARGE = ROOT.parent / "shared" / "data" / "openapi" / "dev" / "github-api.json"
DOCUMENT = "/large.json"
API = f"/console/openapi?ref=file:{PROJECT}{DOCUMENT}"
PAGES = (
    ("Overview", "/console/"),
    ("Context", "/console/context"),
    ("Context: pack", f"/console/context?task=canary+rollback+incident&project={PROJECT}"),
    ("Instructions", "/console/instructions"),
    ("Instructions: search", "/console/instructions?q=canary+rollback"),
    ("Instructions: entry", "/console/instructions/storage-rule-00012"),
    ("Instructions: graph", "/console/instructions?tab=graph"),
    ("Instructions: governance", "/console/instructions?tab=governance"),
    ("Instructions: use", "/console/instructions?tab=usage"),
    ("Files", f"/console/files?project={PROJECT}"),
    ("Files: large folder", f"/console/files?project={PROJECT}&path=/inbox"),
    ("Files: file", f"/console/files?project={PROJECT}&path=/inbox/note-00300.md"),
    ("Files: search", f"/console/files?project={PROJECT}&q=canary+rollback+incident"),
    ("Memory", "/console/memory"),
    ("Memory: search", "/console/memory?q=canary+rollback+incident"),
    ("Memory: stale", "/console/memory?tab=stale"),
    ("Memory: suggestions", "/console/memory?tab=suggestions"),
    ("Memory: timeline", "/console/memory?tab=timeline"),
    ("Capture", "/console/capture"),
    ("OpenAPI", "/console/openapi"),
    ("OpenAPI, 13 MB: findings", API),
    ("OpenAPI, 13 MB: operations", f"{API}&tab=operations"),
    ("OpenAPI, 13 MB: schemas", f"{API}&tab=schemas"),
    ("Tools", "/console/tools"),
    ("Tool", "/console/tools/file_search"),
    ("Audit", "/console/audit"),
    ("Find", "/console/find?q=canary"),
)
PAINTED = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const title = document.querySelector("main h1");
  return paint && title && title.innerText ? paint.startTime : null;
}"""
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit with an empty cache."""

    text_milliseconds: float
    compressed_bytes: int
    requests: int
    cpu_milliseconds: float


class Session:
    """Tool calls on one connection, as an agent makes them."""

    def __init__(self, address: str) -> None:
        self._link = http.client.HTTPConnection(address, timeout=120)
        self._link.request("POST", "/mcp", orjson.dumps(INITIALIZE), HEADERS)
        opened = self._link.getresponse()
        opened.read()
        self._headers = {**HEADERS, "Mcp-Session-Id": opened.headers["mcp-session-id"]}

    def call(self, tool: str, arguments: dict[str, object]) -> bytes:
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        self._link.request("POST", "/mcp", orjson.dumps(body), self._headers)
        return self._link.getresponse().read()

    def close(self) -> None:
        self._link.close()


def seed(data: Path, sizes: Sizes) -> None:
    """Fill a data folder before the server starts; a folder that is filled stays as it is."""
    data.mkdir(parents=True, exist_ok=True)
    limits = {"max_file_bytes": 20_000_000, "max_project_bytes": 200_000_000}
    (data / "commonplace.yaml").write_bytes(
        orjson.dumps({"settings": {"mcp": {"files": limits}}})  # JSON is YAML
    )
    if not (data / "commonplace.db").exists():
        fill(data, sizes)


def prepare(address: str, is_small: bool) -> None:
    """Store the large document and wait until the files can be searched."""
    session = Session(address)
    text = LARGE.read_text() if LARGE.exists() and not is_small else made_document()
    step = 1_500_000
    for start in range(0, len(text), step):
        part = {"project": PROJECT, "path": DOCUMENT, "content": text[start : start + step]}
        written = session.call("file_write", {**part, "mode": "APPEND" if start else "TRUNCATE"})
        assert b'"isError":false' in written, written[:300]
    parsed = session.call("oas_parse", {"spec": {"ref": f"file:{PROJECT}{DOCUMENT}"}})
    assert b'"isError":false' in parsed, parsed[:300]
    while b'"up_to_date":true' not in session.call("file_index_status", {}):
        time.sleep(1)
    session.close()


def made_document() -> str:
    """Return a document of 2,000 operations, where the 13 MB one is not at hand."""
    answers = {"200": {"description": "ok"}}
    paths = {
        f"/things/{number}/{{id}}": {"get": {"operationId": f"get{number}", "responses": answers}}
        for number in range(2_000)
    }
    info = {"title": "Large", "version": "1"}
    return orjson.dumps({"openapi": "3.0.3", "info": info, "paths": paths}).decode()


def cpu_milliseconds(process_id: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def visit(browser: Browser, server: Served, path: str) -> Visit:
    """Open a page in a new profile: nothing is cached."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    counted = _count_traffic(context.new_cdp_session(page))
    before = cpu_milliseconds(server.process.pid)
    page.goto(f"http://{server.address}{path}", wait_until="load")
    text = page.wait_for_function(PAINTED, timeout=60_000).json_value()
    used = cpu_milliseconds(server.process.pid) - before
    context.close()
    return Visit(float(text), sum(counted.values()), len(counted), used)


def _count_traffic(network: CDPSession) -> dict[str, int]:
    """Return a table that fills with the compressed bytes of each request."""
    counted: dict[str, int] = {}

    def add(event: dict[str, object]) -> None:
        size = event.get("encodedDataLength", 0)
        assert isinstance(size, (int, float))
        counted[str(event["requestId"])] = counted.get(str(event["requestId"]), 0) + int(size)

    network.on("Network.loadingFinished", add)
    network.send("Network.enable")
    return counted


def measure_pages(browser: Browser, server: Served) -> list[list[str]]:
    """Visit every page VISITS times after one visit that warms the server."""
    rows, slow, large = [], [], []
    for name, path in PAGES:
        visit(browser, server, path)
        visits = [visit(browser, server, path) for _ in range(VISITS)]
        text = median([one.text_milliseconds for one in visits])
        size = max(one.compressed_bytes for one in visits)
        cpu = median([one.cpu_milliseconds for one in visits])
        worst = max(one.text_milliseconds for one in visits)
        rows.append(
            [
                name,
                f"{text:.0f}",
                f"{worst:.0f}",
                f"{size / 1000:.1f}",
                str(visits[0].requests),
                f"{cpu:.0f}",
            ]
        )
        slow += [name] if text > TEXT_MILLISECONDS else []
        large += [name] if size > FIRST_LOAD_BYTES else []
    head = ["page", "text ms", "worst ms", "kB", "requests", "server CPU ms"]
    show(f"first load, new profile, {VISITS} visits", head, rows)
    return [
        [_mark(f"text within {TEXT_MILLISECONDS} ms (median)", slow), verdict(not slow)],
        [_mark(f"at most {FIRST_LOAD_BYTES // 1000} kB on first load", large), verdict(not large)],
    ]


def _mark(name: str, pages: list[str]) -> str:
    return name + (f"; not: {', '.join(pages)}" if pages else "")


def latencies(address: str, calls: int) -> list[float]:
    """Return the milliseconds of sequential calls of health_check on one connection."""
    session = Session(address)
    taken = []
    for _ in range(calls):
        begun = time.perf_counter()
        session.call("health_check", {})
        taken.append((time.perf_counter() - begun) * 1000)
    session.close()
    return taken


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def measure_beside_consoles(browser: Browser, address: str) -> list[list[str]]:
    """Measure what open consoles cost the agents."""
    without: list[float] = []
    beside: list[float] = []
    for _ in range(ROUNDS):
        without += latencies(address, CALLS // ROUNDS)
        open_pages = [browser.new_page() for _ in range(CONSOLES)]
        for page in open_pages:
            page.goto(f"http://{address}/console/")
            page.get_by_text("Calls per second").wait_for(timeout=60_000)
        open_pages[0].wait_for_timeout(1500)
        beside += latencies(address, CALLS // ROUNDS)
        for page in open_pages:
            page.close()
    growth = p95(beside) / p95(without) - 1
    rows = [
        ["0", f"{p95(without):.3f}"],
        [str(CONSOLES), f"{p95(beside):.3f}"],
        ["growth", f"{growth:+.0%}"],
    ]
    show(f"tools/call over HTTP, p95 of {CALLS} calls", ["consoles", "p95 ms"], rows)
    mark = f"p95 grows by less than 20 % with {CONSOLES} consoles open"
    return [[mark, verdict(growth < 0.2)]]


def main() -> int:
    """Run the parts; a data folder given by --data is seeded once and then kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="?", choices=["pages", "consoles", "seed"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--small", action="store_true", help="300 rules, 2,500 files, 400 memories")
    asked = parser.parse_args()
    data = asked.data or Path(tempfile.mkdtemp())
    if asked.part != "consoles":
        seed(data, SMALL if asked.small else FULL)  # Playwright takes this thread's event loop
    marks: list[list[str]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        if asked.part in (None, "pages", "seed"):
            with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}) as server:
                prepare(server.address, asked.small)
                if asked.part != "seed":
                    marks += measure_pages(browser, server)
        if asked.part in (None, "consoles"):
            with serve_http(Path(tempfile.mkdtemp())) as server:
                marks += measure_beside_consoles(browser, server.address)
        browser.close()
    show("console marks", ["mark", "verdict"], marks)
    return 0 if all(mark[1] == verdict(True) for mark in marks) else 1


if __name__ == "__main__":
    sys.exit(main())
