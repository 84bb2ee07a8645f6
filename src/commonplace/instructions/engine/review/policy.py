"""Which changes wait for a review, and who may approve them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from commonplace.instructions.model import Author
from commonplace.kernel.json_types import Json
from commonplace.kernel.settings import GovernanceSettings

ANY = "*"
EFFECTIVE = frozenset({"approved", "deprecated"})  # states that only a decision may change


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """The rules of `governance`."""

    agents_propose: bool
    categories: frozenset[str]
    classifications: frozenset[str]

    @classmethod
    def of(cls, settings: GovernanceSettings) -> ReviewPolicy:
        """Read the settings."""
        return cls(
            settings.agents_propose,
            frozenset(name.strip().lower() for name in settings.four_eyes_categories),
            frozenset(name.strip().lower() for name in settings.four_eyes_classifications),
        )

    def needs_four_eyes(self, *documents: Mapping[str, Json] | None) -> bool:
        """Tell whether somebody other than the author must approve a change.

        The rule of the state before counts as much as that of the state after, so a change cannot
        leave the rule that it is subject to.
        """
        if ANY in self.categories:
            return True
        return any(
            not self.categories.isdisjoint(document.get("categories") or ())
            or document.get("classification") in self.classifications
            for document in documents
            if document is not None
        )

    def must_wait(self, author: Author, *documents: Mapping[str, Json] | None) -> bool:
        """Tell whether a change by an author takes effect only once it is approved."""
        return (self.agents_propose and author.agent) or self.needs_four_eyes(*documents)

    def forbids_decision(self, caller: Author) -> bool:
        """Tell whether a caller may never approve: agents, where they only propose."""
        return self.agents_propose and caller.agent

    def is_own_change(
        self, caller: Author, authors: Collection[Author], *documents: Mapping[str, Json] | None
    ) -> bool:
        """Tell whether a caller would approve a change of their own that needs four eyes."""
        if not self.needs_four_eyes(*documents):
            return False
        return any(author.is_same_person(caller) for author in authors)
