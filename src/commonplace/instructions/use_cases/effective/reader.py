"""Answer which rules are in effect, from a catalogue and optionally a repository."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from commonplace.instructions.engine.effective.comparing import ComparedTexts
from commonplace.instructions.engine.effective.compiled import CompiledRules, is_for
from commonplace.instructions.engine.effective.fitting import fit
from commonplace.instructions.engine.effective.merging import RuleMerger
from commonplace.instructions.engine.effective.outcome import (
    EffectiveRules,
    RuleNotice,
    RuleQuestion,
)
from commonplace.instructions.engine.effective.rule import EffectiveCandidate, candidate_of
from commonplace.instructions.model import Instruction
from commonplace.instructions.rulefiles.situation import RuleTree
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.instructions.use_cases.effective.describing import (
    DescribedRules,
    ReadTask,
    read_task,
)
from commonplace.instructions.use_cases.effective.keeping import KeptRule, RuleKeeper
from commonplace.kernel.gc_control import gc_paused

if TYPE_CHECKING:
    from commonplace.instructions.use_cases.effective.repository import RuleFileCache
    from commonplace.instructions.use_cases.search.meaning import CatalogueMeaning
    from commonplace.search.whole_texts.meaning import TextMeaning

MANY = 1_000  # changes that stay: the garbage collector need not look at them again
READ_AT_ONCE = 4  # texts: two milliseconds
PAUSE_SECONDS = 0.0005


class EffectiveRulesReader:
    """Rules of one catalogue, prepared for questions and followed change by change.

    From the first question on a thread reads the texts that no question needed yet. When all are
    read, the `keeper` writes what hooks need to the disk.
    """

    def __init__(
        self, store: CatalogueStore, meaning: CatalogueMeaning, keeper: RuleKeeper | None = None
    ) -> None:
        self._store = store
        self._meaning = meaning
        self._keeper = keeper
        self._kept_generation = -1
        self._lock = threading.Lock()
        self._generation = -1
        self._hash = ""
        self._entries: dict[str, Instruction] = {}
        self._compiled = CompiledRules()
        self._texts = ComparedTexts()
        self._described = DescribedRules()
        self._files: RuleFileCache | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def answer(self, question: RuleQuestion, tree: RuleTree | None) -> tuple[EffectiveRules, str]:
        """Return the rules in effect, and the hash of the catalogue."""
        found = self._read_files(tree, question) if tree is not None else ()
        files, described = CompiledRules(found), DescribedRules(found)
        with self._lock:
            self._follow()
            judges = question.fitting is None and (self._described or described)
        task, meaning = self._read_task(question.task) if judges else (ReadTask(""), None)
        with self._lock:
            catalogue_hash = self._follow()
            compiled = self._compiled
            concerns = partial(is_for, question=question)
            fitting = question.fitting
            if fitting is None:
                fitting = self._described.find_fitting(task, meaning, concerns)
            choice = compiled.choose(question, fitting)
            own = files.choose(question, described.find_fitting(task, None, concerns))
            selected = (chosen.rule.key for chosen in choice.selected)
            overlaps = self._texts.overlaps(selected, [found.rule for found in own.selected])
            choice.extend(own)
            missing = [
                RuleNotice(name, "", "no such rule")
                for name in question.named
                if name not in compiled.candidates and name not in files.candidates
            ]
            merged = RuleMerger(choice.selected, overlaps)
            if question.fitting:
                merged.put_first(question.fitting)
            left_out = [*missing, *choice.left_out]
            rules = fit(merged, choice.offered, left_out, question.paths, question.budget)
            self._read_on()
        return rules, catalogue_hash

    def finish_reading(self) -> None:
        """Wait until every text is read."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop the thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _read_task(self, text: str) -> tuple[ReadTask, TextMeaning | None]:
        if not text.strip():
            return ReadTask(""), None
        self._meaning.prepare()
        meaning = self._meaning.usable
        return read_task(text, meaning), meaning

    def _follow(self) -> str:
        """Take the changes of the catalogue into account; return its hash."""
        with self._store.lock:
            catalogue = self._store.current()
            if self._generation == catalogue.generation:
                return self._hash
            generation, self._hash = catalogue.generation, catalogue.hash
            entries = dict(catalogue.entries)
        known = self._entries
        for id_ in known.keys() - entries.keys():
            self._compiled.drop(id_)
            self._texts.drop(id_)
            self._described.drop(id_)
        changed = [entry for id_, entry in entries.items() if known.get(id_) is not entry]
        with gc_paused(freeze=len(changed) > MANY):
            for entry in changed:
                candidate = candidate_of(entry.document.whole())
                self._compiled.put(candidate)
                self._texts.put(candidate)
                self._described.put(candidate)
        self._entries, self._generation = entries, generation
        return self._hash

    def _read_files(self, tree: RuleTree, question: RuleQuestion) -> list[EffectiveCandidate]:
        from commonplace.instructions.use_cases.effective import repository

        with self._lock:
            if self._files is None:
                self._files = repository.make_cache()
        return repository.repository_candidates(tree, question.paths, self._files)

    def _read_on(self) -> None:
        """Let a thread read the texts that are left, unless one does."""
        if not (self._texts.has_unread or self._is_unkept()) or self._closing.is_set():
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="rules-reader", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            with self._lock:
                has_more = self._texts.read_some(READ_AT_ONCE)
            if not has_more:
                self._keep()
                return
            time.sleep(PAUSE_SECONDS)  # questions come first

    def _is_unkept(self) -> bool:
        keeper = self._keeper
        return keeper is not None and keeper.is_wanted and self._kept_generation != self._generation

    def _keep(self) -> None:
        """Write the rules to the disk, as they are now."""
        keeper = self._keeper
        with self._lock, self._store.lock:
            catalogue_hash = self._follow()
            if keeper is None or self._texts.has_unread or not self._is_unkept():
                return
            overlaps = self._texts.overlaps(())
            rules = [
                KeptRule(candidate, self._entries[key])
                for key, candidate in self._compiled.candidates.items()
            ]
            self._kept_generation, state = self._generation, keeper.state()
        keeper.write(rules, overlaps, catalogue_hash, state)
