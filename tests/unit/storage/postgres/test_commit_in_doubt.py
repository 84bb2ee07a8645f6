"""A connection that ends right after a commit: the unit never runs again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase

_FIELDS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
GOODBYE = b"E" + (len(_FIELDS) + 4).to_bytes(4, "big") + _FIELDS


class Relay:
    """Passes bytes between a client and the server.

    The answer to the first COMMIT is lost, or the first thing that the client says after it; the
    client hears some last words, and all ends.
    """

    def __init__(self, url: str, last_words: bytes, answered: bool) -> None:
        self._server = conninfo_to_dict(url)
        self._last_words = last_words
        self._answered = answered
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
                    committing.set()
                server.sendall(data)
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
                    if not self._answered:
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
def behind_relay(url: str, last_words: bytes, *, answered: bool) -> Iterator[PostgresDatabase]:
    relay = Relay(url, last_words, answered)
    database = PostgresDatabase(relay.url, pool_size=1)
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


def test_a_commit_whose_answer_was_lost_is_reported_and_not_repeated(
    table: str, last_words: bytes
) -> None:
    with behind_relay(table, last_words, answered=False) as database:
        with pytest.raises(CommonplaceError) as lost:
            add(database, "once")
        assert lost.value.code.name == "STORAGE_UNAVAILABLE"
        add(database, "then")
    assert lines(table) == ["once", "then"]


def test_a_commit_that_was_answered_is_not_repeated_when_the_connection_ends(
    table: str, last_words: bytes
) -> None:
    with behind_relay(table, last_words, answered=True) as database:
        with suppress(
            CommonplaceError
        ):  # the end may come before the answer was read: then it is in doubt
            add(database, "once")
        add(database, "then")
    assert lines(table) == ["once", "then"]
