"""Files through the shipped program: several processes on one folder, killed at any moment."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from files_client import Gone, Server

KILLS = int(
    os.environ.get("COMMONPLACE_KILLS")
    or (300 if os.environ.get("COMMONPLACE_SOAK") == "1" else 20)
)
WRITERS = 4


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    started: list[Server] = []
    yield started
    for server in started:
        if server.process.poll() is None:
            server.close()


def until(
    seconds: float, condition: Callable[[], object], what: Callable[[], object] = lambda: ""
) -> float:
    """Wait for a condition with a bound; how long it took.

    Time in which this process was stopped does not count.
    """
    waited, last = 0.0, time.monotonic()
    while not condition():
        assert waited < seconds, f"not within its time: {what()}"
        time.sleep(0.02)
        now = time.monotonic()
        waited, last = waited + min(now - last, 1.0), now
    return waited


def leader(data: Path) -> int | None:
    try:
        return int((data / "index.lock").read_text())
    except (OSError, ValueError):
        return None


def holders(data: Path) -> list[int]:
    """Processes that hold the index lock, as the kernel knows them."""
    inode = str((data / "index.lock").stat().st_ino)
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return [
        int(words[4])
        for words in locks
        if words[5].rpartition(":")[2] == inode and words[1] != "->"
    ]


def test_a_write_of_one_process_is_read_and_found_by_another(
    servers: list[Server], tmp_path: Path
) -> None:
    servers += [Server(tmp_path), Server(tmp_path)]
    first, second = servers
    first.call("file_write", path="/a.md", content="a walrus swims")
    assert second.call("file_read", path="/a.md")["content"] == "a walrus swims"
    until(
        15,
        lambda: (
            [chunk["file_path"] for chunk in second.call("file_search", query="walrus")["chunks"]]
            == ["/a.md"]
        ),
    )
    second.call("file_delete", path="/a.md")
    assert first.call("file_search", query="walrus")["chunks"] == []


def test_one_of_six_processes_indexes_and_another_takes_over(
    servers: list[Server], tmp_path: Path
) -> None:
    servers += [Server(tmp_path) for _ in range(6)]
    for server in servers:
        server.call("file_stat", path="/a")
    until(15, lambda: leader(tmp_path) is not None)
    chief = leader(tmp_path)
    for number, server in enumerate(servers):
        server.call("file_write", path=f"/{number}", content=f"document number {number}")
        assert leader(tmp_path) == chief
    assert holders(tmp_path) == [chief]
    killed = next(server for server in servers if server.process.pid == chief)
    killed.kill()
    others = [server for server in servers if server is not killed]
    took = until(15, lambda: leader(tmp_path) in [server.process.pid for server in others])
    assert took <= 2
    others[0].call("file_write", path="/after", content="written after the takeover")
    until(15, lambda: others[1].call("file_index_status")["up_to_date"])
    assert others[2].call("file_search", query="takeover")["chunks"][0]["file_path"] == "/after"


def test_two_processes_append_to_one_file_in_one_sequence(
    servers: list[Server], tmp_path: Path
) -> None:
    servers += [Server(tmp_path), Server(tmp_path)]

    def append(number: int) -> None:
        for n in range(100):
            answer = servers[number].call("file_write", path="/log", content=f"{number}:{n}\n")
            assert "error" not in answer

    threads = [threading.Thread(target=append, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = servers[0].call("file_read", path="/log")["content"].split()
    for number in range(2):
        assert [line for line in lines if line.startswith(f"{number}:")] == [
            f"{number}:{n}" for n in range(100)
        ]


def unique_word(number: int) -> str:
    """Letters only, so that it is one search term and no other word shares a part of it."""
    return "qu" + "".join("bcdfghjkln"[int(digit)] + "o" for digit in f"{number:06}") + "x"


class Writer(threading.Thread):
    """Writes through a server of its own, which may be killed under it; remembers what was
    acknowledged.
    """

    def __init__(self, number: int, data: Path) -> None:
        super().__init__(daemon=True)
        self.number, self.data = number, data
        self.server = Server(data)
        self.files: dict[str, str] = {}
        self.maybe: set[str] = set()  # sent when the server died: done or not, both are right
        self.lines: list[str] = []
        self.errors: list[object] = []
        self.busy = (
            0  # refused because the lock was not free in time: then nothing may have been written
        )
        self.done = 0
        self.stopping = False
        self.since_start = 0  # calls acknowledged by the server that now runs

    def run(self) -> None:
        n = 0
        while not self.stopping:
            n += 1
            try:
                self._round(n)
            except Gone:
                self.since_start = 0
                self._start_again()

    def _round(self, n: int) -> None:
        path, word = f"/w{self.number}/{n % 40}", unique_word(self.number * 100_000 + n)
        self.maybe.add(path)
        if n % 7 == 0 and path in self.files:
            if self._acknowledged("file_delete", path=path):
                del self.files[path]
        elif self._acknowledged("file_write", path=path, content=f"{word} text", mode="TRUNCATE"):
            self.files[path] = f"{word} text"
        self.maybe.discard(path)
        if self._acknowledged("file_write", path=f"/log{self.number}", content=f"{n}\n"):
            self.lines.append(str(n))
        self.since_start += 1

    def _acknowledged(self, tool: str, **arguments: str) -> bool:
        error = self.server.call(tool, **arguments).get("error")
        if error is None:
            self.done += 1
            return True
        if error["code"] == "RESOURCE_BUSY" and error["retryable"]:
            self.busy += 1
        else:
            self.errors.append(error)
        return False

    def _start_again(self) -> None:
        try:
            self.server = Server(self.data)
        except Exception as failed:  # the test has not killed it yet, so it ended by itself
            self.errors.append(repr(failed))
            self.stopping = True

    def reached(self, calls: int) -> bool:
        assert not self.errors, self.errors
        return self.since_start >= calls and self.server.process.poll() is None


@pytest.mark.timeout(max(300, 15 * KILLS))
def test_acknowledged_writes_survive_killed_processes(
    servers: list[Server], tmp_path: Path
) -> None:
    rng = random.Random(5)
    writers = [Writer(number, tmp_path) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for kill in range(KILLS):
        writer, calls = rng.choice(writers), rng.randint(1, 30)

        def state(kill: int = kill, calls: int = calls, writer: Writer = writer) -> str:
            return (
                f"kill {kill}: writer {writer.number} made {writer.since_start} of {calls}; "
                f"alive {writer.is_alive()}, busy {writer.busy}"
            )

        until(60, lambda writer=writer, calls=calls: writer.reached(calls), state)  # type: ignore[misc]
        time.sleep(rng.uniform(0, 0.01))  # the random point inside a call, not a wait for anything
        writer.server.kill()
        if kill % 25 == 24:
            print(  # noqa: T201
                kill + 1, "kills,", sum(writer.done for writer in writers), "calls done", flush=True
            )
    for writer in writers:
        writer.stopping = True
    for writer in writers:
        writer.join()
        writer.server.close()
    assert [writer.errors for writer in writers] == [[]] * WRITERS
    busy, done = sum(writer.busy for writer in writers), sum(writer.done for writer in writers)
    assert busy <= done / 50, f"{busy} calls refused as busy beside {done} done"
    server = Server(tmp_path)
    servers.append(server)
    until(60, lambda: server.call("file_index_status")["up_to_date"])
    acknowledged = 0
    for writer in writers:
        for path in (f"/w{writer.number}/{n}" for n in range(40)):
            if path in writer.maybe:
                continue
            expected = writer.files.get(path)
            answer = server.call("file_read", path=path)
            assert answer.get("content") == expected, path
            if expected is not None:
                acknowledged += 1
                found = server.call("file_search", query=expected.split()[0])["chunks"]
                assert [chunk["file_path"] for chunk in found] == [path]
        log = server.call("file_read", path=f"/log{writer.number}")["content"].split()
        left = iter(log)
        assert all(line in left for line in writer.lines), (
            "an acknowledged line is lost or out of order"
        )
        assert len(log) == len(set(log))
    assert acknowledged > 20


def import_beside(data: Path, folder: Path) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "commonplace",
        "--data",
        str(data),
        "files",
        "import",
        str(folder),
        "--project",
        "p",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_command_beside_a_server_leaves_indexing_to_it(
    servers: list[Server], tmp_path: Path
) -> None:
    """A command that leads embeds everything itself: two minutes of work for 6 MB, while the
    server is idle.
    """
    data, folder = tmp_path / "data", tmp_path / "folder"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}.md").write_text(f"the walrus of chapter {number}")
    servers.append(Server(data))
    assert import_beside(data, folder)["stored"] == 40
    assert leader(data) == servers[0].process.pid  # before the server is asked for anything
    until(30, lambda: servers[0].call("file_index_status")["up_to_date"])
    assert (
        servers[0].call("file_search", query="walrus chapter 17")["chunks"][0]["file_path"]
        == "/17.md"
    )


def test_a_command_indexes_itself_where_the_server_does_not(
    servers: list[Server], tmp_path: Path
) -> None:
    data, folder = tmp_path / "data", tmp_path / "folder"
    folder.mkdir()
    (folder / "a.md").write_text("a walrus")
    servers.append(Server(data, "--no-worker"))
    assert import_beside(data, folder)["indexed"]
    until(30, lambda: servers[0].call("file_index_status")["up_to_date"])
