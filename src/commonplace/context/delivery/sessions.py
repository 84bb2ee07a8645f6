"""What each session of a client was given, in files of the data folder.

The servers of a team keep it in PostgreSQL (`shared_sessions.py`).

A session that is not used for a week is forgotten, as is the oldest above the limit. A damaged or
missing file means that nothing was delivered yet, so the worst that a loss causes is a repetition.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from commonplace.context.delivery.event import HookEvent
from commonplace.kernel.json_types import Json
from commonplace.storage.disk.private_files import FILE_MODE, make_private_folder
from commonplace.storage.locks.file_lock import exclusive_lock

Result = TypeVar("Result")
MAX_DELIVERED = 500
MAX_PATHS = 20
MAX_SESSIONS = 1_000
EXPIRES_SECONDS = 7 * 86_400.0
LOCK_NAME = ".lock"
_MAX_BYTES = 256 * 1024


class SessionState:
    """What the model of one session knows from us.

    `delivered` maps references to a hash of their text, oldest first. `pack` is the id of the last
    context pack. `prompt` and `paths` are what the session works on, for the time after a
    compaction. `waiting`: the prompt was not answered yet.
    """

    __slots__ = ("delivered", "pack", "paths", "prompt", "waiting")

    def __init__(self) -> None:
        self.delivered: dict[str, str] = {}
        self.pack: str | None = None
        self.prompt = ""
        self.paths: list[str] = []
        self.waiting = False

    def forget_delivered(self) -> None:
        """Forget what was delivered, because the model's context no longer contains it."""
        self.delivered = {}
        self.pack = None

    def note_paths(self, paths: tuple[str, ...]) -> None:
        """Remember the paths of an edit as the latest ones."""
        earlier = [path for path in self.paths if path not in paths]
        self.paths = [*earlier, *paths][-MAX_PATHS:]

    def note_delivered(self, ref: str, fingerprint: str) -> None:
        self.delivered.pop(ref, None)
        self.delivered[ref] = fingerprint
        while len(self.delivered) > MAX_DELIVERED:
            del self.delivered[next(iter(self.delivered))]


class HookSessions(Protocol):
    """The states of sessions, by tenant."""

    def peek(self, tenant: str, event: HookEvent) -> SessionState:
        """Return the state of a session; somebody else may be about to change it."""
        ...

    def update(
        self, tenant: str, event: HookEvent, work: Callable[[SessionState], Result]
    ) -> Result:
        """Change the state of a session while nobody else does; return what `work` returns.

        `work` may be called again with the same state if the first attempt was not stored.
        """
        ...

    def delete_tenant(self, tenant: str) -> None: ...

    def move_tenant(self, old: str, new: str) -> None: ...


class SessionFolder:
    """The sessions of a data folder, shared by all processes that use it."""

    def __init__(
        self,
        data: Path,
        now: Callable[[], float] = time.time,
        max_sessions: int = MAX_SESSIONS,
    ) -> None:
        self._folder = data / "hooks" / "sessions"
        self._now = now
        self._max_sessions = max_sessions

    def peek(self, tenant: str, event: HookEvent) -> SessionState:
        """Return the state of a session; another process may be about to change it."""
        return self._read(self._path(tenant, event))

    @contextlib.contextmanager
    def change(self, tenant: str, event: HookEvent) -> Iterator[SessionState]:
        """Hold the state of a session while it is changed; it is written afterwards."""
        if not self._folder.is_dir():
            make_private_folder(self._folder)
        path = self._path(tenant, event)
        with exclusive_lock(self._folder / LOCK_NAME):
            is_new = not path.exists()
            state = self._read(path)
            yield state
            self._write(path, state)
            if is_new:
                self._expire()

    def update(
        self, tenant: str, event: HookEvent, work: Callable[[SessionState], Result]
    ) -> Result:
        """Change the state of a session; return what `work` returns."""
        with self.change(tenant, event) as state:
            return work(state)

    def delete_tenant(self, tenant: str) -> None:
        """Delete the files of a tenant."""
        for path in self._folder.glob(f"{_digest(tenant)}-*"):
            path.unlink(missing_ok=True)

    def move_tenant(self, old: str, new: str) -> None:
        """Give the files of a tenant to another name."""
        self.delete_tenant(new)
        for path in self._folder.glob(f"{_digest(old)}-*"):
            path.replace(path.with_name(path.name.replace(_digest(old), _digest(new), 1)))

    def _path(self, tenant: str, event: HookEvent) -> Path:
        return self._folder / f"{_digest(tenant)}-{session_key(event)}.json"

    def _read(self, path: Path) -> SessionState:
        try:
            if self._now() - path.stat().st_mtime > EXPIRES_SECONDS:
                return SessionState()
            content = path.read_bytes()
            return (
                decode_state(json.loads(content)) if len(content) <= _MAX_BYTES else SessionState()
            )
        except (OSError, ValueError, RecursionError):
            return SessionState()

    def _write(self, path: Path, state: SessionState) -> None:
        """Replace the file; not synced, because a loss only repeats a rule."""
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode_state(state).encode())
        now = self._now()
        os.utime(temporary, (now, now))
        temporary.replace(path)

    def _expire(self) -> None:
        """Delete the sessions that are too old or too many."""
        ages: list[tuple[float, str]] = []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.name != LOCK_NAME:
                        ages.append((entry.stat().st_mtime, entry.name))
        ages.sort(reverse=True)
        oldest = self._now() - EXPIRES_SECONDS
        for position, (used, name) in enumerate(ages):
            if position >= self._max_sessions or used < oldest:
                (self._folder / name).unlink(missing_ok=True)


def session_key(event: HookEvent) -> str:
    """Return the hash of client, session and agent."""
    return _digest("\0".join((event.client, event.session, event.agent)), 32)


def _digest(text: str, length: int = 16) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def encode_state(state: SessionState) -> str:
    """Return a state as JSON, in ASCII."""
    return json.dumps({name: getattr(state, name) for name in SessionState.__slots__})


def decode_state(value: Json) -> SessionState:
    """Return the state that JSON describes. Raises ValueError where it has another form."""
    if not isinstance(value, dict):
        raise ValueError("not an object")
    delivered, pack, paths = value.get("delivered"), value.get("pack"), value.get("paths")
    if not isinstance(delivered, dict) or not isinstance(paths, list):
        raise ValueError("not a session")
    state = SessionState()
    state.delivered = {str(ref): str(known) for ref, known in delivered.items()}
    state.pack = pack if isinstance(pack, str) else None
    state.prompt = str(value.get("prompt", ""))
    state.paths = [str(path) for path in paths]
    state.waiting = value.get("waiting") is True
    return state
