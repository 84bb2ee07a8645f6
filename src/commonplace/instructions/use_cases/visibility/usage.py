"""Usage counters without those of restricted instructions."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.instructions.engine.usage import ReportedUse
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.instructions.store.usage import UseCount
from commonplace.instructions.use_cases.parts import UsageCounters
from commonplace.kernel.json_types import JsonObject


class VisibleUsage:
    """The counters of the instructions that a part of the catalogue has."""

    def __init__(self, usage: UsageCounters, visible: CatalogueStore) -> None:
        self._usage = usage
        self._visible = visible
        self.of = usage.of
        self.known = usage.known

    def all(self) -> list[tuple[str, UseCount]]:
        """Return the counters of visible instructions."""
        return [(id_, count) for id_, count in self._usage.all() if self._sees(id_)]

    def details(self) -> dict[str, JsonObject]:
        """Return the reported contexts and metrics of visible instructions."""
        return {id_: line for id_, line in self._usage.details().items() if self._sees(id_)}

    def track(self, id_: str, use: ReportedUse | None = None) -> tuple[UseCount, bool]:
        """Count a use of an instruction that the use case found."""
        return self._usage.track(id_, use)

    def prune(self, ids: Iterable[str]) -> int:
        """Forget the counters of instructions that were removed."""
        return self._usage.prune(ids)

    def close(self) -> None:
        """Do nothing: the counters belong to the whole catalogue."""

    def _sees(self, id_: str) -> bool:
        return self._visible.catalogue.stored(id_) is not None
