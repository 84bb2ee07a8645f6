"""Builds the instruction catalogue: of a folder, or of a team in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.model import RequestStats
from commonplace.instructions.rulefiles.allowed import RuleFolders
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.store.configuration import CatalogueConfiguration
from commonplace.instructions.store.directory import FileRetries, InstructionDirectory
from commonplace.instructions.store.folder import FolderOptions, FolderStore
from commonplace.instructions.store.journal import state_directory
from commonplace.instructions.store.kept.place import KeptPlace
from commonplace.instructions.store.protocol import Trace
from commonplace.instructions.store.review.backups import BackupFolder, BackupTable
from commonplace.instructions.store.review.file import ReviewFile
from commonplace.instructions.store.review.log import ReviewLog
from commonplace.instructions.store.usage import UsageStorage, UsageStore
from commonplace.instructions.store.usage_file import UsageFile
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.json_types import Json
from commonplace.kernel.paths import expand_home
from commonplace.kernel.settings import GovernanceSettings, InstructionsSettings

if TYPE_CHECKING:
    from commonplace.instructions.store.feedback import FeedbackStore
    from commonplace.instructions.store.postgres.catalogue import PostgresCatalogueStore
    from commonplace.instructions.store.postgres.usage import UsageTable
    from commonplace.instructions.use_cases.search.meaning import OpenMeaning
    from commonplace.search.semantic.local import Semantics
    from commonplace.search.whole_texts.meaning import TextMeaning
    from commonplace.storage.postgres.database import PostgresDatabase

    OpenSemantics = Callable[[], Semantics | None]

TEAM_SCOPE = "team"


def _no_trace(category: str, data: Json) -> None:
    return None


def build_service(
    directory: Path,
    data: Path,
    settings: InstructionsSettings | None = None,
    *,
    governance: GovernanceSettings | None = None,
    mutation_enabled: Callable[[], bool] | None = None,
    clock: Clock = utc_now,
    trace: Trace = _no_trace,
    trace_files: bool = False,
    request_stats: Callable[[], RequestStats] = RequestStats,
    local: bool = False,
    options: FolderOptions | None = None,
    semantics: OpenSemantics | None = None,
) -> InstructionsService:
    """Build the catalogue of an instruction folder; usage and feedback are in the data folder.

    `options` replaces those that follow from the settings. `local` callers may have the rule files
    of the working folder read. `semantics` opens the local model.
    """
    chosen = settings or InstructionsSettings()
    may_write = mutation_enabled or (lambda: chosen.mutation_enabled)

    def now() -> str:
        return iso(clock())

    configuration = CatalogueConfiguration.of_folders(directory, data)
    rules = ReadingRules(canonical=not chosen.canonical_disable, owners=configuration.owners)
    state = state_directory(directory, data)
    store = FolderStore(
        _open_directory(directory, chosen, rules, trace if trace_files else None),
        state,
        clock=now,
        trace=trace,
        may_write=may_write,
        options=options or FolderOptions(agent=chosen.agent_id, watch=chosen.watch),
    )
    usage = _usage(UsageFile(data / "usage-snapshot.json"), chosen, now)
    parts = CatalogueParts(
        store,
        configuration,
        rules,
        usage,
        chosen,
        now,
        trace,
        request_stats,
        governance or GovernanceSettings(),
        ReviewLog(ReviewFile(state)),
        BackupFolder(state),
        folders=_rule_folders(chosen, local),
        kept=KeptPlace(data, store.loaded_state),
    )

    return InstructionsService(
        parts,
        mutation_enabled=may_write,
        open_feedback=lambda: _open_feedback(data, now),
        open_meaning=_open_meaning(semantics, str(directory.absolute())),
    )


def _open_feedback(data: Path, now: Callable[[], str]) -> FeedbackStore:
    from commonplace.instructions.store.feedback import FeedbackStore
    from commonplace.instructions.store.feedback_file import FeedbackFile

    return FeedbackStore(FeedbackFile(data / "feedback.json"), clock=now)


def open_shared_store(
    database: PostgresDatabase,
    settings: InstructionsSettings,
    now: Callable[[], str],
    trace: Trace = _no_trace,
    *,
    usage: UsageTable | None = None,
) -> PostgresCatalogueStore:
    """Return the store of a team's catalogue; its schema must be there."""
    from commonplace.instructions.store.postgres.catalogue import (
        PostgresCatalogueStore,
        SharedOptions,
    )
    from commonplace.instructions.store.postgres.configuration import SharedDocuments
    from commonplace.instructions.store.postgres.usage import UsageTable

    documents = SharedDocuments()
    rules = ReadingRules(
        canonical=not settings.canonical_disable, owners=documents.configuration().owners
    )
    return PostgresCatalogueStore(
        database,
        rules,
        documents,
        usage or UsageTable(database),
        clock=now,
        trace=trace,
        options=SharedOptions(agent=settings.agent_id, watch=settings.watch),
    )


