"""Progress of calls above a second, for clients that ask for it."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from commonplace.dispatch.tool import ClientChannel
from commonplace.kernel.json_types import Json

log = logging.getLogger("commonplace.dispatch")

QUIET_SECONDS = 1.0  # calls that end before get their answer only
INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Stage:
    """How far a stage of the work is; without a total its end is unknown."""

    name: str
    done: int
    total: int | None


class ProgressNote(NamedTuple):
    """What one notification says."""

    done: float
    total: float | None
    message: str


class CallProgress(ClientChannel):
    """The channel of a call whose client wants progress.

    While the call runs, the client hears of it every second: the latest stage that the handler
    reported, or else the seconds that have passed. The value rises with every notification, as the
    protocol demands, also while a stage does not move and when another one begins.
    """

    wants_progress = True

    def __init__(self, channel: ClientChannel, tool: str) -> None:
        self._channel = channel
        self._tool = tool
        self._begun = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._reported: Stage | None = None  # written by any thread
        self._shown: Stage | None = None
        self._base = 0  # what earlier stages have counted
        self._repeats = 0  # notifications since the stage last moved
        self._last = -math.inf  # the value of the last notification

    def report(self, stage: str, done: int, total: int | None = None) -> None:
        """Note how far the call is; the next notification tells the client."""
        self._reported = Stage(stage, done, total)

    def start(self) -> None:
        """Notify the client from the first second on."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(QUIET_SECONDS, self._begin)

    def stop(self) -> None:
        """Send nothing more: the answer comes next."""
        if self._timer is not None:
            self._timer.cancel()
        if self._sending is not None:
            self._sending.cancel()

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Notify the client at once, unless the value would not rise."""
        if done > self._last:
            self._last = done
            await self._channel.progress(done, total, message)

    async def log(self, level: str, data: Json, logger: str | None = None) -> None:
        await self._channel.log(level, data, logger)

    async def request(self, method: str, params: Mapping[str, Json]) -> Json:
        return await self._channel.request(method, params)

    def _begin(self) -> None:
        self._sending = asyncio.get_running_loop().create_task(self._notify())

    async def _notify(self) -> None:
        try:
            while True:
                await self.progress(*self.describe())
                await asyncio.sleep(INTERVAL_SECONDS)
        except Exception:  # whatever a closed connection raises: the call itself goes on
            log.debug("progress of %s cannot be sent", self._tool, exc_info=True)

    def describe(self) -> ProgressNote:
        """Return what the next notification says."""
        stage = self._reported
        if stage is None:
            seconds = time.monotonic() - self._begun
            value = max(round(seconds, 1), self._last + 0.1)
            return ProgressNote(value, None, f"{self._tool}: {seconds:.0f} s")
        shown = self._shown
        if shown is None or shown.name != stage.name or stage.done < shown.done:
            self._base = max(0, math.floor(self._last) + 1) if self._last >= 0 else 0
            self._repeats = 0
        elif stage.done > shown.done:
            self._repeats = 0
        else:
            self._repeats += 1
        self._shown = stage
        # between two steps the value approaches the next one and never reaches it
        value = self._base + stage.done + self._repeats / (self._repeats + 1)
        if stage.total is None:
            return ProgressNote(value, None, f"{stage.name}: {stage.done}")
        total = self._base + stage.total
        message = f"{stage.name}: {stage.done} of {stage.total}"
        return ProgressNote(value, total if value < total else None, message)
