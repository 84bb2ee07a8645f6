"""Readiness: whether every part that a change needs can be used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.kernel.errors import INTERNAL, CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.storage.errors import STORAGE_UNAVAILABLE
from commonplace.storage.failures import explain_failure

PROBE_SECONDS = 2.0
WARNING_SECONDS = 0.5  # of a part that is not required; many proxies wait for one second
KEPT_SECONDS = 0.25  # a report serves all who ask in this time, as probing writes to the disk


@dataclass(frozen=True, slots=True)
class Probe:
    """A part by name; `ask` raises where it cannot be used.

    Without a part that is not `required`, calls are still answered: its failure is a warning.
    """

    name: str
    ask: Callable[[], Awaitable[None]]
    required: bool = True


class Readiness:
    """Runs all probes together, with a bound on their time."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self._probes = tuple(probes)
        self._lock = asyncio.Lock()
        self._asked_at = float("-inf")
        self._results: dict[str, CommonplaceError | None] = {}

    async def report(self, details: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the report, or raise the first error of a required part; both carry `details`."""
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
        needed = [results[probe.name] for probe in self._probes if probe.required]
        failed = next((error for error in needed if error is not None), None)
        if failed is None:
            return {**_with_warnings(details, results.values()), "checks": checks}
        more = {**failed.details, **details, "checks": checks}
        raise CommonplaceError(
            failed.code, failed.message, hint=failed.hint, details=more, retryable=failed.retryable
        )


def _with_warnings(
    details: Mapping[str, Json], results: Iterable[CommonplaceError | None]
) -> Mapping[str, Json]:
    found = details.get("warnings")
    warnings: list[Json] = list(found) if isinstance(found, list) else []
    warnings += [f"{error.message} {error.hint or ''}".strip() for error in results if error]
    return {**details, "warnings": warnings} if warnings else details


async def _ask(probe: Probe) -> CommonplaceError | None:
    seconds = PROBE_SECONDS if probe.required else WARNING_SECONDS
    try:
        async with asyncio.timeout(seconds):
            await probe.ask()
    except TimeoutError:
        message = f"The {probe.name} did not answer within {seconds:g} seconds."
        return CommonplaceError(
            STORAGE_UNAVAILABLE, message, hint="Retry in a moment.", retryable=True
        )
    except Exception as error:  # whatever it is, the part cannot be used
        return explain_failure(error) or CommonplaceError(
            INTERNAL, f"The check of the {probe.name} failed ({type(error).__name__})."
        )
    return None
