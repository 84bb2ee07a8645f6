"""The last hour in slots of ten seconds: calls, errors, latency and memory.

A slot is created by its first call, so an idle process does no work.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SLOT_SECONDS = 10
SLOTS = 360
MAX_TENANTS_PER_SLOT = 50
_STATM = Path("/proc/self/statm")


@dataclass(slots=True)
class _Tally:
    calls: int = 0
    errors: int = 0
    seconds: float = 0.0
    maximum: float = 0.0


@dataclass(slots=True)
class _Slot:
    number: int
    memory_bytes: int
    tallies: dict[str, _Tally] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimelineSlot:
    """The figures of one slot. `memory_bytes` is the memory of the process at its start."""

    at: float  # start of the slot, in seconds since 1970
    calls: int
    errors: int
    average_ms: float
    maximum_ms: float
    memory_bytes: int


class Timeline:
    """The slots of the last hour, bounded in tenants per slot: a few megabytes at most."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._slots: deque[_Slot] = deque(maxlen=SLOTS)

    def record(self, tenant: str, seconds: float, failed: bool) -> None:
        """Count a call."""
        number = int(self._clock()) // SLOT_SECONDS
        slots = self._slots
        if not slots or slots[-1].number != number:
            slots.append(_Slot(number, memory_bytes()))
        tallies = slots[-1].tallies
        tally = tallies.get(tenant)
        if tally is None:
            tally = tallies.setdefault(
                tenant if len(tallies) < MAX_TENANTS_PER_SLOT else "", _Tally()
            )
        tally.calls += 1
        tally.seconds += seconds
        tally.errors += failed
        if seconds > tally.maximum:
            tally.maximum = seconds

    def slots(self, tenant: str | None) -> list[TimelineSlot]:
        """Return the slots that have calls, oldest first; of one tenant, or of all."""
        since = int(self._clock()) // SLOT_SECONDS - SLOTS
        return [_summarize(slot, tenant) for slot in list(self._slots) if slot.number > since]


def memory_bytes() -> int:
    """Return the resident memory of this process; 0 if the system does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _summarize(slot: _Slot, tenant: str | None) -> TimelineSlot:
    wanted = [
        tally for owner, tally in list(slot.tallies.items()) if tenant is None or owner == tenant
    ]
    calls, seconds = sum(tally.calls for tally in wanted), sum(tally.seconds for tally in wanted)
    return TimelineSlot(
        at=slot.number * SLOT_SECONDS,
        calls=calls,
        errors=sum(tally.errors for tally in wanted),
        average_ms=round(seconds / calls * 1e3, 3) if calls else 0.0,
        maximum_ms=round(max((tally.maximum for tally in wanted), default=0.0) * 1e3, 3),
        memory_bytes=slot.memory_bytes,
    )
