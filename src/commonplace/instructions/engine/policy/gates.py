"""Policy gates: conditions on the number of instructions of a kind."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.instructions.fields import REQUIREMENTS
from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import Json

OPERATORS: Mapping[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_TEXT_CONDITIONS = (
    "requirement",
    "status",
    "audience",
    "owner",
    "classification",
    "priorityTier",
    "category",
    "workspaceId",
)
_NUMBER_CONDITIONS = ("priorityGt", "priorityLt", "priorityGte", "priorityLte")
_COMPARE = {
    "priorityGt": operator.gt,
    "priorityLt": operator.lt,
    "priorityGte": operator.ge,
    "priorityLte": operator.le,
}


@dataclass(frozen=True, slots=True)
class PolicyGate:
    """A condition on the number of instructions that match `where`."""

    id: str
    where: Mapping[str, Json]
    op: str
    value: int
    severity: str
    description: str | None = None

    def matches(self, document: Mapping[str, Json]) -> bool:
        """Tell whether a document is counted."""
        for name, wanted in self.where.items():
            if name in _NUMBER_CONDITIONS:
                if not _COMPARE[name](document["priority"], wanted):
                    return False
            elif name == "category":
                if wanted.lower() not in document["categories"]:
                    return False
            elif document.get(name) != wanted:
                return False
        return True


@dataclass(frozen=True, slots=True)
class GateResult:
    """Outcome of one gate."""

    gate: PolicyGate
    passed: bool
    count: int


@dataclass(frozen=True, slots=True)
class GateReport:
    """Outcomes of all gates."""

    results: tuple[GateResult, ...]

    def count_failed(self, severity: str) -> int:
        """Count the failed gates of a severity."""
        return sum(
            not result.passed and result.gate.severity == severity for result in self.results
        )


def parse_gates(raw: Json) -> tuple[PolicyGate, ...]:
    """Parse gates.json. Raises ValueError that says which gate is wrong and why."""
    listed = raw.get("gates") if isinstance(raw, dict) else None
    if not isinstance(listed, list):
        raise ValueError('expected {"gates": [...]}')
    return tuple(_gate(item, number) for number, item in enumerate(listed))


def _gate(item: Json, number: int) -> PolicyGate:
    place = f"gates[{number}]"
    if not isinstance(item, dict) or not isinstance(item.get("id"), str) or not item["id"]:
        raise ValueError(f"{place}: needs an id")
    place = f"gate {item['id']!r}"
    if item.get("type", "count") != "count":
        raise ValueError(f"{place}: type {item['type']!r} is unknown; only count exists")
    where = _conditions(item.get("where", {}), place)
    if not isinstance(item.get("op"), str) or item["op"] not in OPERATORS:
        raise ValueError(f"{place}: op must be one of {' '.join(OPERATORS)}")
    value = item.get("value")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{place}: value must be a whole number")
    severity = item.get("severity", "error")
    if not isinstance(severity, str) or severity not in ("error", "warn"):
        raise ValueError(f"{place}: severity must be error or warn")
    description = item.get("description")
    return PolicyGate(
        item["id"],
        where,
        item["op"],
        value,
        severity,
        description if isinstance(description, str) else None,
    )


def _conditions(where: Json, place: str) -> Mapping[str, Json]:
    if not isinstance(where, dict):
        raise ValueError(f"{place}: where must be an object")
    for name, wanted in where.items():
        if name in _NUMBER_CONDITIONS:
            if not isinstance(wanted, int | float) or isinstance(wanted, bool):
                raise ValueError(f"{place}: where.{name} must be a number")
        elif name not in _TEXT_CONDITIONS or not isinstance(wanted, str):
            raise ValueError(
                f"{place}: where.{name} is not a condition; use "
                f"{', '.join((*_TEXT_CONDITIONS, *_NUMBER_CONDITIONS))}"
            )
        elif name == "requirement" and wanted not in REQUIREMENTS:
            raise ValueError(
                f"{place}: where.requirement {wanted!r} is not one of "
                f"{', '.join(sorted(REQUIREMENTS))}"
            )
    return where


def evaluate(gates: Sequence[PolicyGate], entries: Iterable[Instruction]) -> GateReport:
    """Count the matching instructions of each gate, and compare."""
    counts = [0] * len(gates)
    for entry in entries:
        for number, gate in enumerate(gates):
            counts[number] += gate.matches(entry.document)
    return GateReport(
        tuple(
            GateResult(gate, OPERATORS[gate.op](count, gate.value), count)
            for gate, count in zip(gates, counts, strict=True)
        )
    )
