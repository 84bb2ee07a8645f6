"""From lessons to a rule of the catalogue, which all tenants share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from commonplace.kernel.auth import AuthContext, Tenant
from commonplace.kernel.clock import Clock
from commonplace.kernel.errors import INVALID_ARGUMENT
from commonplace.kernel.json_types import JsonObject
from commonplace.memory.errors import SUGGESTION_NOT_FOUND, failure
from commonplace.memory.model import Entry, RelationType, SecretHandling, SuggestionType
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.ulid import read_prefix
from commonplace.memory.use_cases.drafting import SecretScreen
from commonplace.memory.use_cases.lookup import EntryLookup
from commonplace.memory.use_cases.promotion.draft import RuleDraft, draft_rule
from commonplace.memory.use_cases.promotion.lessons import LessonDoubt, StaleLessons


@dataclass(frozen=True, slots=True)
class RuleSubmission:
    """A rule that waits for its review."""

    id: str
    status: str
    review_hash: str | None


class RuleCatalogue(Protocol):
    """The catalogue of rules, as promotion needs it."""

    async def choose_id(self, caller: AuthContext, wanted: str) -> str:
        """Return an id that no rule has, this one if possible."""
        ...

    async def find_promoted(self, caller: AuthContext, lessons: Collection[str]) -> list[str]:
        """Return the ids of rules that come from any of these lessons of the caller."""
        ...

    async def preview(self, caller: AuthContext, draft: RuleDraft, lessons: int) -> JsonObject:
        """Return the rule as everybody would read it."""
        ...

    async def submit(
        self, caller: AuthContext, draft: RuleDraft, lessons: Mapping[str, str]
    ) -> RuleSubmission:
        """Submit a rule for review; `lessons` has the digest of each text behind it."""
        ...


@dataclass(frozen=True, slots=True)
class RulePreview:
    """A rule as it would be published, the lessons behind it, and the hash that submits it."""

    draft: RuleDraft
    rule: JsonObject
    sources: tuple[Entry, ...]
    doubts: Mapping[str, LessonDoubt]
    hash: str
    promoted: tuple[str, ...] = ()  # rules that come from these lessons already
    masked: tuple[str, ...] = ()  # kinds of secrets that were masked


class Promotion:
    """Drafts rules from lessons of a tenant, and submits them for review."""

    def __init__(
        self,
        store: MemoryStore,
        judge: StaleLessons,
        rules: RuleCatalogue,
        clock: Clock,
        secrets: SecretHandling,
    ) -> None:
        self._store = store
        self._judge = judge
        self._rules = rules
        self._clock = clock
        self._secrets = secrets
        self._lookup = EntryLookup(store)

    async def preview(
        self,
        caller: AuthContext,
        references: Sequence[str],
        suggestion: str | None,
        given: RuleDraft,
    ) -> RulePreview:
        """Draft a rule from entries, or from the entries of a generalisation, without secrets."""
        lessons = await self._find_lessons(caller.tenant, references, suggestion)
        sources = await self._with_sources(caller.tenant, lessons)
        screen = SecretScreen(self._secrets)
        given = replace(given, owner=given.owner.strip() or caller.label)
        draft = draft_rule(lessons, _screen(draft_rule(lessons, given), given, screen))
        if not given.id.strip():
            draft = replace(draft, id=await self._rules.choose_id(caller, draft.id))
        digests = _digests(sources)
        rule = await self._rules.preview(caller, draft, len(sources))
        doubts = await self._judge.find_stale(caller.tenant, digests, self._clock())
        promoted = tuple(await self._rules.find_promoted(caller, digests))
        masked = tuple(screen.masked)
        return RulePreview(draft, rule, sources, doubts, draft.hash(digests), promoted, masked)

    async def submit(self, caller: AuthContext, seen: RulePreview, hash_: str) -> RuleSubmission:
        """Submit what a caller saw. Raises INVALID_ARGUMENT if it is something else by now."""
        if hash_ != seen.hash:
            raise failure(
                INVALID_ARGUMENT,
                "The rule is not the one that you saw: its fields or its lessons changed.",
                hint="Look at it again, and send the new preview_hash.",
                field="preview_hash",
                preview_hash=seen.hash,
            )
        return await self._rules.submit(caller, seen.draft, _digests(seen.sources))

    async def _find_lessons(
        self, tenant: Tenant, references: Sequence[str], suggestion: str | None
    ) -> list[Entry]:
        if suggestion is not None:
            found = await self._store.suggestion(tenant, read_prefix(suggestion) or suggestion)
            if found is None or found.type is not SuggestionType.GENERALIZE:
                raise failure(
                    SUGGESTION_NOT_FOUND,
                    f"Generalisation with ID '{suggestion[:64]}' not found",
                    hint="List them with rekall_suggest_generalize.",
                )
            references = found.entry_ids
        lessons = [await self._lookup.find(tenant, reference) for reference in references]
        return list({entry.id: entry for entry in lessons}.values())

    async def _with_sources(self, tenant: Tenant, lessons: Sequence[Entry]) -> tuple[Entry, ...]:
        """Return the lessons, and those that a generalisation among them was derived from."""
        ids = [entry.id for entry in lessons]
        links = await self._store.links_among(tenant, ids)
        derived = [
            link.target_id
            for link in links
            if link.relation is RelationType.DERIVED_FROM and link.source_id in ids
        ]
        more = await self._store.get_all(tenant, derived)
        return tuple({entry.id: entry for entry in (*lessons, *more.values())}.values())


def _screen(drafted: RuleDraft, given: RuleDraft, screen: SecretScreen) -> RuleDraft:
    """Return what is given, with the drafted title and text, without secrets.

    An earlier version may have kept secrets in a lesson, and every tenant reads the rule.
    """
    return replace(
        given,
        id=screen.apply(given.id),
        title=screen.apply(drafted.title),
        body=screen.apply(drafted.body),
        description=screen.apply(given.description),
        owner=screen.apply(given.owner),
        applies_to=tuple(map(screen.apply, given.applies_to)),
        categories=tuple(map(screen.apply, given.categories)),
    )


def _digests(entries: Sequence[Entry]) -> dict[str, str]:
    return {entry.id: entry.digest.hex() for entry in entries}
