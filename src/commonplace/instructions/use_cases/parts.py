"""Parts that the use cases of one catalogue share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.engine.review.policy import ReviewPolicy
from commonplace.instructions.model import Author, RequestStats
from commonplace.instructions.rulefiles.allowed import RuleFolders
from commonplace.instructions.store.kept.place import KeptPlace
from commonplace.instructions.store.protocol import CatalogueStore, ConfigurationStore, Trace
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.settings import GovernanceSettings, InstructionsSettings

if TYPE_CHECKING:
    from commonplace.instructions.engine.entry.compose import Origin
    from commonplace.instructions.engine.usage import ReportedUse
    from commonplace.instructions.store.review.backups import BackupStore
    from commonplace.instructions.store.review.log import ReviewLog
    from commonplace.instructions.store.usage import UseCount
    from commonplace.kernel.json_types import JsonObject


class UsageCounters(Protocol):
    """Counters of uses, as the use cases need them."""

    def of(self, id_: str) -> UseCount | None: ...

    def known(self) -> Mapping[str, UseCount]: ...

    def all(self) -> list[tuple[str, UseCount]]: ...

    def details(self) -> dict[str, JsonObject]: ...

    def track(self, id_: str, use: ReportedUse | None = None) -> tuple[UseCount, bool]: ...

    def prune(self, ids: Iterable[str]) -> int: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CatalogueParts:
    """Store, configuration and settings of one catalogue, and the time."""

    store: CatalogueStore
    configuration: ConfigurationStore
    rules: ReadingRules
    usage: UsageCounters
    settings: InstructionsSettings
    now: Callable[[], str]
    trace: Trace
    request_stats: Callable[[], RequestStats]
    governance: GovernanceSettings
    reviews: ReviewLog
    backups: BackupStore
    folders: RuleFolders = field(default_factory=RuleFolders)
    kept: KeptPlace | None = None  # where hooks find the rules; for the whole catalogue

    @property
    def policy(self) -> ReviewPolicy:
        """Which changes wait for a review."""
        return ReviewPolicy.of(self.governance)

    def origin(self, author: Author) -> Origin:
        """Return what is recorded in an entry that an author writes now."""
        from commonplace.instructions.engine.entry.compose import Origin  # only writers need it

        agent = self.settings.agent_id or (author.label if author.label != LOCAL_TENANT else None)
        return Origin(self.now(), agent, self.settings.workspace)
