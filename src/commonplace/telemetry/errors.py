"""Error codes of telemetry."""

from __future__ import annotations

from commonplace.kernel.errors import Code, Kind

AUDIT_UNAVAILABLE = Code(
    "AUDIT_UNAVAILABLE",
    Kind.UNAVAILABLE,
    "The audit trail cannot be written, so changes are refused until it can be; reads continue.",
)

CODES: tuple[Code, ...] = (AUDIT_UNAVAILABLE,)
