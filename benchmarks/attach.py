"""Measure ten stdio clients of one local server: memory together, start, calls, recovery.

`make bench SUITE=attach`. Each client searches by meaning, so the model is loaded. Memory is PSS
(proportional set size): pages that processes share are counted once. `alone` are ten servers of
their own, of which three are measured.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import ROOT, StdioServer, call_line, show, verdict

CLIENTS = 10
ALONE = 3
CALLS = 200
WAIT_SECONDS = 60.0
MOST_MEGABYTES = 250.0
COMMAND = str(Path(sys.executable).with_name("commonplace"))
TEXTS = {
    "/guide/locks.md": "A lease ends when its holder does not renew it in time.",
    "/guide/search.md": "Search merges the ranks of words with those of meaning.",
    "/guide/backup.md": "An archive holds all canonical state and can be put back.",
}


def pss_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def search(client: StdioServer) -> str:
    """Search until the answer is by meaning too; return the best file."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        question = {"project": "demo", "query": "who keeps the lock alive"}
        answer = client.call("file_search", question)["result"]["structuredContent"]
        if answer["mode"] == "hybrid":
            return str(answer["chunks"][0]["file_path"])
        if time.monotonic() > until:
            raise RuntimeError("nothing was embedded: commonplace models install")
        time.sleep(0.1)


def measure_attached(environment: dict[str, str], data: Path) -> None:
    clients = [StdioServer([COMMAND, "serve", "--attach"], environment) for _ in range(CLIENTS)]
    server = int((data / "server.lock").read_text())
    found = [search(client) for client in clients]
    relays = [pss_megabytes(client.process.pid) for client in clients]
    whole = pss_megabytes(server)
    starts = [client.started_seconds * 1000 for client in clients[1:]]
    lines = [
        call_line("file_stat", {"project": "demo", "path": "/guide/locks.md"}, n)
        for n in range(CALLS)
    ]
    rate = clients[0].sequential(lines)
    os.kill(server, signal.SIGKILL)
    begun = time.perf_counter()
    again = [search(client) for client in clients]
    recovered = time.perf_counter() - begun
    for client in clients:
        client.close()
    rows = [
        ["clients attached", f"{CLIENTS}, model loaded", ""],
        ["memory of a relay, largest (PSS)", f"{max(relays):.1f} MB", ""],
        ["memory of the server (PSS)", f"{whole:.0f} MB", ""],
        [
            "memory of all together (PSS)",
            f"{whole + sum(relays):.0f} MB",
            verdict(whole + sum(relays) < MOST_MEGABYTES),
        ],
        ["start of an attached client, median", f"{statistics.median(starts):.0f} ms", ""],
        ["calls per second, one after the other", f"{rate:.0f}", ""],
        [
            "after kill -9 all clients have an answer",
            f"{recovered:.1f} s",
            verdict(again == found),
        ],
    ]
    show("Ten clients of one local server", ["", "measured", "mark"], rows)


def measure_alone(environment: dict[str, str]) -> None:
    clients = [StdioServer([COMMAND, "serve"], environment) for _ in range(ALONE)]
    for client in clients:
        search(client)
    one = statistics.median(pss_megabytes(client.process.pid) for client in clients)
    lines = [
        call_line("file_stat", {"project": "demo", "path": "/guide/locks.md"}, n)
        for n in range(CALLS)
    ]
    rate = clients[0].sequential(lines)
    starts = statistics.median(client.started_seconds * 1000 for client in clients)
    for client in clients:
        client.close()
    rows = [
        ["memory of a server (PSS)", f"{one:.0f} MB"],
        [f"memory of {CLIENTS}", f"{CLIENTS * one:.0f} MB"],
        ["start, median", f"{starts:.0f} ms"],
        ["calls per second, one after the other", f"{rate:.0f}"],
    ]
    show("Servers of their own", ["", "measured"], rows)


def main() -> None:
    data = Path(tempfile.mkdtemp(prefix="attach-"))
    models = os.environ.get("COMMONPLACE_MODELS") or str(find_models())
    environment = {"COMMONPLACE_HOME": str(data), "COMMONPLACE_MODELS": models}
    try:
        writer = StdioServer([COMMAND, "serve"], environment)
        for path, text in TEXTS.items():
            writer.call("file_write", {"project": "demo", "path": path, "content": text})
        search(writer)
        writer.close()
        measure_attached(environment, data)
        measure_alone(environment)
    finally:
        os.chdir(ROOT)
        _stop(environment)
        shutil.rmtree(data, ignore_errors=True)


def find_models() -> Path:
    from commonplace.kernel.config.loading import load

    return load().settings.models_directory


def _stop(environment: dict[str, str]) -> None:
    import subprocess

    subprocess.run(
        [COMMAND, "down"], env={**os.environ, **environment}, check=False, capture_output=True
    )


if __name__ == "__main__":
    main()
