"""What a conversion lost or decided: severity, place and reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True)
class ConversionIssue:
    """Something that a reader of the result should know.

    `info`: a choice was made. `warning`: something was lost or widened. `critical`: the target
    version cannot express it.
    """

    severity: Severity
    path: str  # JSON pointer into the source document
    message: str


@dataclass(slots=True)
class IssueLog:
    """Collects issues in document order, each once."""

    found: list[ConversionIssue] = field(default_factory=list)
    _reported: set[ConversionIssue] = field(default_factory=set)
    _sources: dict[str, str] = field(default_factory=dict)

    def record_move(self, name: str, route: tuple[str, ...]) -> None:
        """Record that the value at `route` became the component schema `name`.

        Later issues about the component are reported at its place in the source.
        """
        source = self._source_path(
            "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in route)
        )
        for section in ("/components/schemas/", "/definitions/"):
            self._sources[section + name] = source

    def _source_path(self, path: str) -> str:
        if self._sources:
            for section, tokens in (("/components/schemas/", 4), ("/definitions/", 3)):
                if path.startswith(section):
                    start = "/".join(path.split("/", tokens)[:tokens])
                    return self._sources.get(start, start) + path[len(start) :]
        return path

    def _report(self, severity: Severity, path: str, message: str) -> None:
        issue = ConversionIssue(severity, self._source_path(path), message)
        if issue not in self._reported:
            self._reported.add(issue)
            self.found.append(issue)

    def info(self, path: str, message: str) -> None:
        """Report a choice."""
        self._report("info", path, message)

    def warning(self, path: str, message: str) -> None:
        """Report something that was lost or widened."""
        self._report("warning", path, message)

    def critical(self, path: str, message: str) -> None:
        """Report something that the target version cannot express."""
        self._report("critical", path, message)
