"""BM25: the one definition of its parameters and its weights."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bm25:
    """`k1` says how soon repetition stops counting, `b` how much long texts are discounted."""

    k1: float
    b: float

    @property
    def most(self) -> float:
        """Return the gain that no frequency exceeds, before idf."""
        return self.k1 + 1

    def norm(self, length: float, average: float) -> float:
        """Return what the length of a text adds to the frequency in the denominator."""
        return self.k1 * (1 - self.b + self.b * length / average)

    def impact(self, frequency: int, norm: float) -> float:
        """Return the gain of a term that occurs so often, before idf."""
        return frequency * (self.k1 + 1) / (frequency + norm)

    def weigh(self, term_id: int, worth: float, average: float, documents: int) -> TermWeight:
        """Return the weight of a term; `worth` is field weight times idf."""
        return TermWeight(
            term_id,
            worth * (self.k1 + 1),
            self.k1 * (1 - self.b),
            self.k1 * self.b / average,
            documents,
        )


# Two settings, each measured on its own texts. Passages have about the same length, and their
# average is known: k1 a little above the customary 1.2 is better on prose and no worse on code
# (ADR 0043). Whole texts (instructions) differ in length by their nature, so length counts less,
# and it is compared with a fixed pivot: a score must not depend on the order of writes.
PASSAGES = Bm25(k1=1.5, b=0.75)
WHOLE_TEXTS = Bm25(k1=1.2, b=0.5)


@dataclass(frozen=True, slots=True)
class TermWeight:
    """A query term in one field: its score is gain * f / (f + base + slope * length)."""

    term_id: int
    gain: float
    base: float
    slope: float
    documents: int  # that hold the term

    def score(self, frequency: int, length: int) -> float:
        return self.gain * frequency / (frequency + self.base + self.slope * length)
