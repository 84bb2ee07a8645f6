"""Find where two entries about the same thing disagree, without a language model.

They disagree in a number, a version, a setting or a negation. Sentences are paired by the words
they share; a pair counts if the rest differs only in values, and not in its subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.memory.engine.claims.agreement import (
    ClaimPair,
    contents_are_of_two_things,
    name_two_things,
    name_whole_and_part,
    pair_claims,
)
from commonplace.memory.engine.claims.opposition import denies_other, find_opposition
from commonplace.memory.engine.claims.parallels import are_of_two_things, state_one_subject
from commonplace.memory.engine.claims.reading import read_claims
from commonplace.memory.engine.frames import (
    CIRCUMSTANCES,
    find_different_value,
    find_replacement,
    is_past,
)
from commonplace.memory.engine.lexicon import OPPOSITES_OF, UNITS
from commonplace.memory.engine.sentences import Sentence, read_sentence, split_sentences
from commonplace.memory.engine.subject import different_subjects, find_stated_terms, names_of

MINIMUM_SHARED = 2  # content words that two sentences must have in common
MINIMUM_OVERLAP = 0.45
NEGATION_OVERLAP = 0.5  # "not" alone says little between sentences that share less
VALUE_OVERLAP = 0.6
PARALLEL_WORDS = 2  # of each of two sentences about two things
ONE_SUBJECT = 0.75  # below it, sentences that both have words of their own are about two things
QUOTE_CHARACTERS = 160
DENYING = ("negation", "opposite")
COMPARED = (*DENYING, "number")
SAME_CIRCUMSTANCES = {
    "prod": "production",
    "dev": "development",
    "développement": "development",
    "preprod": "preproduction",
    "préprod": "preproduction",
    "préproduction": "preproduction",
    "locally": "local",
    "tests": "test",
    "testing": "test",
}
_CONDITIONS = frozenset({"when", "quand", "lorsque"})
# Words that deny without "not": a "not" in the other sentence may then say the same.
_SOFT_DENIAL = re.compile(
    r"(?i)\b(?:unless|instead|except|only|refus|avoid|fail|block|prevent|ignor|drop|lack|missing"
    r"|sauf|bloqu)"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """An entry as the detector reads it."""

    title: str
    content: str
    decides: bool = False  # a decision: two choices for one thing cannot both hold

    def sentences(self) -> tuple[Sentence, ...]:
        """Return the title and the sentences of the content."""
        return split_sentences(self.title, self.content)

    def terms(self) -> frozenset[str]:
        """Return the terms of all sentences."""
        return frozenset(term for sentence in self.sentences() for term in sentence.terms)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Where two entries disagree, with a quote of each."""

    kind: str  # number | setting | negation | opposite | value
    quote_a: str
    quote_b: str
    detail: str
    strength: float

    @property
    def reason(self) -> str:
        return f"They disagree ({self.detail}): “{self.quote_a}” / “{self.quote_b}”"


def find_contradiction(a: Statement, b: Statement) -> Contradiction | None:
    """Return the strongest disagreement of two entries, or None.

    Symmetric except for the order of the quotes.
    """
    title_a, title_b = read_sentence(a.title), read_sentence(b.title)
    if _names_differ(a, b) or different_subjects(a.title, a.content, b.title, b.content):
        return None
    only_a = title_a.terms - b.terms() - find_stated_terms(a.title) - UNITS.keys()
    only_b = title_b.terms - a.terms() - find_stated_terms(b.title) - UNITS.keys()
    if a.decides and b.decides and (choices := _different_choices(a.title, b.title)):
        return _contradiction("value", title_a, title_b, choices, VALUE_OVERLAP)
    claims_a, claims_b = read_claims(a.title, a.content), read_claims(b.title, b.content)
    if name_two_things(claims_a, claims_b) or name_whole_and_part(claims_a, claims_b):
        return None
    strongest = _find_replacement(a, b) or _find_replacement(b, a, reverse=True)
    one_subject = title_a.terms == title_b.terms and len(title_a.terms) >= MINIMUM_SHARED
    with_denials = not claims_a.has_exception and not claims_b.has_exception
    pairs = pair_claims(claims_a, claims_b)
    for pair in pairs:
        found = _compare(pair, only_a, only_b, one_subject=one_subject)
        if found is None or (strongest is not None and found.strength <= strongest.strength):
            continue
        if (with_denials or found.kind not in DENYING) and not _is_compatible(found, pair, pairs):
            strongest = found
    return strongest or _find_opposition(pairs, with_denials=with_denials)


