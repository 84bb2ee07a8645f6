"""A proposal as a row."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from commonplace.context.capture.model import (
    LessonType,
    ProposalKind,
    ProposalState,
    ProposalText,
    QueuedProposal,
)
from commonplace.kernel.auth import Tenant


def to_row(tenant: Tenant, proposal: QueuedProposal) -> dict[str, Any]:
    """Return the columns of a proposal."""
    text = proposal.text
    document = {
        "title": text.title,
        "content": text.content,
        "type": text.type,
        "tags": text.tags,
        "project": text.project,
        "reason": proposal.reason,
        "strength": proposal.strength,
        "session": proposal.session,
        "is_edited": proposal.is_edited,
        "similar": proposal.similar,
        "decided_by": proposal.decided_by,
        "decided_at": None if proposal.decided_at is None else micros(proposal.decided_at),
        "result": proposal.result,
        "kind": text.kind,
        "state": proposal.state,
        "created_at": micros(proposal.created_at),
        "updated_at": micros(proposal.updated_at),
    }
    return {
        "tenant": tenant,
        "id": proposal.id,
        "kind": str(text.kind),
        "state": str(proposal.state),
        "created_at": document["created_at"],
        "updated_at": document["updated_at"],
        "document": orjson.dumps(document).decode(),
    }


def from_row(id_: str, document: str) -> QueuedProposal:
    """Return the proposal of a row."""
    fields = orjson.loads(document)
    return QueuedProposal(
        id_,
        ProposalText(
            ProposalKind(fields["kind"]),
            fields["title"],
            fields["content"],
            LessonType(fields["type"]),
            tuple(fields["tags"]),
            fields["project"],
        ),
        fields["reason"],
        fields["strength"],
        fields["session"],
        _moment(fields["created_at"]),
        _moment(fields["updated_at"]),
        ProposalState(fields["state"]),
        fields["is_edited"],
        tuple(fields["similar"]),
        fields["decided_by"],
        None if fields["decided_at"] is None else _moment(fields["decided_at"]),
        fields["result"],
    )


def micros(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)


def _moment(value: int) -> datetime:
    return datetime.fromtimestamp(value / 1_000_000, UTC)
