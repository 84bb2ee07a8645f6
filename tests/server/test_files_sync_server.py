"""`commonplace files sync --server`: a checkout on one machine, the project on a server."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from conformance.program import COMMONPLACE, environment
from team_server import TeamServer

TIMEOUT_SECONDS = 60
MANY = 150


class Laptop:
    """A folder, a data folder of its own, and the shipped command beside a server."""

    def __init__(self, scratch: Path, server: TeamServer) -> None:
        self.folder, self._server = scratch / "checkout", server
        self.folder.mkdir()
        made = self._run(server.folder, "keys", "add", "--tenant", "a", "--label", "b", "--json")
        self.key = str(json.loads(made.stdout)["key"])
        self._home = scratch / "laptop"

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def sync(self, *options: str, key: str = "") -> subprocess.CompletedProcess[str]:
        return self._run(self._home, *self._command(*options), COMMONPLACE_KEY=key or self.key)

    def watch(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [COMMONPLACE, *self._command("--watch")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(self._home, {"COMMONPLACE_KEY": self.key}),
        )

    def stored(self) -> dict[str, str]:
        """The files of the project, read beside the server."""
        database = apsw.Connection(
            str(self._server.folder / "commonplace.db"), flags=apsw.SQLITE_OPEN_READONLY
        )
        rows = database.execute("SELECT path, content FROM mcp_files WHERE deleted = 0")
        return {str(path)[1:]: bytes(content).decode() for path, content in rows}

    def wanted(self) -> dict[str, str]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_text() for path in files}

    def _command(self, *options: str) -> list[str]:
        url = f"http://{self._server.address}"
        return ["files", "sync", str(self.folder), "-p", "p", "--server", url, *options]

    @staticmethod
    def _run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMONPLACE, *arguments],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            env=environment(home, more),
            check=False,
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    served = TeamServer(tmp_path_factory.mktemp("server"), {}, flags=("--auth", "keys"))
    yield served
    served.close()


@pytest.fixture
def laptop(tmp_path: Path, server: TeamServer) -> Laptop:
    laptop = Laptop(tmp_path, server)
    for number in range(MANY):
        laptop.write(f"src/{number % 7}/module{number}.py", f"value_{number} = {number}\n")
    return laptop


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < until, "the condition was not met in time"
        time.sleep(0.05)


def answer(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ran.stdout, ran.stderr
    value: dict[str, Any] = json.loads(ran.stdout)
    return value


def test_a_server_follows_a_checkout_and_a_watch_survives_its_restart(
    laptop: Laptop, server: TeamServer
) -> None:
    refused = laptop.sync(key="cp_wrong")
    assert refused.returncode != 0
    assert "does not accept this key" in refused.stderr
    first = laptop.sync("--json")
    assert (first.returncode, answer(first)["added"]) == (0, MANY)
    assert laptop.stored() == laptop.wanted()
    assert not (laptop.folder.parent / "laptop" / "commonplace.db").exists()
    (laptop.folder / "src/0/module0.py").rename(laptop.folder / "moved.py")
    second = answer(laptop.sync("--json"))
    assert [(change["action"], change["path"]) for change in second["changes"]] == [
        ("moved", "/moved.py")
    ]
    watching = laptop.watch()
    try:
        assert watching.stderr is not None
        wait_until(lambda: "Watching" in watching.stderr.readline())
        laptop.write("late.py", "zebra = 1\n")
        wait_until(lambda: laptop.stored() == laptop.wanted())
        server.stop()
        assert "does not answer" in laptop.sync().stderr
        laptop.write("while_away.py", "yak = 1\n")
        (laptop.folder / "late.py").unlink()
        wait_until(lambda: "warning" in watching.stderr.readline())
        server.start()
        wait_until(lambda: laptop.stored() == laptop.wanted())
    finally:
        watching.send_signal(signal.SIGTERM)
        watching.communicate(timeout=TIMEOUT_SECONDS)
    assert watching.returncode == 0
