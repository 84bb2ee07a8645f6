"""A project on a server elsewhere, for commands that bring files to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.files.engine.sync import SyncAction, SyncOutcome, SyncWrite
from commonplace.files.errors import CODES as FILE_CODES
from commonplace.files.model import FilePath, Provenance, StoredFile, project_name
from commonplace.files.project_sync import ProjectView
from commonplace.kernel.errors import CODES, NOT_AVAILABLE, UNKNOWN_TOOL, Code, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.console.caller import Answer

PATIENCE_SECONDS = 120.0  # for a server that is busy, restarts or cannot be reached
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 15.0
INDEX_POLL_SECONDS = 0.5
REFUSED = "refused"
_CODES: dict[str, Code] = {code.name: code for code in (*FILE_CODES, *CODES)}


class ToolCaller(Protocol):
    """Calls tools of a server."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer: ...


class RemoteProject:
    """Implements `SyncTarget` by calls to a server; calls that may succeed later are repeated.

    Repeating is safe: a step that was done, and whose answer got lost, is done again without
    effect. `waiting` is told why nothing happens.
    """

    def __init__(
        self,
        remote: ToolCaller,
        project: str,
        waiting: Callable[[str], None],
        patience_seconds: float = PATIENCE_SECONDS,
        first_delay_seconds: float = FIRST_DELAY_SECONDS,
    ) -> None:
        self._remote = remote
        self._project = project_name(project)
        self._waiting = waiting
        self._patience_seconds = patience_seconds
        self._first_delay_seconds = first_delay_seconds

    async def view(self, origin: str, after: str) -> ProjectView:
        page = await self._call("file_sync_state", {"origin": origin, "after": after})
        files = (
            StoredFile(
                FilePath(row["path"]), row["content_hash"], Provenance(row.get("source_path"))
            )
            for row in page["files"]
        )
        return ProjectView(
            {file.path: file for file in files},
            {FilePath(path): digest for path, digest in page["brought"].items()},
            {FilePath(path): digest for path, digest in page["brought_by_others"].items()},
            page["max_file_bytes"],
            page["next"],
        )

    async def apply(
        self, origin: str, batch: Sequence[SyncWrite], *, takes_over: bool
    ) -> list[SyncOutcome | CommonplaceError]:
        answer = await self._call(
            "file_sync_apply",
            {
                "origin": origin,
                "steps": [_step_out(write) for write in batch],
                "take_over": takes_over,
            },
        )
        return [
            _error_of(row["error"]) if row["outcome"] == REFUSED else SyncOutcome(row["outcome"])
            for row in answer["outcomes"]
        ]

    async def wait_until_indexed(
        self, timeout_seconds: float, progress: Callable[[int], None] = lambda waiting: None
    ) -> bool:
        """Wait until the words of the project are searchable; False if they are not in time."""
        until = time.monotonic() + timeout_seconds
        while True:
            state = await self._call("file_index_status", {})
            waiting = state["pending"] + state["processing"]
            progress(waiting)
            if not waiting or time.monotonic() > until:
                return not waiting
            await asyncio.sleep(INDEX_POLL_SECONDS)

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        until = time.monotonic() + self._patience_seconds
        delay = self._first_delay_seconds
        while True:
            answer = await self._remote.call(tool, {"project": self._project, **arguments})
            if answer.error is None:
                return answer.output
            error = _error_of(answer.error)
            if error.code is UNKNOWN_TOOL:
                error.hint = "The server is older than this command; update it."
            if not error.retryable or time.monotonic() + delay > until:
                raise error
            self._waiting(f"{error.message} Trying again for {until - time.monotonic():.0f} s.")
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY_SECONDS)


def _step_out(write: SyncWrite) -> JsonObject:
    step = write.step
    given: JsonObject = {
        "action": step.action.value,
        "path": step.path,
        "expected": step.expected,
        "source_path": write.source_path,
        "keep_replaced": step.replaces,
    }
    if step.action is SyncAction.PUT:
        given["content"] = write.content.decode()
    if step.source is not None:
        given["source"] = step.source
    return given


def _error_of(error: Mapping[str, Any]) -> CommonplaceError:
    """Return an error of the server as one of this process."""
    return CommonplaceError(
        _CODES.get(str(error.get("code")), NOT_AVAILABLE),
        str(error.get("message", "The server refused the call.")),
        hint=error.get("hint"),
        details=error.get("details") or {},
        retryable=bool(error.get("retryable")),
    )
