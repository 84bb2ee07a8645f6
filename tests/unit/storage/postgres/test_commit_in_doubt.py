"""A connection that ends during a commit: the server tells whether the commit happened."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    NEXT_REQUEST = "next request"


class Relay:
    """Passes bytes between a client and the server.

    The first COMMIT is lost, or its answer, or the first thing that the client says after it; the
    client hears some last words, and all ends.
    """

    def __init__(self, url: str, last_words: bytes, lost: Lost, *, for_ever: bool) -> None:
        self._server = conninfo_to_dict(url)
        self._last_words = last_words
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
                    if self._lost is Lost.ANSWER:
                        self._end(client)
                        return
                    ended.set()
                client.sendall(data)

    def _end(self, client: socket.socket) -> None:
        with suppress(OSError):  # the client was faster
            client.sendall(self._last_words)
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(params=[b"", GOODBYE], ids=["silence", "good-bye"])
def last_words(request: pytest.FixtureRequest) -> bytes:
    words: bytes = request.param
    return words


@pytest.fixture
def table(empty_postgres: str) -> str:
    with psycopg.connect(empty_postgres) as connection:
        connection.execute("CREATE TABLE line (text TEXT)")
    return empty_postgres


@contextmanager
def behind_relay(
    url: str, last_words: bytes, lost: Lost, *, for_ever: bool = False
) -> Iterator[PostgresDatabase]:
    relay = Relay(url, last_words, lost, for_ever=for_ever)
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
def test_a_unit_takes_effect_once_whatever_was_lost(
    table: str, last_words: bytes, lost: Lost
) -> None:
    with behind_relay(table, last_words, lost) as database:
        add(database, "once")
        add(database, "then")
    assert lines(table) == ["once", "then"]


def test_a_change_that_nobody_can_ask_about_is_reported_as_unknown(
    table: str, last_words: bytes
) -> None:
    with (
        behind_relay(table, last_words, Lost.ANSWER, for_ever=True) as database,
        pytest.raises(CommonplaceError) as unknown,
    ):
        add(database, "once")
    assert unknown.value.code.name == "STORAGE_UNAVAILABLE"
    assert unknown.value.details == {"outcome": "unknown"}
    assert lines(table) == ["once"]
