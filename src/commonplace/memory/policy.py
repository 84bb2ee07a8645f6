"""The settings of memory as its use cases see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from commonplace.memory.engine.guide import Language
from commonplace.memory.engine.suggest import Thresholds
from commonplace.memory.model import SecretHandling

# When a search returns no results: never, if nothing answers, or also a question in doubt.
Abstention = Literal["never", "nothing", "doubt"]
# What happens to an entry whose code changed or is gone.
StaleHandling = Literal["mark", "withhold"]


@dataclass(frozen=True, slots=True)
class MemoryPolicy:
    """When to suggest or to abstain, what to do with secrets, and when an entry is stale."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    secrets: SecretHandling = "mask"
    language: Language = "en"
    stale_days: int = 90
    abstain: Abstention = "nothing"
    stale_code: StaleHandling = "mark"
