"""What /readyz tells: every part that a change needs, asked together, with a bound on the time
and on how often.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.kernel.errors import INTERNAL, CommonplaceError
from commonplace.storage.errors import STORAGE_UNAVAILABLE
from commonplace.storage.failures import explain_failure

PROBE_SECONDS = 2.0
KEPT_SECONDS = 0.25  # the report answers all who ask within this time: probing writes to the disk


@dataclass(frozen=True, slots=True)
class Probe:
    """A part by name, and how to ask whether it can be used: `ask` raises where it cannot."""

    name: str
    ask: Callable[[], Awaitable[None]]


class Readiness:
    """Runs all probes."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self._probes = tuple(probes)
        self._lock = asyncio.Lock()
        self._asked_at = float("-inf")
        self._results: dict[str, CommonplaceError | None] = {}

    async def report(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the report of a server that is ready; raise the first probe's error otherwise.

        `details` are in both.
        """
        async with self._lock:
            if time.monotonic() - self._asked_at > KEPT_SECONDS:
                outcomes = await asyncio.gather(*(_asked(probe) for probe in self._probes))
                self._results = dict(
                    zip((probe.name for probe in self._probes), outcomes, strict=True)
                )
                self._asked_at = time.monotonic()
            results = dict(self._results)
        checks = {
            name: "ok" if error is None else error.code.name for name, error in results.items()
        }
        failed = next((error for error in results.values() if error is not None), None)
        if failed is None:
            return {**details, "checks": checks}
        more = {**failed.details, **details, "checks": checks}
        raise CommonplaceError(
            failed.code, failed.message, hint=failed.hint, details=more, retryable=failed.retryable
        )


async def _asked(probe: Probe) -> CommonplaceError | None:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await probe.ask()
    except TimeoutError:
        message = f"The {probe.name} did not answer within {PROBE_SECONDS:.0f} seconds."
        return CommonplaceError(
            STORAGE_UNAVAILABLE, message, hint="Retry in a moment.", retryable=True
        )
    except Exception as error:  # whatever a probe meets means that its part cannot be used
        return explain_failure(error) or CommonplaceError(
            INTERNAL, f"The check of the {probe.name} failed ({type(error).__name__})."
        )
    return None
