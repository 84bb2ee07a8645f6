"""Judge whether what a search found answers it, by evidence that does not depend on the store.

The evidence of a match is its cosine plus a share of how much of a perfect match by words it has.
The latter counts the rare words of the query most, and those that no entry has count against it.
Each model has two lines. Below the upper one an answer is doubtful: 9 of 10 questions about
something that is not in memory stay there, but also many paraphrases. Nothing answers if the best
match also stands out from its background, the matches behind it, by less than the lower line: 3 of
100 answerable queries do, paraphrases without a common word among them. In a large memory something
is near to every query, so both lines rise with the number of entries (benchmarks/memory_recall.py,
ADR 0352).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from commonplace.search.languages import detect_language

# Where no model reads the question: the least share of a perfect match by words of an answer.
WORDS_LINE = 0.07  # in a memory of one entry
WORDS_LINE_GROWTH = 0.02  # for each e-fold of entries
JUDGED_MATCHES = 10
BEFORE_BACKGROUND = 5  # nearest matches that may all answer; the others are the background
GROWS_FROM = 100  # entries, from where the lines rise
_WORD = re.compile(r"\w+")
_SCRIPTS = {
    "CYRILLIC": "cyrillic",
    "GREEK": "greek",
    "ARABIC": "arabic",
    "HEBREW": "hebrew",
    "DEVANAGARI": "devanagari",
    "BENGALI": "bengali",
    "TAMIL": "tamil",
    "THAI": "thai",
    "HANGUL": "korean",
    "HIRAGANA": "japanese",
    "KATAKANA": "japanese",
    "KATAKANA-HIRAGANA": "japanese",
    "CJK": "chinese",
}


class Verdict(StrEnum):
    """Whether matches answer a query."""

    LIKELY = "likely"
    DOUBTFUL = "doubtful"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class MatchEvidence:
    """What speaks for a match: its cosine, and the share of a perfect match by words."""

    cosine: float
    words: float


@dataclass(frozen=True, slots=True)
class EvidenceLines:
    """The evidence below which nothing answers, and below which an answer is doubtful.

    `nothing` is compared with the evidence less a share of the background.
    """

    words_weight: float
    nothing: float
    doubtful: float
    background_share: float = 0.0
    usual_background: float = 0.0  # counts for matches that a small memory does not have
    growth: float = 0.0  # of both lines, for each e-fold of entries


# Chosen on the tuning half of the questions and measured on the other, except for what concerns the
# background and the growth: both halves were in view (ADR 0352, 0353). With the usual
# background a memory of five entries is judged as by its best match alone.
_LINES = {
    "all-MiniLM-L6-v2": EvidenceLines(0.2, 0.21, 0.38, 0.5, 0.1, 0.02),
    "granite-embedding-30m-english": EvidenceLines(0.5, 0.36, 0.51),
    "quality": EvidenceLines(0.5, 0.32, 0.43),
    "multilingual-e5-small": EvidenceLines(0.9, 0.31, 0.49, growth=0.02),
}
# A multilingual model puts two texts of another language nearer to each other than English ones.
_LINES_OF_OTHER_LANGUAGES = {
    "multilingual-e5-small": EvidenceLines(0.9, 0.25, 0.55, 0.5, 0.3, 0.01)
}


def lines_of(identity: str, language: str | None) -> EvidenceLines | None:
    """Return the lines of a model for a query in a language, None for English.

    Returns None for a model that was not measured.
    """
    name = identity.partition("/")[0]
    lines = _LINES.get(name)
    return lines if language is None else _LINES_OF_OTHER_LANGUAGES.get(name, lines)


def language_of(text: str) -> str | None:
    """Return the language of a text if it is clearly not English."""
    return detect_language(text, _WORD.findall(text))


def script_of(text: str) -> str | None:
    """Return the script of most letters of a text if it is not the Latin one.

    A text with kana is Japanese, though most of its letters may be Chinese.
    """
    letters = [character for character in text if character.isalpha()]
    if text.isascii() or not letters:
        return None
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    found = Counter(_SCRIPTS.get(name, "") for name in names)
    if found["japanese"]:
        return "japanese"
    script, count = max(found.items(), key=lambda item: item[1])
    return script if script and 2 * count > len(letters) else None


def judge(
    evidence: Iterable[MatchEvidence],
    lines: EvidenceLines,
    *,
    entries: int = 0,
    may_answer: bool = False,
) -> Verdict:
    """Judge the best matches of a query among a number of entries, 0 if that is not known.

    With `may_answer` they are never ruled out.
    """
    best = list(islice(evidence, JUDGED_MATCHES))
    if not best:
        return Verdict.NOTHING
    found = max(match.cosine + lines.words_weight * match.words for match in best)
    rise = lines.growth * math.log(max(entries, GROWS_FROM) / GROWS_FROM)
    if found >= lines.doubtful + rise:
        return Verdict.LIKELY
    outstanding = found - lines.background_share * _background(best, lines.usual_background)
    is_ruled_out = outstanding < lines.nothing + rise and not may_answer
    return Verdict.NOTHING if is_ruled_out else Verdict.DOUBTFUL


def _background(best: Sequence[MatchEvidence], usual: float) -> float:
    """Return the mean cosine of the matches behind those that may answer."""
    cosines = sorted((match.cosine for match in best), reverse=True)
    cosines += [usual] * (JUDGED_MATCHES - len(cosines))
    behind = cosines[BEFORE_BACKGROUND:]
    return sum(behind) / len(behind)


def judge_words(
    evidence: Iterable[MatchEvidence], *, entries: int = 0, may_answer: bool = False
) -> Verdict:
    """Judge the best matches where no model read the query.

    There is one line instead of two, because words alone rarely find an answer in other words.
    In a small memory most words of any query are unknown: the line rises from the first entry on
    (ADR 0415).
    """
    found = max((match.words for match in islice(evidence, JUDGED_MATCHES)), default=None)
    if found is None:
        return Verdict.NOTHING
    if found >= WORDS_LINE + WORDS_LINE_GROWTH * math.log(max(entries, 1)):
        return Verdict.LIKELY
    return Verdict.DOUBTFUL if may_answer else Verdict.NOTHING
