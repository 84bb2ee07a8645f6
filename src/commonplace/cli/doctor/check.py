"""The result of one check of `commonplace doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "note", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A finding and its severity; `fix` says what to do, or is empty."""

    name: str
    status: Status
    finding: str
    fix: str = ""
