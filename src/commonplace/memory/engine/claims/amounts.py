"""Read the amounts of a sentence, with their units, in digits or in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from commonplace.memory.engine.lexicon import UNITS, is_counted, names_a_thing, words
from commonplace.memory.engine.terms import terms_of_word

COUNT: Final = "count"  # what a number without a unit measures
_WHOLE: Final = 100.0
_LARGEST_RATIO: Final = 3_000  # between two times that one attribute may have
_TOLERANCE: Final = 0.1  # half a year is six months, and about 180 days
_MOST_UNITS: Final = 9  # behind a ten: "twenty-five"
_SMALL: Final = {
    word: number
    for number, listed in enumerate(
        (
            "zero zéro",
            "one un une once single",
            "two deux twice",
            "three trois thrice",
            "four quatre",
            "five cinq",
            "six",
            "seven sept",
            "eight huit",
            "nine neuf",
            "ten dix",
            "eleven onze",
            "twelve douze",
            "thirteen treize",
            "fourteen quatorze",
            "fifteen quinze",
            "sixteen seize",
            "seventeen dix-sept",
        )
    )
    for word in listed.split()
} | {
    **dict.fromkeys(("eighteen", "dix-huit"), 18),
    **dict.fromkeys(("nineteen", "dix-neuf"), 19),
    "soixante-douze": 72,
    **dict.fromkeys(("hundred", "cent"), 100),
    **dict.fromkeys(("thousand", "mille"), 1000),
}
_TENS: Final = {
    20: "twenty vingt",
    30: "thirty trente",
    40: "forty quarante",
    50: "fifty cinquante",
    60: "sixty soixante",
    70: "seventy soixante-dix",
    80: "eighty quatre-vingts",
    90: "ninety quatre-vingt-dix",
}
_WORDS: Final = _SMALL | {
    f"{ten}{sign}{unit}": tens + number
    for tens, listed in _TENS.items()
    for ten in listed.split()
    for unit, number in {
        "": 0,
        **{word: n for word, n in _SMALL.items() if n <= _MOST_UNITS},
    }.items()
    for sign in (("-", " ") if unit else ("",))
}
_AT_ONCE: Final = re.compile(r"(?i) (?:at a time|at once|in parallel|à la fois|en parallèle)\b")
_PLURAL_BEHIND: Final = re.compile(r" [^\W\d_]{3,}s\b")  # "eight parking spaces"
_FEW: Final = 2  # up to it, a number in words is more often something else
_ONE: Final = words("one un une")
_SINGLE: Final = words("seul seule single")
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:[,\u202f ]\d{3})+")
# The number words as tens with units, because a list of all of them takes three times as long.
_TEN: Final = "|".join(sorted((w for ws in _TENS.values() for w in ws.split()), key=len)[::-1])
_UNIT: Final = "|".join(word for word, number in _SMALL.items() if number <= _MOST_UNITS)
_JOINED: Final = "|".join(word for word in _SMALL if "-" in word)
_SIMPLE: Final = "|".join(sorted((word for word in _SMALL if "-" not in word), key=len)[::-1])
_AMOUNT: Final = re.compile(
    rf"(?i)\b(?:({_THOUSANDS.pattern}|\d+(?:[.,]\d+)?)[\s-]?|("
    rf"{_JOINED}|(?:{_TEN})(?:[- ](?:{_UNIT})\b)?|{_SIMPLE}"
    r")\b[\s-]?)(?:(seule?|single|full|whole|calendar|working|business|more|different"
    r"|parallel|concurrent|other|failed|wrong|consecutive) )?([^\W\d_]+|%)?"
)
_DAY: Final = 86_400.0
_NO_UNITS: Final = words("and or is are et ou est sont")
INTERVAL: Final = "interval"  # between two times that something happens
_EVERY: Final = re.compile(r"(?i)\b(?:every|each|toutes les|tous les) $")
_DAYS: Final = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 91, "year": 365}
_RHYTHM: Final = re.compile(
    r"\b(?:(?P<day>daily|nightly|(?:every|each|once an?|per) (?:day|night|morning|evening)"
    r"|quotidien(?:ne)?(?:ment)?|une fois par jour|chaque (?:jour|nuit|matin|soir)"
    r"|tous les (?:jours|matins|soirs)|toutes les nuits)"
    r"|(?P<week>weekly|(?:every|each|once a) week|hebdomadaires?|une fois par semaine"
    r"|chaque semaine|toutes les semaines)"
    r"|(?P<fortnight>fortnightly|bi-?weekly|every (?:other|second) week|every fortnight"
    r"|tous les quinze jours|une semaine sur deux)"
    r"|(?P<month>monthly|(?:every|each|once a) month|mensuel(?:le)?(?:ment)?s?"
    r"|une fois par mois|chaque mois|tous les mois)"
    r"|(?P<quarter>quarterly|(?:every|each|once a) quarter|trimestriel(?:le)?(?:ment)?s?"
    r"|une fois par trimestre|chaque trimestre|tous les trimestres)"
    r"|(?P<year>yearly|annually|annual|(?:every|each|once a) year|annuel(?:le)?(?:ment)?s?"
    r"|une fois par an|chaque année|tous les ans))\b"
)
# What lasts for ever has no length: it differs from every other one.
_ENDLESS: Final = re.compile(
    r"(?i)\b(?:never (?:expires?|deleted|purged|removed|erased|archived|times? out)|indefinitely"
    r"|for ?ever|do(?:es)? not expire|no expiry|without expiry|no expiration"
    r"|n['\u2019]expire(?:nt)? (?:jamais|pas)|indéfiniment|sans limite de (?:durée|temps)"
    r"|jamais (?:supprimée?s?|effacée?s?|purgée?s?|archivée?s?))\b"
)
_REPEATS: Final = words(
    "time times try tries retry retries attempt attempts fois essai essais tentative tentatives "
    "failure failures échec échecs login logins"
)
_CLOCK: Final = words("heure heures")
_AT: Final = words("à vers dès")
# Units that count the same: two people who approve are two approvals.
_SAME_UNITS: Final = {
    word: name
    for name, listed in {
        "approval": "approvals approver approvers reviewer reviewers approbation approbations "
        "relecteur relecteurs relecture relectures personne personnes validation validations",
        "user": "users people utilisateurs passengers members",
        "worker": "workers",
        "line": "lines rows row lignes products produits articles items",
    }.items()
    for word in listed.split()
}
_LONG: Final = {
    **dict.fromkeys(("week", "weeks", "semaine", "semaines"), 7 * _DAY),
    **dict.fromkeys(("heure", "heures"), 3600.0),
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
        most = max(self.value, other.value)
        if self.written.endswith("%") and most <= _WHOLE:  # 99.5 % is five times 99.9 % of failures
            most = min(most, max(_WHOLE - self.value, _WHOLE - other.value))
        return abs(self.value - other.value) > _TOLERANCE * most

    def is_comparable(self, other: Amount) -> bool:
        """Say whether two amounts are near enough for one attribute; zero is."""
        least, most = sorted((self.value, other.value))
        return not least or most <= _LARGEST_RATIO * least


def read_amounts(text: str) -> dict[str, Amount]:
    """Return the first amount of each measure: time, size, another unit, or `COUNT`."""
    found: dict[str, Amount] = {}
    for match in _AMOUNT.finditer(text):
        number, unit = (match[1] or match[2]).casefold(), match[4] or ""
        measure, factor = _read_unit(unit)
        value = float(_WORDS[number]) if number in _WORDS else _read_number(number)
        before = text[: match.start()].split()[-1:]
        if unit.casefold() in _CLOCK and "".join(before).casefold() in _AT:
            continue  # "à deux heures" is a time of the day
        if names_a_thing("".join(before).casefold(), unit.casefold()):
            continue
        at_once = bool(_AT_ONCE.match(text[match.end() :]))
        is_many = unit[-1:] == "s" or (unit and _PLURAL_BEHIND.match(text, match.end()))
        is_plural = at_once or (bool(is_many) and value > _FEW)
        if number in _WORDS and not (measure == "time" or is_counted(unit.casefold()) or is_plural):
            continue  # "one" and "two" are more often something else
        is_single = (match[3] or "").casefold() in _SINGLE
        is_single = is_single or at_once
        if number in _ONE and measure not in ("time", "approval") and not is_single:
            continue  # an article
        found.setdefault(measure, Amount(value * factor, match[0].strip()))
        if measure == "time" and _EVERY.search(text[max(0, match.start() - 10) : match.start()]):
            found.setdefault(INTERVAL, Amount(value * factor, match[0].strip()))
    if INTERVAL not in found and (rhythm := _RHYTHM.search(text.casefold())):
        name = next(name for name, value in rhythm.groupdict().items() if value)
        found[INTERVAL] = Amount(_DAYS[name] * _DAY, rhythm[0])
    if "time" not in found and (endless := _ENDLESS.search(text)):
        found["time"] = Amount(0.0, endless[0])
    return found


def is_unit(word: str) -> bool:
    """Say whether a word is a unit of time or size."""
    return _read_unit(word)[0] in ("time", "size")


def is_quantity(word: str) -> bool:
    """Say whether a word is a number or what numbers count: "five", "days", "retries"."""
    return word[0].isdigit() or word in _WORDS or word in UNITS or word in _LONG or word in _REPEATS


def _read_unit(written: str) -> tuple[str, float]:
    word = written.casefold()
    if word in ("%", "percent", "pct"):
        return "%", 1.0
    if word in _LONG:
        return "time", _LONG[word]
    if word in _REPEATS:
        return "repeats", 1.0
    terms = terms_of_word(word)
    if word in _NO_UNITS:
        return COUNT, 1.0  # "14 and newer"
    known = UNITS.get(word) or (UNITS.get(terms[0]) if terms else None)
    return known or (_SAME_UNITS.get(word, word.removesuffix("s")) or COUNT, 1.0)


def _read_number(text: str) -> float:
    if _THOUSANDS.fullmatch(text):
        return float(re.sub(r"\D", "", text))
    return float(text.replace(",", "."))
