"""Parts that the use cases of one catalogue share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.model import Author, RequestStats
from commonplace.instructions.store.protocol import CatalogueStore, ConfigurationStore, Trace
from commonplace.instructions.store.usage import UsageStore
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.settings import InstructionsSettings

if TYPE_CHECKING:
    from commonplace.instructions.engine.entry.compose import Origin


@dataclass(frozen=True, slots=True)
class CatalogueParts:
    """Store, configuration and settings of one catalogue, and the time."""

    store: CatalogueStore
    configuration: ConfigurationStore
    rules: ReadingRules
    usage: UsageStore
    settings: InstructionsSettings
    now: Callable[[], str]
    trace: Trace
    request_stats: Callable[[], RequestStats]

    def origin(self, author: Author) -> Origin:
        """Return what is recorded in an entry that an author writes now."""
        from commonplace.instructions.engine.entry.compose import Origin  # only writers need it

        agent = self.settings.agent_id or (author.label if author.label != LOCAL_TENANT else None)
        return Origin(self.now(), agent, self.settings.workspace)
