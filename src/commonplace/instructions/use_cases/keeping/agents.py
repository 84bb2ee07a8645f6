"""What agents may not do on a server where they only propose."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.instructions.engine.review.policy import EFFECTIVE
from commonplace.instructions.errors import REVIEW_REQUIRED
from commonplace.instructions.model import Author, Instruction
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.errors import CommonplaceError


def refuse_agents(parts: CatalogueParts, author: Author, what: str) -> None:
    """Refuse agents that only propose. Raises REVIEW_REQUIRED."""
    if parts.policy.forbids_decision(author):
        raise CommonplaceError(
            REVIEW_REQUIRED,
            f"Agents only propose on this server, so they may not {what}.",
            hint="Ask a person to do it in the console or on the command line.",
        )


def refuse_agents_approved(
    parts: CatalogueParts, author: Author, entries: Iterable[Instruction | None], what: str
) -> None:
    """Refuse agents that only propose to take what is in effect away. Raises REVIEW_REQUIRED."""
    if not parts.policy.forbids_decision(author):
        return
    for entry in entries:
        if entry is not None and entry.document["status"] in EFFECTIVE:
            refuse_agents(parts, author, f"{what} {entry.id}, which is approved")
