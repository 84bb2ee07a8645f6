"""Which rules fit a task by their description: by words, and by meaning where a model exists.

Title and description of such rules are a collection of their own, searched by the engine that also
searches instructions (ADR 0371): a rule is not brought into effect by a word deep in its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING

from commonplace.instructions.engine.effective.rule import EffectiveCandidate
from commonplace.search.fusion import fuse
from commonplace.search.lexical.text import analyze
from commonplace.search.model import Neighbours
from commonplace.search.whole_texts.texts import TextSearch
from commonplace.search.whole_texts.words import RUN

if TYPE_CHECKING:
    from commonplace.search.model import Vectors
    from commonplace.search.whole_texts.meaning import TextMeaning

# Chosen on the tuned half of tests/data/search/rule_tasks.json (ADR 0371).
FITS_BY_WORDS = 0.008  # least score without meaning
FITS_BY_MEANING = 0.006  # least score with it
COMPARABLE = 0.25  # share of the best score that the others must have
CANDIDATES = 50
DESCRIBED_CHARS = 2_000
SHOWN_WORDS = 5


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A task, and its vector if there is a model that reads it."""

    text: str
    vector: Vectors | None = None
    legibility: float = 1.0


def read_task(text: str, meaning: TextMeaning | None) -> ReadTask:
    """Read a task; blocking for the time of one embedding."""
    if meaning is None or not text.strip():
        return ReadTask(text)
    # Not needed by hooks, which judge by words alone.
    from commonplace.search.hybrid import ILLEGIBLE_BELOW
    from commonplace.search.semantic.embed import EmbedderUnavailableError

    try:
        vector, legible = meaning.embed_query(text)
    except EmbedderUnavailableError:  # ranked by words
        return ReadTask(text)
    return ReadTask(text, vector, legible) if legible >= ILLEGIBLE_BELOW else ReadTask(text)


class DescribedRules:
    """Rules that apply if their description fits the task. Not thread-safe."""

    def __init__(self, rules: Iterable[EffectiveCandidate] = ()) -> None:
        self._rules: dict[str, EffectiveCandidate] = {}
        self._search = TextSearch(lambda key: _spell(self._rules[key]).lower())
        for rule in rules:
            self.put(rule)

    def __len__(self) -> int:
        return len(self._rules)

    def put(self, rule: EffectiveCandidate) -> None:
        """Add or replace a rule; those with another activation are left out."""
        self.drop(rule.key)
        if rule.scope.activation == "description":
            self._rules[rule.key] = rule
            self._search.put(rule.key, *_fields(rule))

    def drop(self, key: str) -> None:
        """Remove a rule."""
        rule = self._rules.get(key)
        if rule is not None:
            self._search.drop(key, *_fields(rule))
            del self._rules[key]

    def find_fitting(
        self,
        task: ReadTask,
        meaning: TextMeaning | None,
        concerns: Callable[[EffectiveCandidate], bool],
    ) -> dict[str, str]:
        """Return the rules that fit a task, each with the reason.

        `concerns` tells whether a rule is for those who ask; others set no standard.
        """
        if not self._rules or not task.text.strip():
            return {}
        asked = self._search.ask(task.text)
        near = _compare(task, meaning, [*self._rules])
        by_words = [match.key for match in asked.find_candidates(CANDIDATES).matches]
        unembedded = [key for key in by_words if key not in near.cosines]
        hits = fuse(asked.describe_names(unembedded), None, explained=False)
        least = dict.fromkeys(unembedded, FITS_BY_WORDS)
        if near.cosines and meaning is not None:
            nearest = nlargest(CANDIDATES, near.cosines, key=near.cosines.__getitem__)
            compared = sorted({*nearest, *by_words} - {*unembedded})
            # The prior of small collections is left out: a score means the same in every one.
            hits += fuse(
                asked.describe_names(compared),
                {key: near.cosines[key] for key in compared},
                meaning.parameters,
                vectors=near.vectors,
                legibility=task.legibility,
                explained=False,
            )
        hits = [hit for hit in hits if concerns(self._rules[hit.key])]
        best = max((hit.score for hit in hits), default=0.0)
        words = _words_by_stem(task.text)
        return {
            hit.key: _explain([words[term] for term in hit.terms if term in words])
            for hit in hits
            if hit.score >= max(least.get(hit.key, FITS_BY_MEANING), COMPARABLE * best)
        }


def _compare(task: ReadTask, meaning: TextMeaning | None, keys: Sequence[str]) -> Neighbours:
    """Return how near descriptions are to a task, as far as meaning can tell."""
    nothing = Neighbours({}, 0, exact=True)
    if meaning is None or task.vector is None:
        return nothing
    try:
        return meaning.compare(task.vector, keys, CANDIDATES)
    except Exception:  # vectors that cannot be read: judged by words
        return nothing


def _fields(rule: EffectiveCandidate) -> tuple[str, str, str]:
    """Return title, text and labels; an id is a label, the path of a file is none."""
    labels = rule.key if rule.ref != rule.key else ""
    return rule.title, rule.description[:DESCRIBED_CHARS], labels


def _spell(rule: EffectiveCandidate) -> str:
    return "\n".join(_fields(rule))


def _words_by_stem(task: str) -> dict[str, str]:
    return {stem: word.lower() for word in RUN.findall(task) for stem in analyze(word)}


def _explain(words: list[str]) -> str:
    listed = ", ".join(sorted(dict.fromkeys(words))[:SHOWN_WORDS])
    return f"its description fits the task{f': {listed}' if listed else ' by meaning'}"