def _is_compatible(found: Contradiction, pair: ClaimPair, pairs: Sequence[ClaimPair]) -> bool:
    """Say whether what sentences of one frame disagree in is of two things of one name."""
    if are_of_two_things(pair, found.kind):
        return True
    if found.kind not in COMPARED or (found.kind == "number" and state_one_subject(pair)):
        return False
    if pair.has_title and contents_are_of_two_things(pairs):
        return True
    return pair.is_modified_otherwise(pair.shared)


def _find_opposition(pairs: Sequence[ClaimPair], *, with_denials: bool) -> Contradiction | None:
    found = find_opposition(pairs, with_denials=with_denials)
    if found is None or _circumstances_differ(found.a, found.b):
        return None
    return _contradiction(found.kind, found.a, found.b, found.detail, found.strength)


def _compare(
    pair: ClaimPair, only_a: frozenset[str], only_b: frozenset[str], *, one_subject: bool
) -> Contradiction | None:
    a, b = pair.a.sentence, pair.b.sentence
    if a.text == b.text:
        return None
    shared = a.terms & b.terms
    setting = _different_setting(a, b)
    values = find_different_value(a.text, b.text, one_subject=one_subject)
    if len(shared) < MINIMUM_SHARED and setting is None and values is None:
        return None
    rest_a, rest_b = a.terms - shared, b.terms - shared
    # Parallel sentences about two things: each names its own subject, as its title does.
    if rest_a & only_a and rest_b & only_b:
        return None
    if a.phases != b.phases and a.phases and b.phases and values is None:
        return None  # one before, the other after
    if _circumstances_differ(a, b):
        return None
    overlap = len(shared) / max(1, min(len(a.terms), len(b.terms)))
    jaccard = len(shared) / max(1, len(a.terms | b.terms))
    if setting is not None and (shared or overlap > 0):
        return _contradiction("setting", a, b, setting, jaccard + 0.3)
    if values is None and (overlap < MINIMUM_OVERLAP or jaccard < MINIMUM_OVERLAP / 1.5):
        return None
    opposites = _opposite_words(a, b)
    two_subjects = bool(rest_a - UNITS.keys() and rest_b - UNITS.keys()) and jaccard < ONE_SUBJECT
    if opposites is not None and jaccard >= MINIMUM_OVERLAP and not two_subjects:
        return _contradiction("opposite", a, b, opposites, jaccard + 0.1)
    # "does not support XML" and "supports JSON": a word or two of each are what it is about
    are_parallel = two_subjects and max(len(rest_a), len(rest_b)) <= PARALLEL_WORDS
    denies = _negates_other(a, b) and denies_other(pair.a, pair.b)
    if jaccard >= NEGATION_OVERLAP and not are_parallel and denies:
        return _contradiction("negation", a, b, "one denies what the other states", jaccard + 0.1)
    denied_alike = (a.negations > 0) == (b.negations > 0)
    number = _different_number(a, b) if denied_alike else None
    if number is not None and not two_subjects and _CONDITIONS & a.phases == _CONDITIONS & b.phases:
        return _contradiction("number", a, b, number, jaccard + 0.2)
    if values is not None:
        return _contradiction("value", a, b, f"{values[0]} against {values[1]}", jaccard + 0.1)
    return None


