"""Words of directives: negations, fillers, and verbs that say nothing without their object."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from commonplace.search.languages import stemmer_of

WORD = re.compile(r"[a-z0-9+#]+(?:[./_'-][a-z0-9+#]+)*")
NUMBER = re.compile(r"\d+(?:\.\d+)*%?\Z")


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


NUMERAL_VALUES = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "eight": "8",
    "ten": "10",
}
NUMERALS = frozenset(NUMERAL_VALUES)
NEGATIONS = word_set(
    "not never no don't dont doesn't mustn't shouldn't cannot can't aren't isn't avoid forbid "
    "forbidden omit ban banned disallow disallowed prohibit prohibited refrain without"
)
# Negations that leave no exception: who says so speaks of every place.
STRONG_NEGATIONS = word_set("no never forbidden banned prohibited disallowed forbid ban prohibit")
FILLERS = word_set(
    "a an the to of from is are be been do does we you your our please must should shall always "
    "will can may it its this that these those all any every each in on at by for with as prefer "
    "use uses using used favor favour only and allow allows allowed permit permits permitted "
    "require requires required mandatory need needs needed necessary enough freely consistently "
    "nothing one exclusively strictly strongly preferably make sure ensure has have having"
)
# "Write comments", "add comments" and "comment" ask for the same.
LIGHT_VERBS = word_set(
    "write writes writing written add adds adding added put puts keep keeps kept include includes "
    "included set sets create creates created provide provides apply follow make makes made "
    "choose adopt define defined declare declared"
)
DIRECTIVE_WORDS = word_set(
    "add align always apply avoid break build call capitalize catch check commit compile configure "
    "create declare define delete deploy disable do document don't enable end ensure export expose "
    "extend favor favour follow forbid format group handle implement import include indent "
    "install keep limit lint log make manage merge mock move must name never no only order pin "
    "place prefer put quote raise read rebase return review run separate set shall should sort "
    "split start store strip style test throw treat update use uses validate wrap write allowed "
    "banned disallow disallowed forbidden mandatory max maximum omit prohibited refrain require "
    "required squash target needed necessary"
)
# Verbs of statements that describe how things are: "strings use single quotes".
STATING = word_set("is are be use uses used using need needs may")
JUDGING = word_set(
    "required mandatory forbidden banned prohibited disallowed allowed permitted needed necessary "
    "must should"
)
TAKING_OR_LEAVING = word_set(
    "use prefer avoid omit never no don't do always favor favour we you only must require forbid "
    "allow ban disallow prohibit"
)
IGNORED = NEGATIONS | FILLERS
SYNONYMS = {"prefix": "start", "begin": "start", "column": "charact", "width": "length"}


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Return the form in which a word is compared."""
    if not word.isalpha():
        return word[:-2] if word.endswith("'s") else word
    found: str = stemmer_of("english").stemWord(word)
    return SYNONYMS.get(found, found)


def stems_of(words: Iterable[str], ignored: frozenset[str] = IGNORED) -> tuple[str, ...]:
    """Return the stems of the words that say what a statement is about, in one order."""
    return tuple(sorted({*map(stem, {*words} - ignored)}))


def is_negative(words: Iterable[str]) -> bool:
    """Tell whether a statement forbids."""
    return not NEGATIONS.isdisjoint(words)
