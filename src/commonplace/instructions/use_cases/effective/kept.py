"""Rules in effect from the index on disk, without a catalogue: for hooks without a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from commonplace.instructions.engine.effective.comparing import TextOverlaps
from commonplace.instructions.engine.effective.compiled import CompiledRules, is_for
from commonplace.instructions.engine.effective.fitting import fit
from commonplace.instructions.engine.effective.merging import RuleMerger
from commonplace.instructions.engine.effective.outcome import EffectiveRules, RuleQuestion
from commonplace.instructions.engine.effective.stored import Place, StoredRule, buckets_for
from commonplace.instructions.store.kept.index import (
    KeptIndex,
    UnusableIndexError,
    folder_state,
    shared_state,
)
from commonplace.kernel.json_types import JsonObject

SETTLED_NS = 20_000_000  # a file that changed so shortly before may have changed again


class KeptRulesReader:
    """Answers questions from the index of a data folder."""

    def __init__(self, index: KeptIndex) -> None:
        self._index = index

    @classmethod
    def of_folder(cls, data: Path, directory: Path) -> KeptRulesReader:
        """Open the index of an instruction folder as it is now. Raises UnusableIndexError."""
        index = KeptIndex.open(data)
        state = folder_state(directory)
        kept = index.header["state"]
        is_settled = state["newest"] + SETTLED_NS < index.header["written_ns"]
        if (kept.get("path"), kept.get("digest")) != (state["path"], state["digest"]) or not (
            is_settled
        ):
            raise UnusableIndexError("the instructions have changed since the index was written")
        return cls(index)

    @classmethod
    def of_database(cls, data: Path, url: str) -> KeptRulesReader:
        """Open the index of a shared catalogue as it was last seen. Raises UnusableIndexError."""
        index = KeptIndex.open(data)
        if index.header["state"] != shared_state(url):
            raise UnusableIndexError("the index is of another database")
        return cls(index)

    @property
    def hash(self) -> str:
        """Return the hash of the catalogue."""
        return str(self._index.header["hash"])

    @property
    def written_ns(self) -> int:
        """Return when the index was written, in nanoseconds since 1970."""
        return int(self._index.header["written_ns"])

    def answer(self, question: RuleQuestion) -> EffectiveRules:
        """Return the rules in effect; rules that are named are not found.

        Raises UnusableIndexError.
        """
        compiled = CompiledRules(self._rules(question))
        choice = compiled.choose(question, self._judge(compiled, question))
        merged = RuleMerger(choice.selected, self._overlaps())
        return fit(merged, choice.offered, choice.left_out, question.paths, question.budget)

    def _rules(self, question: RuleQuestion) -> Iterator[StoredRule]:
        for name in buckets_for(question):
            for row in self._index.read_part(f"rules {name}") or ():
                yield StoredRule(row, self._read_text)

    def _read_text(self, place: Place) -> str:
        return self._index.read(place).decode()

    def _judge(self, compiled: CompiledRules, question: RuleQuestion) -> Mapping[str, str]:
        """Return the rules whose description fits the task, by words alone."""
        if question.fitting is not None or not question.task.strip():
            return question.fitting or {}
        from commonplace.instructions.use_cases.effective.describing import (
            DescribedRules,
            ReadTask,
        )

        described = DescribedRules(compiled.candidates.values())
        concerns = partial(is_for, question=question)
        return described.find_fitting(ReadTask(question.task), None, concerns)

    def _overlaps(self) -> TextOverlaps:
        kept: JsonObject = self._index.read_part("overlaps")
        return TextOverlaps(
            repeated=frozenset(kept["repeated"]),
            contested=frozenset(kept["contested"]),
            declared=frozenset(kept["declared"]),
            disputed=frozenset(hash(tuple(subject)) for subject in kept["disputed"]),
        )
