"""The wire form of proposals."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from commonplace.context.capture.model import CaptureOutcome, ProposalKind, QueuedProposal
from commonplace.kernel.clock import iso
from commonplace.kernel.hidden_characters import reveal
from commonplace.kernel.json_types import JsonObject

KindName = Literal["lesson", "rule"]
StateName = Literal["pending", "accepted", "rejected"]
LessonTypeName = Literal["bug", "pattern", "decision", "pitfall", "config", "reference"]


class ProposalOutput(TypedDict):
    id: str
    kind: KindName
    type: NotRequired[LessonTypeName]
    title: str
    content: str
    tags: list[str]
    project: str
    reason: str
    strength: float
    state: StateName
    session: str
    edited: bool
    similar: list[str]
    created_at: str
    updated_at: str
    decided_by: NotRequired[str]
    decided_at: NotRequired[str]
    result: NotRequired[str]


class DuplicateOutput(TypedDict):
    title: str
    same_as: str


class CaptureOutput(TypedDict):
    queued: list[ProposalOutput]
    accepted: list[ProposalOutput]
    duplicates: list[DuplicateOutput]
    steps: int
    unreadable: int
    cut: bool


def show_proposal(proposal: QueuedProposal) -> JsonObject:
    """Spell a proposal."""
    text = proposal.text
    shown: JsonObject = {
        "id": proposal.id,
        "kind": text.kind.value,
        "title": reveal(text.title),
        "content": reveal(text.content),
        "tags": list(text.tags),
        "project": text.project,
        "reason": proposal.reason,
        "strength": round(proposal.strength, 2),
        "state": proposal.state.value,
        "session": proposal.session,
        "edited": proposal.is_edited,
        "similar": list(proposal.similar),
        "created_at": iso(proposal.created_at),
        "updated_at": iso(proposal.updated_at),
    }
    if text.kind is ProposalKind.LESSON:
        shown["type"] = text.type.value
    if proposal.decided_at is not None:
        shown |= {"decided_by": proposal.decided_by, "decided_at": iso(proposal.decided_at)}
    if proposal.result:
        shown["result"] = proposal.result
    return shown


def show_outcome(outcome: CaptureOutcome) -> JsonObject:
    """Spell what a capture did."""
    return {
        "queued": [show_proposal(proposal) for proposal in outcome.queued],
        "accepted": [show_proposal(proposal) for proposal in outcome.accepted],
        "duplicates": [
            {"title": reveal(known.title), "same_as": known.same_as} for known in outcome.duplicates
        ],
        "steps": outcome.steps,
        "unreadable": outcome.unreadable,
        "cut": outcome.is_cut,
    }
