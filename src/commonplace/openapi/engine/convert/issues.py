"""What a conversion could not carry over, or had to decide: severity, place, reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True)
class Issue:
    """`info`: a choice was made; `warning`: something was lost or widened; `critical`: the target has no form for it."""

    severity: Severity
    path: str  # JSON pointer into the source document
    message: str

    def as_dict(self) -> dict[str, str]:
        return {"severity": self.severity, "path": self.path, "message": self.message}


@dataclass(slots=True)
class Issues:
    """Collects issues in document order."""

    found: list[Issue] = field(default_factory=list)

    def info(self, path: str, message: str) -> None:
        self.found.append(Issue("info", path, message))

    def warning(self, path: str, message: str) -> None:
        self.found.append(Issue("warning", path, message))

    def critical(self, path: str, message: str) -> None:
        self.found.append(Issue("critical", path, message))
