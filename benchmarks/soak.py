"""Hours of work in minutes: mixed calls by several keys over HTTP, and how the server's memory
grows.

`make bench SUITE=soak`.

    python -m benchmarks.soak --minutes 15 --warm-up 5

Every toolset is read and written, at a bounded amount of data: what still grows is a leak. The
mark: less than 0.2 kB per call after the warm-up. `--trace` prints what the memory is made of and
which objects became more.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import show, verdict
from commonplace.kernel.config.locations import user_data_folder

ALLOWED_BYTES_PER_CALL = 200.0
CALLS_OF_TEN_MINUTES = 50_000
PATHS = 60  # files of each tenant
ENTRIES = 40  # memory entries of each key
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su", "ta", "ve", "zo")
WORDS = tuple("".join(parts) for parts in itertools.product(SYLLABLES, repeat=3))
DOCUMENTS = 24  # API descriptions: more than the server caches
TENANTS = ("team-a", "team-a", "team-b", "team-c")


@dataclass(slots=True)
class Totals:
    """What the workers did; `calls` is read while they run."""

    calls: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, seconds: float, failure: str | None) -> None:
        with self.guard:
            self.calls += 1
            if len(self.seconds) < 200_000:
                self.seconds.append(seconds)
            if failure is not None:
                self.failures[failure] = self.failures.get(failure, 0) + 1


class Worker:
    """One client with one key: a session, a keep-alive connection, and a share of every kind of
    call.
    """

    def __init__(
        self,
        number: int,
        address: str,
        key: str,
        totals: Totals,
        stop: threading.Event,
        only: str = "",
    ) -> None:
        """`only`: nothing but the kinds of calls whose name holds this."""
        self._only = only
        self._address = address
        self._key = key
        self._totals = totals
        self._stop = stop
        self._random = random.Random(number)
        self._number = number
        self._ids = itertools.count(1)
        self._session = ""
        self._link = http.client.HTTPConnection(address, timeout=120)
        self._memory: list[str] = []
        self._kinds = self._weighted()

    def run(self) -> None:
        self._open()
        turn = 0
        while not self._stop.is_set():
            turn += 1
            if turn % 500 == 0:  # clients come and go: sessions and connections end too
                self._close()
                self._open()
            self._random.choice(self._kinds)()
        self._close()

    def growth(self) -> list[str]:
        """What the server's memory is made of."""
        if not self._session:
            self._open()
        return [str(line) for line in self._call("memory_growth").get("lines", ())]

    def _weighted(self) -> list[Any]:
        shares: tuple[tuple[Callable[[], None], int], ...] = (
            (self._write_file, 6),
            (self._read_file, 8),
            (self._list_files, 4),
            (self._search_files, 6),
            (self._delete_file, 1),
            (self._remember, 3),
            (self._recall, 6),
            (self._show_entry, 3),
            (self._instructions, 10),
            (self._write_instruction, 2),
            (self._openapi, 8),
            (self._odd, 2),
            (self._listing, 1),
        )
        return [
            kind
            for kind, share in shares
            for _ in range(share)
            if not self._only or self._only in kind.__name__
        ]

    def _write_file(self) -> None:
        self._call(
            "file_write",
            project="soak",
            path=self._path(),
            content=self._text(200),
            mode="TRUNCATE",
        )

    def _read_file(self) -> None:
        self._call("file_read", ("NOT_FOUND",), project="soak", path=self._path())

    def _list_files(self) -> None:
        self._call("file_list", project="soak", path="", depth=2)

    def _search_files(self) -> None:
        self._call("file_search", project="soak", query=self._text(3))

    def _delete_file(self) -> None:
        self._call("file_delete", ("NOT_FOUND",), project="soak", path=self._path())

    def _remember(self) -> None:
        if (
            len(self._memory) >= ENTRIES
        ):  # deleted entries stay in the database: mostly the same ones change
            if self._random.randrange(20) == 0:
                self._call("memory_delete", ("ENTRY_NOT_FOUND",), id=self._memory.pop(0))
            else:
                self._call(
                    "memory_update", id=self._random.choice(self._memory), content=self._text(40)
                )
            return
        title = f"{self._text(4)} {self._number}-{next(self._ids)}"
        answer = self._call("rekall_add", type="pattern", title=title, content=self._text(40))
        if answer.get("id"):
            self._memory.append(answer["id"])

    def _recall(self) -> None:
        self._call("rekall_search", query=self._text(3))

    def _show_entry(self) -> None:
        if self._memory:
            self._call("rekall_show", id=self._random.choice(self._memory))

    def _instructions(self) -> None:
        name = self._random.choice(
            (
                "instructions_search",
                "instructions_list",
                "usage_track",
                "gates_evaluate",
                "prompt_review",
            )
        )
        arguments: dict[str, Any] = {
            "instructions_search": {"q": self._text(2)},
            "usage_track": {"id": f"soak-{self._random.randrange(30)}"},
            "prompt_review": {"prompt": self._text(30)},
        }.get(name, {})
        self._call(name, **arguments)

    def _write_instruction(self) -> None:
        identity = f"soak-{self._random.randrange(30)}"
        entry = {
            "id": identity,
            "title": identity,
            "body": self._text(60),
            "priority": 50,
            "audience": "all",
            "requirement": "optional",
        }
        self._call(
            "instructions_add", entry={**entry, "categories": ["soak"]}, overwrite=True, lax=True
        )

    def _openapi(self) -> None:
        name = self._random.choice(
            ("oas_validate", "oas_parse", "oas_walk_operations", "oas_walk_schemas")
        )
        self._call(name, spec={"content": document(self._random.randrange(DOCUMENTS))})

    def _odd(self) -> None:
        """What goes wrong in ordinary work: unknown tools, wrong arguments, broken JSON, bare
        calls, wrong keys.
        """
        kind = self._random.randrange(5)
        if kind == 0:
            self._call(f"no_such_tool_{next(self._ids)}", ("?",))
        elif kind == 1:
            self._call("file_read", ("?",), project="soak", path=f"not/absolute/{next(self._ids)}")
        elif kind == 2:
            self._send("/mcp", b'{"jsonrpc":"2.0","id":1,', {})
        elif kind == 3:
            self._send(
                "/rpc",
                json.dumps(
                    {"jsonrpc": "2.0", "id": 1, "method": "instructions/list", "params": {}}
                ).encode(),
                {},
            )
        else:
            self._send(
                "/rpc",
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"x/{next(self._ids)}"}).encode(),
                {},
            )

    def _listing(self) -> None:
        self._send("/mcp", self._message("tools/list", {}), self._headers())

    def _path(self) -> str:
        return f"/notes/{self._random.randrange(PATHS)}.md"

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(WORDS, k=words))

    def _message(self, method: str, params: Any) -> bytes:
        return json.dumps(
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        ).encode()

    def _headers(self) -> dict[str, str]:
        return {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": self._session}

    def _open(self) -> None:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "soak", "version": "1"},
        }
        self._session = self._send("/mcp", self._message("initialize", hello), {})[1].get(
            "mcp-session-id", ""
        )
        self._send(
            "/mcp", b'{"jsonrpc":"2.0","method":"notifications/initialized"}', self._headers()
        )

    def _close(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._link.request(
                "DELETE",
                "/mcp",
                headers={"Authorization": f"Bearer {self._key}", **self._headers()},
            )
            self._link.getresponse().read()
        self._link.close()

    def _call(self, tool: str, expected: tuple[str, ...] = (), **arguments: Any) -> dict[str, Any]:
        begun = time.perf_counter()
        body = self._send(
            "/mcp",
            self._message("tools/call", {"name": tool, "arguments": arguments}),
            self._headers(),
        )[2]
        answer = json.loads(body) if body else {}
        result = answer.get("result", {})
        failure = None
        if "error" in answer or result.get("isError"):
            code = re.search(
                r'"code":"?(-?\w+)', json.dumps(answer).replace("\\", "").replace(" ", "")
            )
            code_name = code[1] if code else "?"
            failure = None if code_name in expected or "?" in expected else f"{tool}: {code_name}"
        self._totals.add(time.perf_counter() - begun, failure)
        structured: dict[str, Any] = result.get("structuredContent", {})
        return structured

    def _send(
        self, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }
        for attempt in (1, 2):
            try:
                self._link.request(
                    "POST", path, body, {**sent, "Authorization": f"Bearer {self._key}"}
                )
                answer = self._link.getresponse()
                return (
                    answer.status,
                    {name.lower(): value for name, value in answer.getheaders()},
                    answer.read(),
                )
            except (OSError, http.client.HTTPException):
                self._link.close()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable: the second attempt returns or raises")


def document(number: int) -> str:
    """A small API description, different for each number."""
    schema = {"type": "object", "properties": {f"field{n}": {"type": "string"} for n in range(20)}}
    operation = {"operationId": f"get{number}", "responses": {"200": {"description": "ok"}}}
    paths = {
        f"/things/{n}": {"get": {**operation, "operationId": f"get{number}x{n}"}} for n in range(20)
    }
    root = {"openapi": "3.1.0", "info": {"title": f"API {number}", "version": "1"}, "paths": paths}
    return json.dumps({**root, "components": {"schemas": {f"Thing{n}": schema for n in range(20)}}})


@contextlib.contextmanager
def served(trace: bool) -> Iterator[tuple[str, int, list[str]]]:
    """A server with keys and mutation on: its address, its process id and a key for each worker."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-soak-"))
    program = [sys.executable, "-m", "commonplace"]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COMMONPLACE_", "MCP_"))
    }
    environment = {
        **kept,
        "COMMONPLACE_HOME": str(home),
        "MCP_ENABLE_MUTATION": "1",
        "COMMONPLACE_MODELS": str(user_data_folder(os.environ) / "models"),
    }
    if trace:
        environment |= {
            "COMMONPLACE_EXTRA_TOOLSETS": "benchmarks.soak_trace:toolset",
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }
    keys = []
    for number, tenant in enumerate(TENANTS):
        scope = "admin" if trace else "write"
        command = [
            *program,
            "keys",
            "add",
            "--tenant",
            tenant,
            "--label",
            f"soak-{number}",
            "--scope",
            scope,
        ]
        made = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, cwd=home
        )
        keys.append(next(word for word in made.stdout.split() if word.startswith("cp_")))
    errors = home / "stderr.txt"
    command = [*program, "serve", "--http", "127.0.0.1:0", "--auth", "keys"]
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stderr,
            stderr=stderr,
            cwd=Path.cwd(),
        )
    try:
        yield _address(process, errors), process.pid, keys
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        sys.stdout.write(errors.read_text()[-2000:] if trace else "")


def _address(process: subprocess.Popen[bytes], errors: Path) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"listens on http://([\d.:]+)/mcp", errors.read_text())
        if found:
            return found[1]
        select.select([], [], [], 0.02)
    raise SystemExit(f"the server did not start: {errors.read_text()}")


def memory_of(pid: int) -> dict[str, int]:
    """Resident bytes of a process: anonymous, and in all."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return {name: int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon", "VmHWM")}


