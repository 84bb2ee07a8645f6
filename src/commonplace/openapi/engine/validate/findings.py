"""Findings of validation."""

from __future__ import annotations

from commonplace.openapi.engine.document.nodes import NodePlace
from commonplace.openapi.engine.validate.rules import RULES, Severity, ValidationFinding


def make_finding(
    rule: str, place: NodePlace | str, message: str, severity: Severity | None = None
) -> ValidationFinding:
    """Return a finding of a rule, with the severity of the rule unless another is given."""
    known = RULES[rule]
    pointer = place if isinstance(place, str) else place.pointer
    return ValidationFinding(known, pointer, message, severity or known.severity)


def make_no_response_finding(pointer: str) -> ValidationFinding:
    """Return the finding about an operation without any response."""
    message = f"{pointer} has no response: a status code or 'default' is needed."
    return make_finding("missing-field", pointer, message)
