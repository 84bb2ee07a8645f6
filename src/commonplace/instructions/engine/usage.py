"""Sums of reported uses per instruction (docs/reference/contracts/instructions.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.kernel.json_types import Json, JsonObject

MAX_NAMES = 100  # users, workspaces, sessions and error codes that are counted separately
OTHERS = "(others)"
_NAMED = (("userId", "users"), ("workspaceId", "workspaces"), ("sessionId", "sessions"))


@dataclass(frozen=True, slots=True)
class ReportedUse:
    """A use of an instruction as a caller reported it."""

    context: Mapping[str, Json]
    metrics: Mapping[str, Json]


def add_use(line: JsonObject, use: ReportedUse) -> None:
    """Add a use to the snapshot's record of an instruction."""
    if use.context:
        contexts = _object(line, "contexts")
        for name, plural in _NAMED:
            if use.context.get(name):
                _count(_object(contexts, plural), str(use.context[name]))
        if use.context.get("timestamp"):
            contexts["lastTimestamp"] = max(
                str(contexts.get("lastTimestamp") or ""), str(use.context["timestamp"])
            )
    if use.metrics:
        metrics = _object(line, "metrics")
        if "success" in use.metrics:
            name = "successes" if use.metrics["success"] else "failures"
            metrics[name] = _number(metrics.get(name)) + 1
        if "executionTime" in use.metrics:
            spent = use.metrics["executionTime"]
            timed = _object(metrics, "executionTime")
            timed["count"] = _number(timed.get("count")) + 1
            timed["total"] = _number(timed.get("total")) + spent
            timed["max"] = max(_number(timed.get("max")), spent)
        if use.metrics.get("errorCode"):
            _count(_object(metrics, "errorCodes"), str(use.metrics["errorCode"]))


def summarise_uses(line: Mapping[str, Json]) -> JsonObject:
    """Return sums and means, and the numbers of users, workspaces and sessions, not their names."""
    shown: JsonObject = {}
    metrics = line.get("metrics")
    if isinstance(metrics, dict):
        done, failed = _number(metrics.get("successes")), _number(metrics.get("failures"))
        shown["metrics"] = {"successes": done, "failures": failed}
        if done + failed:
            shown["metrics"]["successRate"] = round(done / (done + failed), 4)
        timed = metrics.get("executionTime")
        if isinstance(timed, dict) and _number(timed.get("count")):
            mean = _number(timed.get("total")) / _number(timed["count"])
            shown["metrics"]["executionTime"] = {
                "count": timed["count"],
                "mean": round(mean, 3),
                "max": _number(timed.get("max")),
            }
        if isinstance(metrics.get("errorCodes"), dict):
            shown["metrics"]["errorCodes"] = metrics["errorCodes"]
    contexts = line.get("contexts")
    if isinstance(contexts, dict):
        counts = {
            plural: len(contexts[plural])
            for _, plural in _NAMED
            if isinstance(contexts.get(plural), dict)
        }
        last = {"lastTimestamp": contexts["lastTimestamp"]} if "lastTimestamp" in contexts else {}
        shown["contexts"] = {**counts, **last}
    return shown


def _object(holder: JsonObject, name: str) -> JsonObject:
    value = holder.get(name)
    if not isinstance(value, dict):
        value = holder[name] = {}
    return value


def _count(counts: JsonObject, name: str) -> None:
    if name not in counts and len(counts) >= MAX_NAMES:
        name = OTHERS
    counts[name] = int(_number(counts.get(name))) + 1


def _number(value: object) -> int | float:
    return (
        value
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        else 0
    )
