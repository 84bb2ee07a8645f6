"""How long work says how far it is."""

from __future__ import annotations

from typing import Protocol


class Report(Protocol):
    """Takes a stage and how much of it is done. Cheap, and callable from any thread."""

    def __call__(self, stage: str, done: int, total: int | None = None) -> None: ...


def report_nothing(stage: str, done: int, total: int | None = None) -> None:
    """Ignore progress."""
