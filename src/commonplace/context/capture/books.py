"""What capture needs of memory and of the catalogue; `bootstrap` implements it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.context.capture.model import AcceptedProposal, ProposalText
from commonplace.kernel.auth import AuthContext


@dataclass(frozen=True, slots=True)
class KnownText:
    """A lesson or a rule that exists."""

    ref: str
    title: str
    content: str


class ProposalBook(Protocol):
    """Where accepted proposals of one kind go."""

    async def find_similar(self, caller: AuthContext, text: ProposalText) -> Sequence[KnownText]:
        """Return what may say the same, best first."""
        ...

    async def add(self, caller: AuthContext, id_: str, text: ProposalText) -> AcceptedProposal:
        """Add an accepted proposal; adding it again changes nothing. Raises what refuses it."""
        ...
