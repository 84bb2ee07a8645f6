"""The settings of memory as its use cases see them."""

from __future__ import annotations

from dataclasses import dataclass, field

from commonplace.memory.engine.guide import Language
from commonplace.memory.engine.suggest import Thresholds
from commonplace.memory.model import SecretHandling


@dataclass(frozen=True, slots=True)
class MemoryPolicy:
    """When to suggest, what to do with secrets, and when an entry is stale."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    secrets: SecretHandling = "mask"
    language: Language = "en"
    stale_days: int = 90
