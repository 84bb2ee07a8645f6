"""Readiness: whether every part that a change needs can be used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.kernel.errors import INTERNAL, CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.storage.errors import STORAGE_UNAVAILABLE
from commonplace.storage.failures import explain_failure

PROBE_SECONDS = 2.0
KEPT_SECONDS = 0.25  # a report serves all who ask in this time, as probing writes to the disk


@dataclass(frozen=True, slots=True)
class Probe:
    """A part by name; `ask` raises where it cannot be used."""

    name: str
    ask: Callable[[], Awaitable[None]]


class Readiness:
    """Runs all probes together, with a bound on their time."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self._probes = tuple(probes)
        self._lock = asyncio.Lock()
        self._asked_at = float("-inf")
        self._results: dict[str, CommonplaceError | None] = {}

    async def report(self, details: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the report, or raise the first probe's error; both carry `details`."""
        async with self._lock:
            if time.monotonic() - self._asked_at > KEPT_SECONDS:
                outcomes = await asyncio.gather(*(_ask(probe) for probe in self._probes))
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


async def _ask(probe: Probe) -> CommonplaceError | None:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await probe.ask()
    except TimeoutError:
        message = f"The {probe.name} did not answer within {PROBE_SECONDS:.0f} seconds."
        return CommonplaceError(
            STORAGE_UNAVAILABLE, message, hint="Retry in a moment.", retryable=True
        )
    except Exception as error:  # whatever it is, the part cannot be used
        return explain_failure(error) or CommonplaceError(
            INTERNAL, f"The check of the {probe.name} failed ({type(error).__name__})."
        )
    return None
