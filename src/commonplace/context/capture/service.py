"""The facade of capture: propose, list, edit, accept and reject."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from commonplace.context.capture.books import KnownText, ProposalBook
from commonplace.context.capture.engine.cleaning import clean_text, strip_hidden
from commonplace.context.capture.engine.extract import extract
from commonplace.context.capture.engine.similarity import (
    SAME,
    SIMILAR,
    StatementShape,
    compare,
    read_shape,
)
from commonplace.context.capture.model import (
    PROJECT_CHARACTERS,
    AcceptedProposal,
    CaptureOutcome,
    ExtractedProposal,
    KnownDuplicate,
    LessonType,
    ProposalKind,
    ProposalState,
    ProposalText,
    QueuedProposal,
)
from commonplace.context.capture.store.protocol import ProposalChange, ProposalQueue
from commonplace.context.capture.transcript import SessionTranscript
from commonplace.context.errors import PROPOSAL_DECIDED, PROPOSAL_NOT_FOUND
from commonplace.kernel.auth import AuthContext, Tenant
from commonplace.kernel.clock import Clock, utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.paging import ResultPage

COMPARED = 1_000  # newest proposals of the queue that a new one is compared with
MOST_SIMILAR = 3
MOST_STORED = 100_000  # more than a queue keeps of a tenant
POLICY = "policy"  # who decided, if a setting did
LEAST_STRENGTH = 0.85  # of a lesson that a policy accepts
REF = "capture:"
_ID = re.compile(r"[0-9a-f]{4,12}")


@dataclass(frozen=True, slots=True)
class ProposalEdit:
    """Changes of a proposal; None leaves a field as it is."""

    kind: ProposalKind | None = None
    type: LessonType | None = None
    title: str | None = None
    content: str | None = None
    tags: tuple[str, ...] | None = None
    project: str | None = None


class CaptureService:
    """One service for all tenants. `accept_lessons`: clear lessons go to memory at once."""

    def __init__(
        self,
        queue: ProposalQueue,
        books: Mapping[ProposalKind, ProposalBook],
        *,
        accept_lessons: bool = False,
        clock: Clock = utc_now,
    ) -> None:
        self._queue = queue
        self._books = books
        self._accept_lessons = accept_lessons
        self._clock = clock

    async def capture(
        self, caller: AuthContext, transcript: SessionTranscript, project: str = ""
    ) -> CaptureOutcome:
        """Propose what a session teaches; what is known already is left out and named."""
        project = clean_text(project)[:PROJECT_CHARACTERS].strip()
        transcript = replace(transcript, session=strip_hidden(transcript.session))
        found = await asyncio.to_thread(
            extract, transcript.steps, project, folder=transcript.folder
        )
        fresh, duplicates = await self._recognise(caller, found, transcript.session)
        moment = self._clock()
        queued = [_queue_up(item, similar, transcript.session, moment) for item, similar in fresh]
        stored = await self._queue.change(
            caller.tenant, {proposal.id: _renewal(proposal) for proposal in queued}
        )
        waiting = [
            proposal
            for id_ in dict.fromkeys(proposal.id for proposal in queued)
            if (proposal := stored[id_]) is not None and proposal.state is ProposalState.PENDING
        ]
        accepted: list[QueuedProposal] = []
        if self._accept_lessons:
            accepted = [
                (await self._accept(caller, proposal, POLICY))[0]
                for proposal in waiting
                if _is_clear(proposal)
            ]
        taken = {proposal.id for proposal in accepted}
        return CaptureOutcome(
            tuple(proposal for proposal in waiting if proposal.id not in taken),
            tuple(accepted),
            tuple(duplicates),
            len(transcript.steps),
            transcript.unreadable,
            transcript.is_cut,
        )

    async def page(
        self,
        caller: AuthContext,
        state: ProposalState = ProposalState.PENDING,
        kind: ProposalKind | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> ResultPage[QueuedProposal]:
        """Return a page of the queue, newest first."""
        return await self._queue.page(caller.tenant, state, kind, limit, offset)

    async def counts(
        self, caller: AuthContext
    ) -> Mapping[ProposalState, Mapping[ProposalKind, int]]:
        """Return how many proposals have each state and kind."""
        return await self._queue.counts(caller.tenant)

    async def show(self, caller: AuthContext, reference: str) -> QueuedProposal:
        """Return a proposal by its id or the beginning of it. Raises PROPOSAL_NOT_FOUND."""
        reference = reference.removeprefix(REF).strip().lower()
        is_id = _ID.fullmatch(reference) is not None
        found = await self._queue.find(caller.tenant, reference) if is_id else ()
        exact = [proposal for proposal in found if proposal.id == reference]
        if exact or len(found) == 1:
            return (exact or list(found))[0]
        raise CommonplaceError(
            PROPOSAL_NOT_FOUND,
            f"There is no proposal {reference[:32]!r}."
            if not found
            else f"Several proposals begin with {reference[:32]!r}.",
            hint="capture_list shows the ids of what waits.",
            details={"candidates": [proposal.id for proposal in found]},
        )

    async def edit(self, caller: AuthContext, reference: str, edit: ProposalEdit) -> QueuedProposal:
        """Change a pending proposal. Raises PROPOSAL_DECIDED, INVALID_ARGUMENT."""
        proposal = _require_pending(await self.show(caller, reference))
        text = _edited(proposal.text, edit)
        moment = self._clock()

        def change(stored: QueuedProposal | None) -> QueuedProposal | None:
            return _require_pending(stored or proposal).changed(text, moment)

        return await self._change(caller.tenant, proposal, change)

    async def accept(
        self, caller: AuthContext, reference: str
    ) -> tuple[QueuedProposal, AcceptedProposal]:
        """Add a pending proposal to memory, or to the catalogue as a draft."""
        proposal = _require_pending(await self.show(caller, reference))
        return await self._accept(caller, proposal, caller.label)

    async def reject(self, caller: AuthContext, reference: str) -> QueuedProposal:
        """Reject a pending proposal, so that it is never proposed again."""
        proposal = _require_pending(await self.show(caller, reference))
        moment = self._clock()

        def change(stored: QueuedProposal | None) -> QueuedProposal | None:
            return replace(
                _require_pending(stored or proposal),
                state=ProposalState.REJECTED,
                decided_by=caller.label,
                decided_at=moment,
                updated_at=moment,
            )

        return await self._change(caller.tenant, proposal, change)

    async def everything(self, tenant: Tenant) -> Sequence[QueuedProposal]:
        """Return all proposals of a tenant, decided ones too, newest first."""
        return await self._queue.newest(tenant, MOST_STORED)

    async def tenants(self) -> Sequence[Tenant]:
        """Return the tenants with proposals."""
        return await self._queue.tenants()

    async def delete_tenant(self, tenant: Tenant) -> None:
        """Forget the proposals of a tenant."""
        await self._queue.delete_tenant(tenant)

    async def move_tenant(self, old: Tenant, new: Tenant) -> None:
        """Give the proposals of a tenant to another name."""
        await self._queue.move_tenant(old, new)

    def close(self) -> None:
        """Close what capture was opened with."""
        self._queue.close()

    async def _accept(
        self, caller: AuthContext, proposal: QueuedProposal, by: str
    ) -> tuple[QueuedProposal, AcceptedProposal]:
        """Add first and note the decision then: adding again changes nothing."""
        result = await self._books[proposal.text.kind].add(caller, proposal.id, proposal.text)
        moment = self._clock()

        def change(stored: QueuedProposal | None) -> QueuedProposal | None:
            return replace(
                stored or proposal,
                state=ProposalState.ACCEPTED,
                decided_by=by,
                decided_at=moment,
                updated_at=moment,
                result=result.ref,
            )

        return await self._change(caller.tenant, proposal, change), result

    async def _change(
        self, tenant: Tenant, proposal: QueuedProposal, change: ProposalChange
    ) -> QueuedProposal:
        stored = await self._queue.change(tenant, {proposal.id: change})
        return stored[proposal.id] or proposal

    async def _recognise(
        self, caller: AuthContext, found: Sequence[ExtractedProposal], session: str
    ) -> tuple[list[tuple[ExtractedProposal, tuple[str, ...]]], list[KnownDuplicate]]:
        """Separate what is new from what the queue, memory or the catalogue says already."""
        fresh: list[tuple[ExtractedProposal, tuple[str, ...]]] = []
        duplicates: list[KnownDuplicate] = []
        queued = list(await self._queue.newest(caller.tenant, COMPARED)) if found else []
        waiting = [(item, _shape(item.text)) for item in queued]
        for proposal in found:
            shape = _shape(proposal.text)
            same = next((item for item, other in waiting if item.id == proposal.id), None) or next(
                (
                    item
                    for item, other in waiting
                    if item.text.kind is proposal.text.kind and compare(shape, other) >= SAME
                ),
                None,
            )
            if same is not None and not _is_renewable(same, proposal, session):
                duplicates.append(KnownDuplicate(proposal.text.title, f"{REF}{same.id}"))
                continue
            known = await self._books[proposal.text.kind].find_similar(caller, proposal.text)
            scored = [(item, _likeness(proposal.text, shape, item)) for item in known]
            equal = next((item for item, score in scored if score >= SAME), None)
            if equal is not None:
                duplicates.append(KnownDuplicate(proposal.text.title, equal.ref))
                continue
            near = [item.ref for item, score in scored if score >= SIMILAR]
            fresh.append((proposal, tuple(near[:MOST_SIMILAR])))
        return fresh, duplicates


def _queue_up(
    item: ExtractedProposal, similar: tuple[str, ...], session: str, moment: datetime
) -> QueuedProposal:
    return QueuedProposal(
        item.id, item.text, item.reason, item.strength, session, moment, moment, similar=similar
    )


def _renewal(proposal: QueuedProposal) -> ProposalChange:
    """Return the change that queues a proposal, or renews one of the same session."""

    def change(stored: QueuedProposal | None) -> QueuedProposal | None:
        if stored is None:
            return proposal
        if stored.state is not ProposalState.PENDING or stored.is_edited:
            return None
        return replace(
            proposal, session=stored.session or proposal.session, created_at=stored.created_at
        )

    return change


def _is_renewable(queued: QueuedProposal, proposal: ExtractedProposal, session: str) -> bool:
    """Tell whether a later capture of the same session says more about a proposal that waits."""
    return (
        queued.id == proposal.id
        and bool(session)
        and queued.session == session
        and queued.state is ProposalState.PENDING
        and not queued.is_edited
        and queued.text.content != proposal.text.content
    )


def _is_clear(proposal: QueuedProposal) -> bool:
    return (
        proposal.text.kind is ProposalKind.LESSON
        and proposal.strength >= LEAST_STRENGTH
        and not proposal.similar
    )


def _shape(text: ProposalText) -> StatementShape:
    return read_shape(f"{text.title}\n{text.content}")


def _likeness(text: ProposalText, shape: StatementShape, known: KnownText) -> float:
    """Return how much a known text says the same; a known title or body alone may do so too."""
    whole = compare(shape, read_shape(f"{known.title}\n{known.content}"))
    statement = read_shape(text.content)
    said = max(compare(statement, read_shape(known.content)), whole)
    if text.kind is ProposalKind.RULE or text.type is LessonType.DECISION:
        return max(said, compare(statement, read_shape(known.title)))
    # the same error may have another cause: similar, not the same
    title = compare(read_shape(text.title), read_shape(known.title))
    return max(said, min(title, SAME - 0.01))


def _require_pending(proposal: QueuedProposal) -> QueuedProposal:
    if proposal.state is ProposalState.PENDING:
        return proposal
    raise CommonplaceError(
        PROPOSAL_DECIDED,
        f"Proposal {proposal.id} was {proposal.state} already.",
        hint="capture_list shows what waits.",
        details={"state": str(proposal.state), "result": proposal.result},
    )


def _edited(text: ProposalText, edit: ProposalEdit) -> ProposalText:
    """Apply the changes of a person; secrets are masked here too."""
    try:
        return ProposalText(
            edit.kind or text.kind,
            text.title if edit.title is None else " ".join(clean_text(edit.title).split()),
            text.content if edit.content is None else clean_text(edit.content).strip(),
            edit.type or text.type,
            text.tags if edit.tags is None else tuple(map(clean_text, edit.tags)),
            text.project if edit.project is None else clean_text(edit.project).strip(),
        )
    except ValueError as wrong:
        raise CommonplaceError(
            INVALID_ARGUMENT, f"The proposal cannot be changed: {wrong}.", hint="Shorten it."
        ) from None
