"""A connection that ends during a commit: the server tells whether the commit happened."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase

_FIELDS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
GOODBYE = b"E" + (len(_FIELDS) + 4).to_bytes(4, "big") + _FIELDS


class Lost(Enum):
    """What does not arrive."""

    COMMIT = "commit"
    ANSWER = "answer"
    READY = "that the server is ready again, behind the answer"
    NEXT_REQUEST = "next request"


@dataclass(frozen=True)
class Ending:
    """What the client hears at the end, and how much later its connection is closed."""

    last_words: bytes
    seconds: float = 0.0


class Relay:
    """Passes bytes between a client and the server.

    The first COMMIT is lost, or its answer, or the first thing that the client says after it; the
    client hears some last words, and all ends.
    """

    def __init__(self, url: str, ending: Ending, lost: Lost, *, for_ever: bool) -> None:
        self._server = conninfo_to_dict(url)
        self._ending = ending
        self._ended: list[socket.socket] = []
        self._lost = lost
        self._for_ever = for_ever
        self._cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = make_conninfo(url, host="127.0.0.1", port=self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._cut and self._for_ever:
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client, self._dial()), daemon=True).start()

    def _dial(self) -> socket.socket:
        host, port = str(self._server["host"]), int(self._server.get("port") or 5432)
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        dialled = socket.socket(socket.AF_UNIX)
        dialled.connect(str(Path(host) / f".s.PGSQL.{port}"))
        return dialled

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        committing, ended = threading.Event(), threading.Event()
        threading.Thread(
            target=self._answers, args=(client, server, committing, ended), daemon=True
        ).start()
        with suppress(OSError):
            while data := client.recv(65536):
                if ended.is_set():
                    self._end(client)
                    break
                if b"COMMIT" in data and not self._cut:
                    self._cut = True
                    if self._lost is Lost.COMMIT:
                        self._end(client)
                        break
                    committing.set()
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()

    def _answers(
        self,
        client: socket.socket,
        server: socket.socket,
        committing: threading.Event,
        ended: threading.Event,
    ) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if committing.is_set() and b"COMMIT" in data:
                    if self._lost is Lost.READY:
                        client.sendall(data[: data.index(b"COMMIT\0") + len(b"COMMIT\0")])
                    if self._lost in (Lost.ANSWER, Lost.READY):
                        self._end(client)
                        return
                    ended.set()
                client.sendall(data)

    def _end(self, client: socket.socket) -> None:
        self._ended.append(client)
        with suppress(OSError):  # the client was faster
            client.sendall(self._ending.last_words)
            if self._ending.seconds:
                threading.Timer(self._ending.seconds, self._close, [client]).start()
            else:
                client.shutdown(socket.SHUT_RDWR)

    def _close(self, client: socket.socket) -> None:
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(
    params=[Ending(b""), Ending(GOODBYE), Ending(GOODBYE, 0.2)],
    ids=["silence", "good-bye", "good-bye before the end"],
)
def ending(request: pytest.FixtureRequest) -> Ending:
    chosen: Ending = request.param
    return chosen


@pytest.fixture
def table(empty_postgres: str) -> str:
    with psycopg.connect(empty_postgres) as connection:
        connection.execute("CREATE TABLE line (text TEXT)")
    return empty_postgres


@contextmanager
def behind_relay(
    url: str, ending: Ending, lost: Lost, *, for_ever: bool = False
) -> Iterator[PostgresDatabase]:
    relay = Relay(url, ending, lost, for_ever=for_ever)
    database = PostgresDatabase(relay.url, pool_size=1, settle_seconds=0.2 if for_ever else 15.0)
    yield database
    database.close()
    relay.close()


def add(database: PostgresDatabase, text: str) -> None:
    def work(connection: PostgresConnection) -> None:
        connection.execute("INSERT INTO line VALUES (%s) RETURNING text", (text,)).fetchone()

    database.write_now(work, lock="a")


def lines(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM line ORDER BY text")]


@pytest.mark.parametrize("lost", Lost)
def test_a_unit_takes_effect_once_whatever_was_lost(table: str, ending: Ending, lost: Lost) -> None:
    with behind_relay(table, ending, lost) as database:
        add(database, "once")
        add(database, "then")
    assert lines(table) == ["once", "then"]


@pytest.mark.parametrize("lost", Lost)
def test_a_read_of_one_snapshot_is_repeated(table: str, ending: Ending, lost: Lost) -> None:
    def count(connection: PostgresConnection) -> int:
        row = connection.execute("SELECT count(*) FROM line").fetchone()
        return int(row[0]) if row is not None else -1

    with behind_relay(table, ending, lost) as database:
        assert database.read_now(count, snapshot=True) == 0
        assert database.read_now(count, snapshot=True) == 0


def test_a_change_that_nobody_can_ask_about_is_reported_as_unknown(
    table: str, ending: Ending
) -> None:
    with (
        behind_relay(table, ending, Lost.ANSWER, for_ever=True) as database,
        pytest.raises(CommonplaceError) as unknown,
    ):
        add(database, "once")
    assert unknown.value.code.name == "STORAGE_UNAVAILABLE"
    assert unknown.value.details == {"outcome": "unknown"}
    assert lines(table) == ["once"]
