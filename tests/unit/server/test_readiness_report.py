"""The report of readiness: what a failing part does to it."""

from __future__ import annotations

import asyncio
import time

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.server.readiness import Probe, Readiness


async def hang() -> None:
    await asyncio.sleep(60)


def test_a_part_that_is_not_required_and_hangs_delays_the_report_by_half_a_second() -> None:
    readiness = Readiness([Probe("cache", hang, required=False)])
    begun = time.monotonic()
    report = asyncio.run(readiness.report({"warnings": ["disk"]}))
    assert time.monotonic() - begun < 1.0  # Kubernetes waits for one second
    assert report["warnings"] == [
        "disk",
        "The cache did not answer within 0.5 seconds. Retry in a moment.",
    ]
    assert report["checks"] == {"cache": "STORAGE_UNAVAILABLE"}


def test_a_required_part_that_hangs_is_an_error_after_two_seconds() -> None:
    readiness = Readiness([Probe("database", hang)])
    with pytest.raises(CommonplaceError, match="within 2 seconds"):
        asyncio.run(readiness.report({}))