def _find_replacement(a: Statement, b: Statement, *, reverse: bool = False) -> Contradiction | None:
    """Return that one entry still states a value that the other one says was replaced."""
    for later in b.sentences():
        replacement = find_replacement(later.text)
        old = read_sentence(replacement.old).terms if replacement is not None else frozenset()
        if replacement is None or not old:
            continue
        moved = read_sentence(replacement.moved).terms - old
        for sentence in a.sentences()[1:]:
            known = sentence.terms | read_sentence(a.title).terms
            shared = known & (moved or b.terms() - old)
            if not old <= sentence.terms or not shared or is_past(sentence.text):
                continue
            if 2 * len(shared) <= len(moved):
                continue  # something else was moved away from this value
            quotes = (later, sentence) if reverse else (sentence, later)
            detail = f"{replacement.old} was replaced"
            return _contradiction("value", *quotes, detail, VALUE_OVERLAP)
    return None


def _circumstances_differ(a: Sentence, b: Sentence) -> bool:
    """Say whether each sentence names an environment or a platform that the other does not."""
    in_a, in_b = (_find_circumstances(sentence.text) for sentence in (a, b))
    return bool(in_a - in_b and in_b - in_a)


def _find_circumstances(text: str) -> set[str]:
    found = {word.strip(".,;:()").casefold() for word in text.split()} & CIRCUMSTANCES
    return {SAME_CIRCUMSTANCES.get(word, word) for word in found}


def _contradiction(
    kind: str, a: Sentence, b: Sentence, detail: str, strength: float
) -> Contradiction:
    return Contradiction(kind, _quote(a.text), _quote(b.text), detail, round(min(1.0, strength), 3))


def _quote(text: str) -> str:
    return text if len(text) <= QUOTE_CHARACTERS else text[: QUOTE_CHARACTERS - 1] + "…"


def _different_setting(a: Sentence, b: Sentence) -> str | None:
    for name in a.settings.keys() & b.settings.keys():
        if a.settings[name] != b.settings[name]:
            return f"{name}: {a.settings[name]} against {b.settings[name]}"
    return None


def _opposite_words(a: Sentence, b: Sentence) -> str | None:
    for word in sorted(a.opposites):
        others = (OPPOSITES_OF[word] & b.opposites) - a.opposites
        if others and word not in b.opposites:
            return f"{word} against {min(others)}"
    return None


def _negates_other(a: Sentence, b: Sentence) -> bool:
    if (a.negations > 0) == (b.negations > 0):
        return False
    positive, negative = (b, a) if a.negations else (a, b)
    return not any(
        match[0].casefold() not in negative.text.casefold()
        for match in _SOFT_DENIAL.finditer(positive.text)
    )


def _different_number(a: Sentence, b: Sentence) -> str | None:
    values_a = {number.value for number in a.numbers}
    values_b = {number.value for number in b.numbers}
    for first in a.numbers:
        for second in b.numbers:
            same_place = (first.before and first.before == second.before) or (
                first.after and first.after == second.after
            )
            new = first.value not in values_b or second.value not in values_a
            if same_place and new and first.differs(second):
                return f"{first.value} against {second.value}"
    return None


def _names_differ(a: Statement, b: Statement) -> bool:
    """Say whether titles share words but name two things: Python 3.8 and Python 3.9."""
    names_a, names_b = names_of(a.title), names_of(b.title)
    if not names_a or not names_b or names_a == names_b:
        return False
    return bool(read_sentence(a.title).terms & read_sentence(b.title).terms)


def _different_choices(title_a: str, title_b: str) -> str | None:
    """Return what titles choose differently: "Use PostgreSQL for storage", "Use MongoDB …"."""
    terms_a, terms_b = read_sentence(title_a).terms, read_sentence(title_b).terms
    only_a, only_b = terms_a - terms_b, terms_b - terms_a
    if len(only_a) != 1 or len(only_b) != 1 or len(terms_a & terms_b) < MINIMUM_SHARED:
        return None
    if not (only_a <= find_stated_terms(title_a) and only_b <= find_stated_terms(title_b)):
        return None
    return f"{min(only_a)} against {min(only_b)}"
