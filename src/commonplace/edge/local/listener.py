"""The listener of the local server: sessions, status, stopping, idleness and versions."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
import struct
import time
from collections.abc import Callable

import orjson

from commonplace.dispatch.error_table import INVALID_PARAMS, numbers_of
from commonplace.edge.jsonrpc import RpcError, encode_error, encode_notification, encode_result
from commonplace.edge.local.attached import (
    HOOK_ROLE,
    Admission,
    AdmittedClient,
    Attachment,
    NotSharedError,
)
from commonplace.edge.local.duplex import SocketStream
from commonplace.edge.relay.attachment import ATTACH, PROTOCOL, STATUS, STOP
from commonplace.edge.relay.conversation import STOPPING
from commonplace.edge.stdio.line_writer import LineWriter
from commonplace.edge.stdio.session import ClientSession
from commonplace.kernel.errors import UNAUTHENTICATED, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

log = logging.getLogger("commonplace.edge.local")

FIRST_LINE_BYTES = 256 * 1024
MOST_CONNECTIONS = 256
TICK_SECONDS = 1.0
REFUSED = -32005
RETIRED = "retired"  # an older server without clients, which ends
_OURS = b'"commonplace/'
_NUMBER = re.compile(r"[0-9]+")


class LocalListener:
    """Serves connections until it is told to stop or nobody used it for `idle_seconds`.

    `on_tick` is called about once a second. With `idle_seconds` 0 it never stops by itself.
    """

    def __init__(
        self,
        listener: socket.socket,
        admission: Admission,
        version: str,
        *,
        idle_seconds: float,
        describe: Callable[[], JsonObject],
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._listener = listener
        self._admission = admission
        self._version = version
        self._idle_seconds = idle_seconds
        self._describe = describe
        self._on_tick = on_tick
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: dict[ClientSession, LineWriter] = {}
        self._last_used = time.monotonic()
        self._served = 0
        self._is_outdated = False  # a newer client wanted to attach: stop with the last session

    async def run(self) -> None:
        """Serve until the end, and drain the sessions."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        accepting = loop.create_task(self._accept())
        watching = loop.create_task(self._watch())
        await self._stopping.wait()
        self._listener.close()
        for task in (accepting, watching):
            task.cancel()
        for session, writer in tuple(self._sessions.items()):
            writer.send(encode_notification(STOPPING, {}))
            session.end_input()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=15.0)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:  # out of descriptors: others may close soon
                log.warning("cannot accept a connection: %s", error)
                await asyncio.sleep(0.2)
                continue
            if len(self._tasks) >= MOST_CONNECTIONS or not is_own_process(connection):
                connection.close()
                continue
            task = loop.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._on_tick()
            idle = not self._sessions and time.monotonic() - self._last_used
            if self._idle_seconds and idle is not False and idle >= self._idle_seconds:
                log.info("stopping after %.0f s without clients", idle)
                self._stopping.set()

    async def _serve(self, connection: socket.socket) -> None:
        ended = asyncio.Event()
        try:
            stream = await SocketStream.open(connection, ended.set)
            writer = LineWriter.over(stream.transport, stream.flow)
            line = await stream.read_first_line(FIRST_LINE_BYTES)
            client = await self._answer_first_line(line, writer)
            if client is not None:
                if not _is_ours(line):
                    stream.put_back(line)
                await self._run_session(client, stream, writer, ended)
            await writer.close()
        except (OSError, ConnectionError):
            pass
        except Exception:  # one client must not end the others
            log.exception("a connection failed")
        finally:
            connection.close()

    async def _run_session(
        self,
        client: AdmittedClient,
        stream: SocketStream,
        writer: LineWriter,
        ended: asyncio.Event,
    ) -> None:
        self._served += 1
        session = ClientSession(
            client.core,
            stream.read,
            writer,
            ended,
            caller=client.caller,
            name=f"local-{self._served}",
        )
        self._sessions[session] = writer
        try:
            await session.run()
        finally:
            del self._sessions[session]
            self._last_used = time.monotonic()
            if self._is_outdated and not self._sessions:
                self._stopping.set()

    async def _answer_first_line(self, line: bytes, writer: LineWriter) -> AdmittedClient | None:
        """Return the client of a session, or None if the line was answered or refused."""
        if not _is_ours(line):
            return self._admission.admit_plain() if line else None
        message = orjson.loads(line)
        method, request_id = message["method"], message.get("id")
        if method == STATUS:
            writer.send(encode_result(request_id, orjson.dumps(self._status())))
        elif method == STOP:
            writer.send(encode_result(request_id, b"{}"))
            self._stopping.set()
        elif method == ATTACH:
            return self._attach(message, writer)
        else:
            writer.send(encode_error(request_id, RpcError(INVALID_PARAMS, "unknown first line")))
        return None

    def _attach(self, message: JsonObject, writer: LineWriter) -> AdmittedClient | None:
        request_id = message.get("id")
        try:
            attachment = Attachment.of(message.get("params"))
            self._check_version(attachment)
            client = self._admission.admit(attachment)
        except ValueError as wrong:
            refused = _refusal(f"The attachment is malformed: {wrong}.", "protocol")
        except NotSharedError as different:
            refused = _refusal(str(different), different.reason)
        except CommonplaceError as error:
            reason = "key" if error.code is UNAUTHENTICATED else "configuration"
            refused = _refusal(error.message, reason, error.hint, numbers_of(error).exit_code)
        else:
            repeatable = [self._admission.is_repeatable(*call) for call in attachment.requests]
            result = {"version": self._version, "pid": os.getpid(), "repeatable": repeatable}
            writer.send(encode_result(request_id, orjson.dumps(result)))
            if attachment.role == HOOK_ROLE:
                self._last_used = time.monotonic()
            return client
        writer.send(encode_error(request_id, refused))
        return None

    def _check_version(self, attachment: Attachment) -> None:
        if attachment.protocol != PROTOCOL:
            raise NotSharedError(
                f"The local server speaks version {PROTOCOL} of attaching, this client version "
                f"{attachment.protocol}.",
                "protocol",
            )
        if version_key(attachment.version) <= version_key(self._version):
            return
        busy = bool(self._sessions)
        self._is_outdated = True
        if not busy:
            self._stopping.set()
        raise NotSharedError(
            f"The local server has version {self._version} and {len(self._sessions)} clients; "
            f"this client has version {attachment.version}.",
            "outdated" if busy else RETIRED,
        )

    def _status(self) -> JsonObject:
        return {
            "version": self._version,
            "pid": os.getpid(),
            "clients": len(self._sessions),
            "served": self._served,
            "outdated": self._is_outdated,
            "idle_seconds": 0.0 if self._sessions else round(time.monotonic() - self._last_used, 1),
            "idle_stop_seconds": self._idle_seconds,
            **self._describe(),
        }


def _is_ours(line: bytes) -> bool:
    """Tell whether a first line is for the server itself, not a message of MCP."""
    if _OURS not in line:
        return False
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    method = message.get("method") if isinstance(message, dict) else None
    return isinstance(method, str) and method.startswith("commonplace/")


def _refusal(message: str, reason: str, hint: str | None = None, exit_code: int = 1) -> RpcError:
    data: Json = {"reason": reason, "hint": hint, "exit_code": exit_code}
    return RpcError(REFUSED, message, data)


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to compare it with another."""
    return tuple(int(number) for number in _NUMBER.findall(version)[:3])


def is_own_process(connection: socket.socket) -> bool:
    """Tell whether the peer runs as this user, where the system says so."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the folder and the socket are for their owner alone
    size = struct.calcsize("3i")
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = struct.unpack("3i", peer)
    return bool(user == os.geteuid())
