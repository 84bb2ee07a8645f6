"""What two claims that cannot both hold are reported as, and how sure their subject is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commonplace.memory.engine.claims.agreement import ClaimPair
from commonplace.memory.engine.sentences import Sentence
from commonplace.memory.engine.terms import terms_of_name

MINIMUM_SHARED: Final = 2  # terms that name the subject
MANY_SHARED: Final = 3  # where the claims themselves say less


@dataclass(frozen=True, slots=True)
class Opposition:
    """Two sentences that cannot both hold: number, value, opposite or negation."""

    kind: str
    a: Sentence
    b: Sentence
    detail: str
    strength: float
    known_kind: str = ""  # of two names of the table of alternatives


def make_opposition(
    kind: str,
    pair: ClaimPair,
    detail: str,
    shared: frozenset[str],
    least: float,
    *,
    known_kind: str = "",
) -> Opposition:
    strength = least + 0.05 * len(shared)
    return Opposition(kind, pair.a.sentence, pair.b.sentence, detail, strength, known_kind)


def weigh(shared: frozenset[str], pair: ClaimPair) -> int:
    """Count the terms that name the subject; a name of code, a product or a team counts twice."""
    names = {term for name in pair.a.names & pair.b.names for term in terms_of_name(name)}
    return len(shared) + len(shared & names)
