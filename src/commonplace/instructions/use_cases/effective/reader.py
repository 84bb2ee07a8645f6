"""Answer which rules are in effect, from a catalogue and optionally a repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from commonplace.instructions.engine.effective.compiled import CompiledRules
from commonplace.instructions.engine.effective.fitting import fit
from commonplace.instructions.engine.effective.merging import Disputes, RuleMerger
from commonplace.instructions.engine.effective.outcome import (
    EffectiveRules,
    RuleNotice,
    RuleQuestion,
)
from commonplace.instructions.engine.effective.rule import EffectiveCandidate, candidate_of
from commonplace.instructions.model import Instruction
from commonplace.instructions.rulefiles.situation import RuleTree
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.kernel.gc_control import gc_paused
from commonplace.search.lexical.text import analyze, is_stop_word, query_terms

LEAST_SHARED = 2  # words of a task that a description must share


class EffectiveRulesReader:
    """Rules of one catalogue. Candidates are kept until their instruction changes."""

    def __init__(self, store: CatalogueStore) -> None:
        self._store = store
        self._known: dict[str, tuple[Instruction, EffectiveCandidate]] = {}
        self._compiled: tuple[int, CompiledRules, Disputes, str] | None = None
        self._terms: dict[str, tuple[EffectiveCandidate, frozenset[str], frozenset[str]]] = {}

    def answer(self, question: RuleQuestion, tree: RuleTree | None) -> tuple[EffectiveRules, str]:
        """Return the rules in effect, and the hash of the catalogue."""
        compiled, disputes, catalogue_hash = self._compile()
        choice = compiled.choose(question, self._judge(compiled.described, question.task))
        known = set(compiled.candidates)
        if tree is not None:
            from commonplace.instructions.use_cases.effective.repository import (
                repository_candidates,
            )

            files = CompiledRules(repository_candidates(tree, question.paths))
            choice.extend(files.choose(question, self._judge(files.described, question.task)))
            known |= files.candidates.keys()
        missing = [
            RuleNotice(name, "", "no such rule") for name in question.named if name not in known
        ]
        merged = RuleMerger(choice.selected, disputes if tree is None else None)
        left_out = [*missing, *choice.left_out]
        rules = fit(merged, choice.offered, left_out, question.paths, question.budget)
        return rules, catalogue_hash

    def _compile(self) -> tuple[CompiledRules, Disputes, str]:
        with self._store.lock:
            catalogue = self._store.current()
            if self._compiled is not None and self._compiled[0] == catalogue.generation:
                return self._compiled[1:]
            generation, catalogue_hash = catalogue.generation, catalogue.hash
            entries = list(catalogue.entries.values())
        with gc_paused():
            known: dict[str, tuple[Instruction, EffectiveCandidate]] = {}
            for entry in entries:
                kept = self._known.get(entry.id)
                if kept is None or kept[0] is not entry:
                    kept = (entry, candidate_of(entry.document.whole()))
                known[entry.id] = kept
            compiled = CompiledRules(candidate for _, candidate in known.values())
        self._known = known
        self._compiled = generation, compiled, Disputes(), catalogue_hash
        return self._compiled[1:]

    def _judge(self, described: Iterable[EffectiveCandidate], task: str) -> Mapping[str, str]:
        """Return the candidates whose description shares words with a task, each with them."""
        asked = {term for term in query_terms(task) if not is_stop_word(term)} if task else set()
        fitting: dict[str, str] = {}
        for candidate in described if asked else ():
            words, title = self._terms_of(candidate)
            shared = asked & words
            if len(shared) >= LEAST_SHARED or asked & title:
                listed = ", ".join(sorted(shared)[:5])
                fitting[candidate.key] = f"its description fits the task: {listed}"
        return fitting

    def _terms_of(self, candidate: EffectiveCandidate) -> tuple[frozenset[str], frozenset[str]]:
        kept = self._terms.get(candidate.key)
        if kept is None or kept[0] is not candidate:
            title = frozenset(term for term in analyze(candidate.title) if not is_stop_word(term))
            words = title | frozenset(analyze(candidate.description[:2_000]))
            kept = self._terms[candidate.key] = (candidate, words, title)
        return kept[1], kept[2]