def soak(minutes: float, warm_up: float, trace: bool, only: str = "") -> bool:
    totals, stop = Totals(), threading.Event()
    with served(trace) as (address, pid, keys):
        workers = [
            Worker(number, address, key, totals, stop, only) for number, key in enumerate(keys)
        ]
        threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
        for thread in threads:
            thread.start()
        begun = time.monotonic()
        rows: list[tuple[float, int, int]] = []
        judge = Worker(len(keys), address, keys[0], Totals(), stop)
        step = max(5.0, minutes * 60 / 30)
        while (passed := time.monotonic() - begun) < minutes * 60:
            stop.wait(min(step, minutes * 60 - passed + 0.01))
            if not any(thread.is_alive() for thread in threads):
                break
            if trace and passed >= warm_up * 60 and len(rows) % 6 == 0:
                sys.stdout.write("\n".join(judge.growth()) + "\n")
            rows.append((time.monotonic() - begun, totals.calls, memory_of(pid)["RssAnon"]))
            sys.stdout.write(
                f"{rows[-1][0]:7.0f} s {rows[-1][1]:9,} calls {rows[-1][2] / 1e6:8.1f} MB\n"
            )
            sys.stdout.flush()
        stop.set()
        for thread in threads:
            thread.join(120)
    return _judge(rows, warm_up * 60, totals)


