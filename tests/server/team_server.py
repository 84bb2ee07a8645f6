"""A server of a team on its own data folder and a fixed port, which can be restarted."""

from __future__ import annotations

import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.program import COMMONPLACE, Served, environment
from model_client import configure

from servers import free_port

START_SECONDS = 60.0
STOP_SECONDS = 40.0


class TeamServer:
    """`commonplace serve --http` with settings of a team."""

    def __init__(
        self,
        folder: Path,
        storage: Mapping[str, Any],
        *,
        extra: Mapping[str, str] | None = None,
        flags: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._extra = extra
        self._flags = flags
        off = {"search": {"embedding": {"provider": "off"}}}
        configure(folder, off, storage={"pool_size": 4, **storage}, **settings)
        self.start()

    @property
    def url(self) -> str:
        return f"http://{self.address}/mcp"

    @property
    def served(self) -> Served:
        """The same server, for clients of other tests."""
        return Served(self.address, self._process)

    def start(self) -> None:
        with (self.folder / "stderr.txt").open("ab") as stderr:
            self._process = subprocess.Popen(
                [str(COMMONPLACE), "serve", "--http", self.address, *self._flags],
                env=environment(self.folder, self._extra),
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                cwd=self.folder,
            )
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up and self._process.poll() is None:
            if self.is_ready():
                return
            time.sleep(0.05)
        raise AssertionError(f"the server did not start: {self.log}")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(STOP_SECONDS)

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    @property
    def log(self) -> str:
        return (self.folder / "stderr.txt").read_text()

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
