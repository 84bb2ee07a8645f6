"""Events of reviews in one file of the state folder, a JSON line each."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from commonplace.instructions.engine.review.events import ReviewEvent, collect_threads
from commonplace.instructions.store.review.log import NewEvents
from commonplace.kernel.durability import sync_file
from commonplace.storage.disk.access import append_record
from commonplace.storage.disk.atomic_write import write_atomically
from commonplace.storage.disk.private_files import FILE_MODE, make_private_folder

KEEP_BYTES = 32 * 1024 * 1024  # beyond it, ended reviews lose their older rounds


class ReviewFile:
    """Events in `reviews.jsonl`, appended under the lock of the catalogue's writer."""

    def __init__(self, state: Path, *, keep_bytes: int = KEEP_BYTES) -> None:
        self._path = state / "reviews.jsonl"
        self._keep_bytes = keep_bytes
        self._inode = 0

    def since(self, position: int) -> NewEvents:
        """Return the events after an offset in bytes; incomplete lines are left for later."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return NewEvents((), 0, complete=position > 0)
        try:
            status = os.fstat(descriptor)
            replaced = status.st_ino != self._inode or status.st_size < position
            start = 0 if replaced else position
            content = os.pread(descriptor, status.st_size - start, start)
        finally:
            os.close(descriptor)
        self._inode = status.st_ino
        end = content.rfind(b"\n") + 1
        events = tuple(_parse(content[:end].splitlines()))
        return NewEvents(events, start + end, complete=replaced)

    def append(self, event: ReviewEvent) -> None:
        """Append an event and wait for the disk."""
        line = orjson.dumps(event.to_json(), option=orjson.OPT_APPEND_NEWLINE)
        make_private_folder(self._path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, FILE_MODE)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":  # of a process that died
                line = b"\n" + line
            append_record(descriptor, line)
            sync_file(descriptor)
        finally:
            os.close(descriptor)
        if size + len(line) > self._keep_bytes:
            self._shorten()

    def _shorten(self) -> None:
        """Keep reviews that go on, and the last round of those that ended, without its texts."""
        events = list(_parse(self._path.read_bytes().splitlines()))
        threads = collect_threads({}, events)
        kept = []
        for thread in threads.values():
            for event in thread.events[-1:] if not thread.round else thread.round:
                stored = event.to_json()
                if thread.proposal is None:
                    stored.pop("entry", None)
                kept.append(orjson.dumps(stored, option=orjson.OPT_APPEND_NEWLINE))
        write_atomically(self._path, b"".join(kept))


def _parse(lines: Iterable[bytes]) -> Iterator[ReviewEvent]:
    for line in lines:
        with contextlib.suppress(orjson.JSONDecodeError, KeyError, ValueError, TypeError):
            yield ReviewEvent.from_json(orjson.loads(line))
