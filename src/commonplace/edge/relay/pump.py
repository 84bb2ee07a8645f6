"""Passing bytes between a client and its server, and to a new server when that one ends."""

from __future__ import annotations

import os
import select
import signal
import socket

from commonplace.edge.relay.conversation import KEPT_BYTES, Conversation
from commonplace.edge.relay.lines import LAST_PART, WHOLE, LineSplitter

TYPE_CHECKING = False  # importing it costs a megabyte
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Reconnect = Callable[[Sequence[Sequence[str]]], tuple["ServerLink", list[bool]]]

READ_BYTES = 64 * 1024
PIPE_WRITE_BYTES = 4096  # what a pipe that is ready takes without blocking (PIPE_BUF)
HIGH_WATER_BYTES = 256 * 1024
LONGEST_ANSWER = 1024 * 1024  # an answer up to here is passed on whole, so never half of it
STDIN, STDOUT = 0, 1


class ServerLost(Exception):
    """The server ended or closed the connection."""


class ServerLink:
    """The connection to a server: a socket, or two pipes."""

    def __init__(self, read: int, write: int, connection: socket.socket | None = None) -> None:
        self.read_fd = read
        self.write_fd = write
        self._connection = connection
        os.set_blocking(read, False)
        os.set_blocking(write, False)

    @classmethod
    def over(cls, connection: socket.socket) -> ServerLink:
        """Return the link of a connected socket."""
        return cls(connection.fileno(), connection.fileno(), connection)

    def read(self) -> bytes:
        """Read what is there. Raises ServerLost."""
        try:
            data = os.read(self.read_fd, READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            raise ServerLost from None
        if not data:
            raise ServerLost
        return data

    def write(self, data: bytes | bytearray) -> int:
        """Write as much as fits; return how much that was. Raises ServerLost."""
        try:
            return os.write(self.write_fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            raise ServerLost from None

    def end_input(self) -> None:
        """Tell the server that nothing more comes."""
        if self._connection is None:
            os.close(self.write_fd)
            self.write_fd = -1
            return
        try:
            self._connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        """Close both directions."""
        if self._connection is not None:
            self._connection.close()
            return
        for descriptor in (self.read_fd, self.write_fd):
            if descriptor >= 0:
                os.close(descriptor)


class Relay:
    """Runs until the client leaves. `reconnect` makes a new link and judges pending requests."""

    def __init__(self, link: ServerLink, conversation: Conversation, reconnect: Reconnect) -> None:
        self._link: ServerLink | None = link
        self._conversation = conversation
        self._reconnect = reconnect
        self._from_client = LineSplitter(KEPT_BYTES)
        self._from_server = LineSplitter(LONGEST_ANSWER)
        self._to_server = bytearray()
        self._to_client = bytearray()
        self._input_ended = False  # the client closed its side
        self._output_ended = False  # ... and the server was told
        self._is_skipping = False  # the rest of a long line whose server ended
        self._wake_read, self._wake_write = os.pipe()

    def run(self) -> int:
        """Relay until one side ends for good; return the exit code."""
        signal.signal(signal.SIGTERM, lambda *_: os.write(self._wake_write, b"."))
        while True:
            try:
                self._step()
                if self._is_done():
                    return 0
            except ServerLost:
                if self._is_over():
                    self._flush_client()
                    return 0
                self._lose_server()
            except BrokenPipeError:  # the client is gone
                return 0

    def _is_done(self) -> bool:
        return self._link is None and self._input_ended and not self._to_client

    def _is_over(self) -> bool:
        """Whether nobody waits for a server: the client left or said exit."""
        conversation = self._conversation
        return conversation.is_leaving or (self._input_ended and not conversation.pending)

    def _step(self) -> None:
        is_all_sent = self._input_ended and not self._to_server
        if is_all_sent and not self._output_ended and self._link is not None:
            self._output_ended = True
            self._link.end_input()
        ready = dict(self._wait())
        if ready.get(STDOUT, 0) & (select.POLLERR | select.POLLNVAL):
            raise BrokenPipeError
        if self._wake_read in ready:
            os.read(self._wake_read, 64)
            self._end_input()
        if ready.get(STDOUT, 0) & select.POLLOUT and self._to_client:
            self._write_client()
        if self._link is not None:
            self._exchange(self._link, ready)
        if ready.get(STDIN) and not self._input_ended:
            self._read_client()

    def _wait(self) -> list[tuple[int, int]]:
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        poll.register(STDOUT, select.POLLOUT if self._to_client else 0)
        if not self._input_ended and len(self._to_server) < HIGH_WATER_BYTES:
            poll.register(STDIN, select.POLLIN)
        if self._link is not None:
            events = {self._link.read_fd: 0}
            if len(self._to_client) < HIGH_WATER_BYTES:
                events[self._link.read_fd] |= select.POLLIN
            if self._to_server:
                events[self._link.write_fd] = events.get(self._link.write_fd, 0) | select.POLLOUT
            for descriptor, wanted in events.items():
                if wanted:
                    poll.register(descriptor, wanted)
        return poll.poll()

    def _exchange(self, link: ServerLink, ready: dict[int, int]) -> None:
        read_events = ready.get(link.read_fd, 0)
        if read_events & (select.POLLIN | select.POLLHUP | select.POLLERR):
            for kind, data in self._from_server.feed(link.read()):
                self._take_from_server(kind, data)
        if self._to_server and ready.get(link.write_fd, 0) & (select.POLLOUT | select.POLLERR):
            del self._to_server[: link.write(self._to_server[:READ_BYTES])]

    def _take_from_server(self, kind: str, data: bytes) -> None:
        if kind == WHOLE:
            passed = self._conversation.take_server_line(data)
            if passed is not None:
                self._to_client += passed
            return
        self._to_client += data
        if kind == LAST_PART:
            self._conversation.take_server_line(self._from_server.head)

    def _read_client(self) -> None:
        data = os.read(STDIN, READ_BYTES)
        if not data:
            self._end_input()
            return
        if self._link is None:
            self._resume()  # before these lines count as requests that the old server has
        for kind, part in self._from_client.feed(data):
            self._take_from_client(kind, part)

    def _take_from_client(self, kind: str, part: bytes) -> None:
        if kind == WHOLE:
            passed = self._conversation.take_client_line(part)
            if passed is not None:
                self._to_server += passed
            return
        if not self._is_skipping:
            self._to_server += part
        if kind == LAST_PART:
            splitter = self._from_client
            key = self._conversation.take_long_line(splitter.head, splitter.tail)
            request = self._conversation.pending.get(key) if key is not None else None
            if self._is_skipping and request is not None:
                self._to_client += self._conversation.fail(request)
            self._is_skipping = False

    def _end_input(self) -> None:
        if not self._input_ended:
            self._input_ended = True
            for kind, part in self._from_client.finish():
                self._take_from_client(kind, part)

    def _lose_server(self) -> None:
        """Go on with a new server: at once if something waits for it, else at the next line."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._from_server.is_inside_long_line:
            self._to_client += b"\n"  # half an answer was passed on; its request is settled below
        self._from_server = LineSplitter(LONGEST_ANSWER)
        self._to_server.clear()
        self._is_skipping = self._from_client.is_inside_long_line
        if self._conversation.needs_server:
            self._resume()

    def _resume(self) -> None:
        conversation = self._conversation
        self._link, safe = self._reconnect(conversation.requests())
        self._output_ended = False
        lines, answers = conversation.resume(safe)
        self._to_server += b"".join(lines)
        self._to_client += b"".join(answers)

    def _flush_client(self) -> None:
        while self._to_client:
            select.select([], [STDOUT], [])
            self._write_client()

    def _write_client(self) -> None:
        try:
            del self._to_client[: os.write(STDOUT, self._to_client[:PIPE_WRITE_BYTES])]
        except BlockingIOError:  # the client set its pipe so
            pass
