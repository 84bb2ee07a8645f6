"""Compare sentences that make one statement with two values.

"Staff sign in through Okta" and "Staff sign in through Entra ID" have one frame, "staff sign in
through", and two values. The differing words must stand where a value stands, behind a word such
as "is", "with" or "through"; where they are the subject, the sentences speak of two things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from commonplace.memory.engine.lexicon import FREQUENCIES, UNITS, words
from commonplace.memory.engine.terms import terms_of_word

MOST_VALUE_WORDS = 4
MINIMUM_FRAME = 2  # content words that the sentences share
SIGN_DISTANCE = 2  # words between the sign and the value: "uses the policy allkeys-lru"
_WORD = re.compile(r"[^\s,;:()\"“”«»…]+|[,;:]")
_PUNCTUATION = ".!?'\u2019`"
_ELISION = re.compile(r"^(?:[cdjlmnst]|qu)['\u2019](?=\w)")
_NUMBER = re.compile(r"[#v]?\d[\d.,:/-]*%?")  # an amount, a version, a date, a ticket
# Words before a value. After other prepositions often stands a circumstance, not a value.
_SIGNS = words(
    "is are be as use uses using with in to from on by via through under off into expose exposes "
    "speak speaks prefer prefers called named = : est sont utilise utilisent utiliser utilisez "
    "avec en dans sur par sous à au aux"
)
_ARTICLES = words("a an the le la les un une des du de of its our")
# What one thing can have several of, or a condition under which both hold.
_NOT_EXCLUSIVE = words(
    "also too either both support supports supported accept accepts include includes including "
    "contain contains sometimes often mostly except unless if when while whether may can could "
    "aussi accepte acceptent inclut contient parfois souvent sauf si quand lorsque peut peuvent"
)
# Behind the sign, a list or a purpose; before it, a part of the subject.
_LISTING = words("and or for et ou pour , ;")
# One thing does this to many others.
_REPEATED = words(
    "run runs execute executes call calls check checks return returns send sends log logs show "
    "shows have has lance lancent exécute appelle vérifie renvoie envoie affiche a ont"
)
# What one person or team is of a thing.
_ROLES = words(
    "owner owners owns maintainer maintains lead leads responsible charge responsable propriétaire "
    "mainteneur référent pilote"
)
# Work that one tool does, if two entries with one title name two tools.
_WORK = words(
    "formats lints builds deploys manages hosts stores serves signs schedules monitors formate "
    "construit déploie gère héberge stocke signe supervise"
)
_SWITCHED_ON = words("enabled activated active turned switched on activé activée actif active")
_SWITCHED_OFF = words("disabled inactive turned switched off désactivé désactivée inactif inactive")
# An order of two steps is one of several unless it is a rule.
OBLIGATIONS = words("always must never only toujours faut doit doivent jamais uniquement")
_ORDER = (frozenset(("before", "after")), frozenset(("avant", "après")))
# An event of the past or a guide, of which there may be many: "The outage was caused by …".
_MANY = words(
    "was were caused failed fixed happened because due how guide était étaient venait causé échoué "
    "corrigé comment"
)
# Where or when a statement holds, not what it states.
CIRCUMSTANCES = words(
    "production prod staging preproduction preprod preview development dev test tests testing ci "
    "local locally sandbox windows linux macos android ios chrome firefox safari edge docker "
    "kubernetes préprod préproduction développement recette"
)
# "Celery was replaced by Dramatiq", "we moved login from Auth0 to Keycloak": the old value comes
# first. The name of a value is one word, or several that begin with a capital or a digit.
_NAMED = r"(?:the |le |la |les |l['\u2019])?(?P<old>[\w./+#-]+(?: [A-Z0-9][\w./+#-]*){0,2})"
_NAME = re.compile(r"\w*[A-Z0-9./+#-]")
_PART_OF = re.compile(
    r"(?i)\b(?:of|in|for|to|on|de|des|du|dans|pour|sur)(?: (?:the|le|la|les|l['\u2019]))?\s?$"
)
_MOVED = "moved|switched|migrated|changed|went|ported"
_REPLACEMENTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_NAMED} (?:was|were|is|are|has been|have been) (?:replaced|superseded) (?:by|with) ",
        rf"\b(?P<verb>{_MOVED})\b[^.;]{{0,60}}?\bfrom {_NAMED} to ",
        rf"{_NAMED} (?:a|ont) été (?:remplacée?s?|abandonnée?s?) (?:par|au profit d)",
        rf"\b(?P<verb>passée?s?|migrée?s?|basculée?s?)\b[^.;]{{0,60}}?\bde {_NAMED} (?:à|vers) ",
    )
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A value that another one replaced, and what was `moved` between them, if that is said."""

    old: str
    moved: str = ""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it is compared, and as it was written."""

    key: str
    written: str
    is_content: bool


def find_different_value(
    text_a: str, text_b: str, *, one_subject: bool = False
) -> tuple[str, str] | None:
    """Return the values by which two sentences differ, or None if they do not differ in one.

    If they are known to have one subject, the last word of both is a value without a sign.
    """
    a, b = _read(text_a), _read(text_b)
    start = _common([word.key for word in a], [word.key for word in b])
    end = _common([word.key for word in a[start:]][::-1], [word.key for word in b[start:]][::-1])
    frame, rest = a[:start], a[len(a) - end :]
    value_a, value_b = a[start : len(a) - end], b[start : len(b) - end]
    if sum(word.is_content for word in (*frame, *rest)) < MINIMUM_FRAME:
        return None
    values = " ".join(w.written for w in value_a), " ".join(w.written for w in value_b)
    if frozenset(values) in _ORDER:
        is_rule = one_subject or any(word.written in OBLIGATIONS for word in frame)
        return values if is_rule else None
    if not frame and _names_role(rest, one_subject=one_subject):
        return values if _are_rivals(value_a, value_b) else None
    is_word = one_subject and len(value_a) == len(value_b) == 1
    is_word = is_word and sum(word.is_content for word in frame) > MINIMUM_FRAME
    is_word = is_word and frame[-1].written not in _REPEATED
    if not is_word and not _is_value_place(frame, value_a, value_b):
        return None
    if not _are_rivals(value_a, value_b):
        return None
    if any(word.written in _NOT_EXCLUSIVE | _MANY for word in (*frame, *value_a, *value_b)):
        return None
    behind = (*frame[_last_sign(frame) + 1 :], *value_a, *value_b)
    return None if any(word.written in _LISTING for word in behind) else values


def _names_role(rest: Sequence[_Word], *, one_subject: bool) -> bool:
    """Say whether what follows the first words is a role, or work of a tool under one title."""
    start = [word.written for word in rest[:4]]
    if start and (start[0] in _ROLES | {"is", "are", "est", "sont"}) and _ROLES & set(start):
        return not any(word.written in _NOT_EXCLUSIVE for word in rest)
    return one_subject and bool(start) and start[0] in _WORK


def _last_sign(frame: Sequence[_Word]) -> int:
    """Return where the last sign of a value is; -1 if there is none."""
    return max((at for at, word in enumerate(frame) if word.written in _SIGNS), default=-1)


@lru_cache(maxsize=256)
def find_replacement(text: str) -> Replacement | None:
    """Return the value that a sentence says was replaced by another, if it says so."""
    found = next((match for pattern in _REPLACEMENTS if (match := pattern.search(text))), None)
    if found is None:
        return None
    old, before, behind = found["old"], text[: found.start("old")], text[found.end() :]
    if re.search(rf"(?i)(?<!\w){re.escape(old)}(?!\w)", behind):
        return None  # a new one of the same name
    if "verb" in found.groupdict():
        return Replacement(old, text[: found.start("verb")] + before[found.end("verb") :])
    # "The parser was replaced" speaks of one of many, "the proxy's certificate" of a part.
    is_name = not before.strip() or _NAME.match(old) is not None
    return Replacement(old) if is_name and not _PART_OF.search(before) else None


@lru_cache(maxsize=256)
def is_past(text: str) -> bool:
    """Say whether a sentence tells of the past, or that a value was replaced."""
    return (
        bool({word.written for word in _read(text)} & _MANY) or find_replacement(text) is not None
    )


def _is_value_place(
    frame: Sequence[_Word], value_a: Sequence[_Word], value_b: Sequence[_Word]
) -> bool:
    """Say whether the subject stands before the difference, and a sign of a value just before."""
    if not any(word.is_content for word in frame):
        return False
    if {word.written for word in (*value_a, *value_b)} <= FREQUENCIES:
        return True
    sign = _last_sign(frame)
    return sign >= 0 and len(frame) - 1 - sign <= SIGN_DISTANCE


def _are_rivals(value_a: Sequence[_Word], value_b: Sequence[_Word]) -> bool:
    """Say whether both are short values, neither of which is the other with a detail."""
    keys_a = {word.key for word in value_a if word.is_content}
    keys_b = {word.key for word in value_b if word.is_content}
    if not keys_a or not keys_b or keys_a <= keys_b or keys_b <= keys_a:
        return False
    if max(len(keys_a), len(keys_b)) > MOST_VALUE_WORDS:
        return False
    written = {word.written for word in (*value_a, *value_b)}
    if any(written <= same for same in (CIRCUMSTANCES, _SWITCHED_ON, _SWITCHED_OFF)):
        return False
    if value_a[0].written in _SIGNS or value_b[0].written in _SIGNS:
        return False  # another preposition states something else: "written in C", "written by Ann"
    # Amounts are compared with their units elsewhere: 60 seconds are a minute.
    return not any(
        _NUMBER.fullmatch(word.written) or (word.key in UNITS and word.written not in FREQUENCIES)
        for word in (*value_a, *value_b)
    )


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many words at the start are the same."""
    count = 0
    for first, second in zip(a, b, strict=False):
        if first != second:
            break
        count += 1
    return count


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[_Word, ...]:
    """Return the words of a sentence without articles; names such as `eu-west-1` are one word."""
    found = []
    for piece in _WORD.findall(text):
        written = _ELISION.sub("", piece.strip(_PUNCTUATION).casefold())
        if written and written not in _ARTICLES:
            terms = terms_of_word(written) if written.isalpha() else (written,)
            found.append(_Word(terms[0] if terms else written, written, bool(terms)))
    return tuple(found)