def build_shared_service(
    database: PostgresDatabase,
    settings: InstructionsSettings | None = None,
    *,
    kept: KeptPlace | None = None,
    governance: GovernanceSettings | None = None,
    mutation_enabled: Callable[[], bool] | None = None,
    clock: Clock = utc_now,
    trace: Trace = _no_trace,
    request_stats: Callable[[], RequestStats] = RequestStats,
    local: bool = False,
    semantics: OpenSemantics | None = None,
) -> InstructionsService:
    """Build the catalogue of a team, in a database that `commonplace migrate` has prepared."""
    from commonplace.instructions.store.postgres.usage import UsageTable
    from commonplace.instructions.store.review.table import ReviewTable

    chosen = settings or InstructionsSettings()
    may_write = mutation_enabled or (lambda: chosen.mutation_enabled)

    def now() -> str:
        return iso(clock())

    table = UsageTable(database)
    store = open_shared_store(database, chosen, now, trace, usage=table)
    usage = _usage(table, chosen, now)
    store.usage_changed = usage.refresh_soon
    parts = CatalogueParts(
        store,
        store.documents.configuration(),
        store.rules,
        usage,
        chosen,
        now,
        trace,
        request_stats,
        governance or GovernanceSettings(),
        ReviewLog(ReviewTable(database)),
        BackupTable(database),
        folders=_rule_folders(chosen, local),
        kept=kept,
    )

    def open_feedback() -> FeedbackStore:
        from commonplace.instructions.store.feedback import FeedbackStore
        from commonplace.instructions.store.postgres.feedback import FeedbackTable

        return FeedbackStore(FeedbackTable(database), clock=now)

    return InstructionsService(
        parts,
        mutation_enabled=may_write,
        open_feedback=open_feedback,
        open_meaning=_open_meaning(semantics, TEAM_SCOPE),
    )


def _open_meaning(semantics: OpenSemantics | None, scope: str) -> OpenMeaning | None:
    """Return what opens the vectors of a catalogue; each folder has its own."""
    if semantics is None:
        return None

    def open_meaning() -> TextMeaning | None:
        from commonplace.search.model import Partition
        from commonplace.search.whole_texts.meaning import TextMeaning

        found = semantics()
        return TextMeaning(found, Partition("", "instructions", scope)) if found else None

    return open_meaning


def _rule_folders(settings: InstructionsSettings, local: bool) -> RuleFolders:
    return RuleFolders(tuple(expand_home(root) for root in settings.roots), local)


def _usage(
    storage: UsageStorage, settings: InstructionsSettings, now: Callable[[], str]
) -> UsageStore:
    return UsageStore(
        storage,
        clock=now,
        flush_seconds=settings.usage_flush_ms / 1000,
        rate_limited=not settings.usage_rate_limit_disabled,
        clamped=not settings.usage_clamp_disabled,
    )


def _open_directory(
    directory: Path, settings: InstructionsSettings, rules: ReadingRules, trace: Trace | None
) -> InstructionDirectory:
    retries = FileRetries(
        settings.read_retries,
        settings.read_backoff_ms / 1000,
        settings.write_retries,
        settings.write_backoff_ms / 1000,
    )
    trace_file: Callable[[str, str], None] | None = None
    if trace is not None:
        emit = trace

        def trace_file(name: str, outcome: str) -> None:
            emit("catalog:file", {"file": name, "outcome": outcome})

    return InstructionDirectory(directory, rules=rules, retries=retries, trace_file=trace_file)
