"""The answers of a batch."""

from __future__ import annotations

from collections.abc import Callable

Send = Callable[[bytes], None]


class BatchAnswers:
    """Collects the answers of a batch and sends them as one array."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._answers: list[bytes] = []
        self._closed = False
        self.expected = 0

    def __call__(self, answer: bytes) -> None:
        self._answers.append(answer)
        self._flush()

    def close(self) -> None:
        """Expect no more members."""
        self._closed = True
        self._flush()

    def drop_cancelled(self) -> None:
        """Expect one answer less: a member that its client cancelled gets none."""
        self.expected -= 1
        self._flush()

    def _flush(self) -> None:
        if self._closed and self._answers and len(self._answers) >= self.expected:
            self._send(b"[" + b",".join(self._answers) + b"]")
            self._answers = []