def _judge(rows: list[tuple[float, int, int]], warm_up_seconds: float, totals: Totals) -> bool:
    late = [row for row in rows if row[0] >= warm_up_seconds]
    calls, seconds = late[-1][1] - late[0][1], late[-1][0] - late[0][0]
    growth = _slope([(row[1], row[2]) for row in late])
    enough = calls >= CALLS_OF_TEN_MINUTES * min(1.0, seconds / 600) * 0.95
    slowest = sorted(totals.seconds)
    show(
        "Soak",
        ("figure", "value"),
        [
            ("calls", f"{totals.calls:,}"),
            ("calls after the warm-up", f"{calls:,} in {seconds:.0f} s"),
            (
                "median and 99th percentile",
                (
                    f"{slowest[len(slowest) // 2] * 1e3:.1f} ms, "
                    f"{slowest[len(slowest) * 99 // 100] * 1e3:.1f} ms"
                ),
            ),
            ("growth per call", f"{growth:.0f} bytes"),
            (
                "unexpected failures",
                ", ".join(f"{name} x{count}" for name, count in totals.failures.items()) or "none",
            ),
        ],
    )
    passed = growth < ALLOWED_BYTES_PER_CALL and enough and not totals.failures
    sys.stdout.write(
        f"{verdict(passed)}: {growth:.0f} bytes per call (allowed {ALLOWED_BYTES_PER_CALL:.0f}), "
        f"{calls:,} calls\n"
    )
    return passed


def _slope(points: list[tuple[int, int]]) -> float:
    """Bytes per call by least squares: one sample that falls into a burst does not decide."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--warm-up", type=float, default=5.0, help="minutes that are not judged")
    parser.add_argument("--trace", action="store_true", help="print what the memory is made of")
    parser.add_argument(
        "--only",
        default="",
        help="only kinds of calls whose name holds this: file, recall, openapi, ...",
    )
    options = parser.parse_args()
    return (
        0
        if soak(
            options.minutes, min(options.warm_up, options.minutes / 2), options.trace, options.only
        )
        else 1
    )


if __name__ == "__main__":
    raise SystemExit(main())
