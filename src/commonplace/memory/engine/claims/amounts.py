"""Read the amounts of a sentence, with their units, in digits or in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from commonplace.memory.engine.lexicon import UNITS, names_a_thing, words
from commonplace.memory.engine.terms import terms_of_word

COUNT: Final = "count"  # what a number without a unit measures
_TOLERANCE: Final = 0.1  # half a year is six months, and about 180 days
_WORDS: Final = {
    word: number
    for number, listed in enumerate(
        (
            "zero zéro",
            "one un une once",
            "two deux twice",
            "three trois thrice",
            "four quatre",
            "five cinq",
            "six",
            "seven sept",
            "eight huit",
            "nine neuf",
            "ten dix",
        )
    )
    for word in listed.split()
}
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:[,\u202f ]\d{3})+")
_AMOUNT: Final = re.compile(
    rf"(?i)\b({_THOUSANDS.pattern}|\d+(?:[.,]\d+)?|"
    + "|".join(sorted(_WORDS, key=len, reverse=True))
    + r")\s?([^\W\d_]+|%)?"
)
_DAY: Final = 86_400.0
_REPEATS: Final = words(
    "time times try tries retry retries attempt attempts fois essai essais tentative tentatives"
)
_LONG: Final = {
    **dict.fromkeys(("week", "weeks", "semaine", "semaines"), 7 * _DAY),
    **dict.fromkeys(("month", "months", "mois"), 30 * _DAY),
    **dict.fromkeys(("year", "years", "an", "ans", "année", "années"), 365 * _DAY),
}


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount in a base unit, and as it was written."""

    value: float
    written: str

    def differs(self, other: Amount) -> bool:
        """Say whether two amounts of one measure are more than a rounding apart."""
        return abs(self.value - other.value) > _TOLERANCE * max(self.value, other.value)


def read_amounts(text: str) -> dict[str, Amount]:
    """Return the first amount of each measure: time, size, another unit, or `COUNT`."""
    found: dict[str, Amount] = {}
    for match in _AMOUNT.finditer(text):
        number, unit = match[1].casefold(), match[2] or ""
        measure, factor = _read_unit(unit)
        before = text[: match.start()].split()[-1:]
        if names_a_thing("".join(before).casefold(), unit.casefold()):
            continue
        if number in _WORDS and measure != "time":
            continue  # "one" and "two" are more often something else
        value = float(_WORDS[number]) if number in _WORDS else _read_number(number)
        found.setdefault(measure, Amount(value * factor, match[0].strip()))
    return found


def is_unit(word: str) -> bool:
    """Say whether a word is a unit of time or size."""
    return _read_unit(word)[0] in ("time", "size")


def _read_unit(written: str) -> tuple[str, float]:
    word = written.casefold()
    if word in _LONG:
        return "time", _LONG[word]
    if word in _REPEATS:
        return "repeats", 1.0
    terms = terms_of_word(word)
    known = UNITS.get(word) or (UNITS.get(terms[0]) if terms else None)
    return known or (word.removesuffix("s") or COUNT, 1.0)


def _read_number(text: str) -> float:
    if _THOUSANDS.fullmatch(text):
        return float(re.sub(r"\D", "", text))
    return float(text.replace(",", "."))
