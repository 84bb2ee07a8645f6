"""Facade of the instruction catalogue: one method per use case.

Every method takes the caller first and returns frozen values. Use cases that write, or that few
callers need, are imported when they are first called, so that a reader starts quickly.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

from commonplace.instructions.model import Author, ClientCopy, Instruction
from commonplace.instructions.results.reading import FoundInstruction
from commonplace.instructions.use_cases.confirming import CatalogueConfirmation
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.search.meaning import CatalogueMeaning, OpenMeaning
from commonplace.instructions.use_cases.visibility.view import CatalogueView, hide_restricted
from commonplace.kernel.auth import RESTRICTED, AuthContext
from commonplace.kernel.json_types import Json
from commonplace.kernel.lazy import lazy
from commonplace.kernel.progress import Report, report_nothing

if TYPE_CHECKING:
    from commonplace.instructions.engine.graph import Graph, GraphOptions
    from commonplace.instructions.engine.groom import GroomMode
    from commonplace.instructions.engine.policy.gates import GateReport
    from commonplace.instructions.engine.policy.prompt_review import PromptReview
    from commonplace.instructions.engine.query import CatalogueFilters, CatalogueOrder
    from commonplace.instructions.engine.usage import ReportedUse
    from commonplace.instructions.feedback_service import FeedbackService
    from commonplace.instructions.results.analysis import (
        CatalogueHealth,
        GovernanceDigest,
        HotSet,
        Inspection,
        IntegrityReport,
        ReviewsDue,
        UseRecord,
    )
    from commonplace.instructions.results.reading import (
        CatalogueListing,
        CatalogueMatches,
        Categories,
        ClientDifference,
        QueryResult,
        RepairedLookup,
    )
    from commonplace.instructions.results.writing import (
        CatalogueState,
        EntryRefusal,
        GovernanceUpdate,
        GroomResult,
        ImportResult,
        InstructionHistory,
        RemovalResult,
        RestoreResult,
        RewriteResult,
        WriteResult,
    )
    from commonplace.instructions.rules_service import RulesService
    from commonplace.instructions.store.feedback import FeedbackStore
    from commonplace.instructions.use_cases.importing import EntryImportOptions
    from commonplace.instructions.use_cases.removing import RemovalOptions
    from commonplace.instructions.use_cases.review.promoting import LessonStates
    from commonplace.instructions.use_cases.search.finding import CatalogueQuestion
    from commonplace.search.model import SearchHit

THREADS = 24
InspectionScope = Literal["catalog", "instruction", "governance", "usage"]


class InstructionsService:
    """Instruction catalogue as one process serves it."""

    def __init__(
        self,
        parts: CatalogueParts,
        *,
        mutation_enabled: Callable[[], bool],
        open_feedback: Callable[[], FeedbackStore],
        open_meaning: OpenMeaning | None = None,
    ) -> None:
        self._open_feedback = open_feedback
        self.meaning = CatalogueMeaning(parts.store, open_meaning)
        self.mutation_enabled = mutation_enabled
        self.now = parts.now
        self.locks: dict[str, threading.RLock] = {}  # of the lazy properties
        self.usage_enabled = parts.settings.usage_enabled
        self._parts = self.parts = parts  # other facades of the domain share them
        self._store = parts.store
        self.confirmation = CatalogueConfirmation(parts.store)
        self._whole = CatalogueView(parts)
        self._unrestricted = hide_restricted(parts) if parts.governance.restrict_reads else None
        self._started = time.monotonic()
        self.lessons: LessonStates | None = None  # set where there is a memory
        self._executor: ThreadPoolExecutor | None = None

    def _view(self, caller: AuthContext) -> CatalogueView:
        """Return what a caller sees of the catalogue."""
        if self._unrestricted is None or RESTRICTED in caller.may_read:
            return self._whole
        return self._unrestricted

    def parts_of(self, caller: AuthContext) -> CatalogueParts:
        """Return the parts of what a caller sees, for the other facades of the catalogue."""
        return self._view(caller).parts

    def _views(self) -> tuple[CatalogueView, ...]:
        return (self._whole, self._unrestricted) if self._unrestricted else (self._whole,)

    @lazy
    def rules(self) -> RulesService:
        """Rules in effect for paths, and rule files of repositories."""
        from commonplace.instructions.rules_service import RulesService

        return RulesService(self.parts_of, self.meaning)

    @lazy
    def feedback(self) -> FeedbackService:
        """Feedback of callers, which is not part of the catalogue."""
        from commonplace.instructions.feedback_service import FeedbackService

        return FeedbackService(self._open_feedback())

    @property
    def loaded(self) -> bool:
        """Tell whether the catalogue is in memory."""
        return self._store.loaded

    @property
    def searchable(self) -> bool:
        """Tell whether the search index of every view is built."""
        return all(view.search.ready for view in self._views())

    @property
    def executor(self) -> ThreadPoolExecutor:
        """Threads for calls that wait for the disk or scan the whole catalogue."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(THREADS, "instructions")
        return self._executor

    def load(self) -> None:
        """Load the catalogue, once."""
        for view in self._views():
            view.parts.store.open()

    def prepare_search(self) -> None:
        """Load the catalogue and build the search index, once."""
        for view in self._views():
            view.search.prepare()

    def close(self) -> None:
        """Finish queued writes, then stop threads and close files."""
        if "rules" in vars(self):
            self.rules.close()
        self.meaning.close()
        self._parts.usage.close()
        for view in self._views():
            view.close()
        if self._executor is not None:
            self._executor.shutdown(wait=True)
            self._executor = None
        self._store.close()

    # Reading

    def get(
        self, caller: AuthContext, id_: str, *, archived: bool = False
    ) -> FoundInstruction | None:
        """Return an instruction by id; an archived one only if asked for."""
        view = self._view(caller)
        with self._store.lock:
            catalogue = view.parts.store.current()
            entry = catalogue.stored(id_) if archived else catalogue.entries.get(id_)
            if entry is None:
                return None
            return FoundInstruction(catalogue.hash, view.reader.show(entry))

    def get_repairing(self, caller: AuthContext, id_: str) -> RepairedLookup:
        """Return an instruction; if it is missing, look for its file again."""
        return self._view(caller).reader.get_repairing(id_)

    def list_entries(
        self,
        caller: AuthContext,
        *,
        category: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        expect_id: str | None = None,
        compact: bool = False,
    ) -> CatalogueListing:
        """List instructions by id; an expected id comes first, and is repaired if hidden."""
        return self._view(caller).reader.list_entries(
            category=category, limit=limit, offset=offset, expect_id=expect_id, compact=compact
        )

    def list_scoped(
        self,
        caller: AuthContext,
        *,
        user: str | None = None,
        workspace: str | None = None,
        teams: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
        compact: bool = False,
    ) -> CatalogueListing:
        """List the narrowest scope that has instructions: user, workspace, team, else all."""
        return self._view(caller).reader.list_scoped(
            user=user, workspace=workspace, teams=teams, limit=limit, offset=offset, compact=compact
        )

    def search(self, caller: AuthContext, question: CatalogueQuestion) -> CatalogueMatches:
        """Find instructions by words or part of the text. Needs `prepare_search` first."""
        return self._view(caller).reader.search(question)

    async def search_by_meaning(
        self, caller: AuthContext, question: CatalogueQuestion
    ) -> CatalogueMatches:
        """Find instructions by words and meaning. Needs `meaning.prepare` first, too."""
        view, meaning = self._view(caller), self.meaning.usable
        return await view.reader.search_by_meaning(question, meaning, whole=view.whole)

    async def weigh(self, caller: AuthContext, text: str) -> tuple[SearchHit, ...]:
        """Return instructions that may concern a text, each with its chance, best first."""
        if not self.searchable:
            await asyncio.to_thread(self.prepare_search)
        if not self.meaning.prepared:
            await asyncio.to_thread(self.meaning.prepare)
        view = self._view(caller)
        return await view.reader.weigh(text, self.meaning.usable, whole=view.whole)

    def query(
        self,
        caller: AuthContext,
        filters: CatalogueFilters,
        *,
        order: CatalogueOrder | None = None,
        limit: int,
        cursor: str | None = None,
        offset: int = 0,
        compact: bool = False,
    ) -> QueryResult:
        """Filter, sort and page. Needs `prepare_search` first if `filters.text` is given."""
        return self._view(caller).reader.query(
            filters, order=order, limit=limit, cursor=cursor, offset=offset, compact=compact
        )

    def categories(self, caller: AuthContext) -> Categories:
        """Count the instructions of each category."""
        return self._view(caller).reader.categories()

    def export(self, caller: AuthContext, ids: Sequence[str] | None = None) -> CatalogueListing:
        """Return all instructions, or some by id."""
        return self._view(caller).reader.export(ids)

    def diff(
        self,
        caller: AuthContext,
        client_hash: str | None = None,
        copies: Sequence[ClientCopy] | None = None,
    ) -> ClientDifference:
        """Compare the catalogue with a client's copy."""
        from commonplace.instructions.use_cases.comparison import compare_with_client

        view = self._view(caller)
        return compare_with_client(view.parts.store, view.reader.show, client_hash, copies)

    def instructions(self, caller: AuthContext) -> Iterator[Instruction]:
        """Yield every instruction in order of id."""
        self.confirmation.load()
        yield from self._view(caller).parts.store.snapshot()[0]

    # Analysis

    def governance_hash(
        self, caller: AuthContext, *, include_entries: bool = False
    ) -> GovernanceDigest:
        """Return one hash over the governance fields of all instructions."""
        return self._view(caller).analysis.governance_hash(include_entries=include_entries)

    def verify(self, caller: AuthContext) -> IntegrityReport:
        """Hash every body again, and compare with the hash that its file claims."""
        return self._view(caller).analysis.verify()

    def graph(
        self,
        caller: AuthContext,
        options: GraphOptions,
        format_: str = "json",
        *,
        with_usage: bool = False,
        budget: int | None = None,
    ) -> Graph:
        """Return the graph of instructions, cut to about `budget` tokens if one is given."""
        return self._view(caller).analysis.graph(
            options, format_, with_usage=with_usage, budget=budget
        )

    def evaluate_gates(self, caller: AuthContext) -> GateReport | None:
        """Check the policy gates; None if there are none. Raises INVALID_GATES."""
        from commonplace.instructions.engine.policy.gates import evaluate

        parts = self._view(caller).parts
        gates = parts.configuration.gates()
        return None if gates is None else evaluate(gates, parts.store.snapshot()[0])

    def review_prompt(self, caller: AuthContext, prompt: str) -> PromptReview:
        """Check a prompt against the criteria. Raises INVALID_CRITERIA."""
        from commonplace.instructions.engine.policy.prompt_review import review

        return review(prompt, self._parts.configuration.criteria())

    def reviews_due(
        self, caller: AuthContext, *, before: str | None = None, limit: int = 25, offset: int = 0
    ) -> ReviewsDue:
        """Return what is due for review, longest overdue first."""
        from commonplace.instructions.use_cases.governance import find_reviews_due

        return find_reviews_due(self._view(caller).parts, before, limit, offset)

    def health(self, caller: AuthContext) -> CatalogueHealth:
        """Examine the catalogue and its storage."""
        from commonplace.instructions.use_cases.inspection import check_health

        return check_health(self._view(caller).parts, self._started)

    def inspect(self, caller: AuthContext, scope: InspectionScope, id_: str | None) -> Inspection:
        """Return details of the catalogue; with an id, of that instruction."""
        from commonplace.instructions.use_cases import inspection

        view = self._view(caller)
        if scope == "governance":
            digest = self.governance_hash(caller).digest
            return inspection.inspect_governance(view.parts, id_, digest)
        if scope == "usage":
            return inspection.inspect_usage(view.parts, id_)
        if scope == "catalog" and id_ is None:
            counters = view.reader.counters
            return inspection.inspect_catalogue(view.parts, self.searchable, counters)
        found = self.get(caller, id_) if id_ is not None else None
        return inspection.inspect_instruction(view.parts, id_, found.item if found else None)

    def doctor(self) -> list[dict[str, str]]:
        """Return the findings that `commonplace doctor` prints."""
        from commonplace.instructions.use_cases.inspection import check_health, diagnose

        return diagnose(check_health(self._parts, self._started))

    # Writing

    async def add(
        self,
        caller: AuthContext,
        entry: object,
        *,
        overwrite: bool = False,
        lax: bool = False,
        expected_hash: str | None = None,
    ) -> WriteResult | EntryRefusal:
        """Add or overwrite an instruction; return once it is durable and read back."""
        from commonplace.instructions.engine.entry.checks import EntryRefused
        from commonplace.instructions.use_cases.adding import PendingAdd, make_request

        written: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
        author = Author.of(caller)
        try:
            request = make_request(
                entry, overwrite=overwrite, lax=lax, expected_hash=expected_hash, author=author
            )
            self._view(caller).adds.submit(PendingAdd(future=written, request=request))
            return await written
        except EntryRefused as refused:
            from commonplace.instructions.results.writing import EntryRefusal

            return EntryRefusal(refused.problem, await self._catalogue_hash(caller))

    async def _catalogue_hash(self, caller: AuthContext) -> str:
        await asyncio.to_thread(self.load)
        with self._store.lock:
            return self._view(caller).parts.store.current().hash

    def import_entries(
        self,
        caller: AuthContext,
        entries: Sequence[Json],
        options: EntryImportOptions,
        report: Report = report_nothing,
    ) -> ImportResult:
        """Add or change many instructions; each one succeeds or fails on its own."""
        from commonplace.instructions.use_cases.importing import import_entries

        return import_entries(self._view(caller).parts, caller, entries, options, report)

    def remove(
        self, caller: AuthContext, ids: Sequence[str], options: RemovalOptions
    ) -> RemovalResult:
        """Remove instructions by id."""
        from commonplace.instructions.use_cases.removing import remove

        return remove(self._view(caller).parts, caller, ids, options)

    def update_governance(
        self,
        caller: AuthContext,
        id_: str,
        patch: Mapping[str, Json],
        *,
        bump: str = "none",
        expected_hash: str | None = None,
    ) -> GovernanceUpdate | None:
        """Patch governance fields; None if there is no such instruction."""
        from commonplace.instructions.use_cases.governance import update_governance

        return update_governance(self._view(caller).parts, caller, id_, patch, bump, expected_hash)

    def history(self, caller: AuthContext, id_: str, limit: int = 20) -> InstructionHistory:
        """Return the changes of an instruction that the caller may see, newest first."""
        from commonplace.instructions.use_cases.history import read_history

        return read_history(self._view(caller).parts, caller, id_, limit)

    def restore(
        self,
        caller: AuthContext,
        id_: str,
        change: int | None = None,
        *,
        expected_hash: str | None = None,
    ) -> RestoreResult:
        """Undo the latest change of an instruction, or the one with this number."""
        from commonplace.instructions.use_cases.history import restore

        return restore(self._view(caller).parts, caller, id_, change, expected_hash)

    # Maintenance

    def reload(self, caller: AuthContext, expected_hash: str | None = None) -> CatalogueState:
        """Read every stored entry again."""
        from commonplace.instructions.results.writing import CatalogueState
        from commonplace.instructions.use_cases.committing import check_expected_hash

        store = self._view(caller).parts.store
        with store.lock:
            check_expected_hash(expected_hash, None, store.current().hash)
        store.reload()
        with store.lock:
            catalogue = store.current()
            return CatalogueState(catalogue.hash, len(catalogue))

    def groom(
        self, caller: AuthContext, mode: GroomMode, expected_hash: str | None = None
    ) -> GroomResult:
        """Correct hashes and categories, merge duplicates, remove deprecated entries."""
        from commonplace.instructions.use_cases.maintenance import groom

        return groom(self._view(caller).parts, caller, mode, expected_hash)

    def repair(self, caller: AuthContext, expected_hash: str | None = None) -> RewriteResult:
        """Correct the hashes in files that do not match their bodies."""
        from commonplace.instructions.use_cases.maintenance import repair

        return repair(self._view(caller).parts, caller, expected_hash)

    def enrich(self, caller: AuthContext, expected_hash: str | None = None) -> RewriteResult:
        """Write missing governance fields into the files."""
        from commonplace.instructions.use_cases.maintenance import enrich

        return enrich(self._view(caller).parts, caller, expected_hash)

    # Usage

    def track_use(
        self, caller: AuthContext, id_: str, use: ReportedUse | None = None
    ) -> UseRecord | None:
        """Count a use; None if there is no such instruction."""
        from commonplace.instructions.use_cases.usage import track_use

        return track_use(self._view(caller).parts, id_, use)

    def hot_set(self, caller: AuthContext, limit: int) -> HotSet:
        """Return the most used instructions; of equals, the most recently used come first."""
        from commonplace.instructions.use_cases.usage import find_hot_set

        return find_hot_set(self._view(caller).parts, limit)
