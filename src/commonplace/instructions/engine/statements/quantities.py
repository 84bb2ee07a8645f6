"""Numbers and versions of statements, with what they are numbers of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.instructions.engine.statements.vocabulary import (
    IGNORED,
    LIGHT_VERBS,
    NUMBER,
    NUMERAL_VALUES,
    stem,
    stems_of,
    word_set,
)

_LABELS = frozenset(
    stem(word)
    for word in word_set(
        "step section chapter phase part rule item option example figure table level day priority "
        "default version"
    )
)
_ABOVE = word_set("least minimum min above more greater exceed exceeds longer larger higher newer")
_BELOW = word_set("most maximum max below under less fewer within limit limited up shorter")
_BOUNDS = _ABOVE | _BELOW | word_set("than or later long wide length")
_LINE_NUMBER = re.compile(r"\blines? \d")
_LINE_LENGTH = re.compile(r"\blines?\b.*?\b(\d{2,3})\b(?!\s*lines?\b)")
_LINE_WORDS = frozenset(
    stem(word)
    for word in word_set(
        "line length width wrap limit limited max maximum most exceed keep under below than more "
        "long longer character column char up break stay within less shorter size"
    )
)
_SIZES = frozenset(
    stem(word)
    for word in word_set(
        "length width limit limited max maximum most exceed wrap keep under below than more long "
        "longer character char up less shorter"
    )
)
_INDENT_WORDS = frozenset(
    stem(word)
    for word in word_set("indent indentation indenting space spaces level code file size width")
)
_SPACES = stem("spaces")
_PRODUCT = (
    r"python|node(?:\.?js)?|java|jdk|php|ruby|go|golang|rust|dotnet|\.net|kotlin|swift|scala|"
    r"postgres(?:ql)?|mysql|mariadb|redis|react|angular|vue|svelte|next(?:\.?js)?|django|rails|"
    r"laravel|symfony|spring(?: boot)?|flask|typescript|terraform|gradle|maven|ubuntu|debian|"
    r"elasticsearch|kubernetes|electron|unity|flutter|dart|elixir|tailwind|eslint|c#|c\+\+|es"
)
_VERSION = re.compile(
    rf"(?<![\w.+#/-])({_PRODUCT})(?: ?versions?)?(?: is)?:? ?(>=|<=|>|<|=)? ?v?"
    r"(\d+(?:\.\d+)*)(\+)?(?![\w%-])"
)
_SAME_PRODUCT = {
    "node.js": "node",
    "nodejs": "node",
    "golang": "go",
    "jdk": "java",
    "dotnet": ".net",
    "postgres": "postgresql",
    "nextjs": "next",
    "next.js": "next",
    "spring boot": "spring",
}
_AT_LEAST = re.compile(r"\b(?:newer|later|higher|above|minimum|at least|or up|onwards?)\b")
_VERSION_WORDS = (
    IGNORED
    | LIGHT_VERBS
    | word_set(
        "version versions minimum least newer later higher above or up target targets run runs "
        "compile compiled build built code project codebase feature features support supports "
        "supported lts standard syntax language runtime release app application based"
    )
)

_Found = tuple[tuple[str, ...], str]


def find_version(plain: str) -> _Found | None:
    """Return the only version that a statement names: of what, and which."""
    matches = list(_VERSION.finditer(plain))
    if len(matches) != 1:
        return None
    (match,) = matches
    product, sign, number, plus = match.groups()
    rest = plain[: match.start()] + " " + plain[match.end() :]
    about = stems_of(re.findall(r"[\w'.#+-]+", rest), _VERSION_WORDS)
    is_least = plus or sign in (">=", ">") or _AT_LEAST.search(rest)
    subject = ("#version", _SAME_PRODUCT.get(product, product), *about)
    return subject, f">={number}" if is_least else number


def versions_oppose(first: str, second: str) -> bool:
    """Tell whether no version fits both: 3.12 fits "at least 3.9", and fits 3."""
    a, b = _parts(first), _parts(second)
    if first.startswith(">=") == second.startswith(">="):
        shorter = min(len(a), len(b))
        return a[:shorter] != b[:shorter]
    exact, least = (b, a) if first.startswith(">=") else (a, b)
    return exact + (0,) * (len(least) - len(exact)) < least


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix(">=").split("."))


def find_quantity(plain: str, words: Sequence[str]) -> _Found | None:
    """Return the only number of a statement, and what it is a number of."""
    counted = [NUMERAL_VALUES.get(word, word) for word in words]
    numbers = [word for word in counted if NUMBER.match(word)]
    if len(numbers) != 1 or _LINE_NUMBER.search(plain):
        return None
    (number,) = numbers
    topic = [word for word in stems_of(counted) if word != number]
    if not _LABELS.isdisjoint(topic):
        return None
    if "line" in topic and not _SIZES.isdisjoint(topic) and _LINE_LENGTH.search(plain):
        rest = (word for word in topic if word not in _LINE_WORDS)
        return ("#number", "line length", *rest), number
    if _SPACES in topic:
        rest = (word for word in topic if word not in _INDENT_WORDS)
        return ("#number", "indentation", *rest), number
    about = stems_of((word for word in counted if word != number), _IGNORED_OF_NUMBERS)
    if not about or (len(about) < 2 and f"{number}%" not in plain and "." not in number):
        return None
    return ("#number", _bound(counted), *about), number


_IGNORED_OF_NUMBERS = IGNORED | LIGHT_VERBS | _BOUNDS
_NOT = word_set("not never no don't mustn't cannot can't")


def _bound(words: Sequence[str]) -> str:
    """Return which side a number limits: a minimum and a maximum do not oppose each other."""
    above, below = not _ABOVE.isdisjoint(words), not _BELOW.isdisjoint(words)
    if above == below:
        return ""
    return "least" if above == _NOT.isdisjoint(words) else "most"
