"""Read entries for their claims: words in their order, values, amounts, what is denied."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from commonplace.memory.engine.claims.amounts import Amount, is_unit, read_amounts
from commonplace.memory.engine.claims.asides import sets_another_apart
from commonplace.memory.engine.claims.contrasts import find_contrasts
from commonplace.memory.engine.claims.kinds import (
    Mention,
    find_mentions,
    terms_of_kind,
    terms_of_value,
)
from commonplace.memory.engine.claims.people import MAY
from commonplace.memory.engine.claims.synonyms import join_words, read_word
from commonplace.memory.engine.lexicon import words
from commonplace.memory.engine.sentences import SENTENCE_CHARACTERS, Sentence, split_sentences

_WORD: Final = re.compile(r"[^\W_]+(?:[._/+#'\u2019-][^\W_]+)*|[,;:.()]")
_ELISION: Final = re.compile(r"^(?:[cdjlmnst]|qu)['\u2019](?=\w)")
_ARTICLES: Final = words("a an the le la les l un une our its their nos notre ses")
_NEGATION: Final = re.compile(r"^(?:not|no|never|cannot|nor|pas|jamais|aucun|aucune)$|n['\u2019]t$")
WITHOUT: Final = words("without sans")
NOTHING: Final = frozenset(("longer", "never", "no", "not"))  # before what is denied
_REACH: Final = 4  # words from a negation to what it denies: "must not be re-used"
_EXCEPTION: Final = re.compile(
    r"(?i)\b(?:except|exceptions?|exempts?|unless|emergency|urgent|hotfix|only if|also|too"
    r"|may still|can still|override|until|in case of|sauf|hormis|à part|urgence|aussi"
    r"|jusqu['\u2019]|en cas d|hors )\b"
)
_STATED_EXCEPTION: Final = re.compile(
    r"(?i)\b(?:exceptions?|exempts?|except|unless|off limits|in case of|sauf|hormis|en cas d|hors )"
)
# What happened once, not what holds.
_TOLD: Final = re.compile(
    r"(?i)\b(?:was|were|did|had|could|timed out|in 20\d\d|n['\u2019](?:a|ont"
    r"|avait) pas(?! (?:besoin|le droit|accès|d['\u2019]))"
    r"|\w{3,}(?:ait|aient) pas|\w{3,}aient|était|avait)\b|(?:couldn|didn|wasn|weren|hadn)['\u2019]t"
)
_COMPARING: Final = re.compile(
    r"(?i)\b(?:longer|shorter|higher|lower|larger|smaller|bigger|faster|slower|half|twice)\b"
    r"|\bplus (?:long|court|haut|bas|grand|petit)e?s? que\b"
)
_EXCLUSIVE: Final = re.compile(
    r"(?i)\b(?:only|sole|solely|exclusively|no other|nothing else|nowhere else|anything else"
    r"|any other|no longer|seule?s?|uniquement|exclusivement|nulle part|aucune? autre"
    r"|rien d['\u2019]autre)\b"
)
_PERMITTED: Final = re.compile(
    r"(?i)\b(?:(?:is|are|be) (?:allowed|permitted|fine|ok|okay|welcome)|(?<!not )allowed to"
    r"|feel free"
    r"|it['\u2019]s (?:fine|possible|ok|okay)|may(?! not)|can(?! ?not)|autorisée?s?"
    r"|permise?s?|peut"
    r"|peuvent)\b"
)
_FORBIDDEN: Final = re.compile(
    r"(?i)\b(?:forbidden|prohibited|banned|disallowed|refuses?|not allowed|not permitted|may not"
    r"|must not"
    r"|mustn['\u2019]t|never|cannot|can['\u2019]t|do not|don['\u2019]t|interdite?s?|défendu|jamais"
    r"|ne (?:doit|doivent|peut|peuvent) (?:pas|jamais))\b"
)
_REMOVAL: Final = re.compile(
    r"(?i)\b(?:was|were|has been|have been|is|are) (?:removed|dropped|retired|decommissioned"
    r"|abolished|taken down|gone|shut down|discontinued|deleted)\b"
    r"|\b(?:a|ont) été (?:supprimée?s?|retirée?s?|abandonnée?s?|arrêtée?s?)\b(?! (?:par|au profit))"
)
_REMOVED_ACTIVELY: Final = re.compile(
    r"(?i)\b(?:we|i|nous|on a|avons) (?:have )?(?:deleted|removed|dropped|retired|took out"
    r"|shut down|decommissioned|supprimé|retiré|abandonné|arrêté) (?P<old>[^,;:.]+)"
)
_REMOVED_WORDS: Final = 3  # before "was removed", what it was
_NAME: Final = re.compile(
    r"`([^`\s]+)`|(?<![\w.-])([^\W\d_]*[a-zé](?=[A-Z])\w+|\w*[^\W\d_]_\w+|[A-Z]{3,}\w*"
    r"|(?<=[\w,] )[A-ZÉ][\w+#-]*\w)"
)
_CALENDAR: Final = words(
    "monday tuesday wednesday thursday friday saturday sunday lundi mardi mercredi jeudi vendredi "
    "samedi dimanche january february march april may june july august september october november "
    "december janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
)
_LABEL: Final = re.compile("[b-z]")
# Words before a noun that do not tell it from another of its name.
_PLAIN: Final = words(
    "use uses using run runs keep keeps call calls set sets write writes read reads need needs "
    "make makes take takes add adds see work works want new old every each any all only same one "
    "two first last next big large small long short more daily many few several given still now "
    "pour au aux plus dès should would around about within partir minimum maximum default "
    "current least oldest chaque même seul seule encore nouveau nouvelle"
)
_EARLIER: Final = words("before avant")
_ORDER: Final = re.compile(r"(?i)\b(before|after|avant|après|once)\b")
_ORDER_STEM: Final = 4  # letters: "publish" and "publication" are one step


@dataclass(frozen=True, slots=True)
class Token:
    """A word: its first term, empty if it is not compared, how it was written, all its terms."""

    term: str
    written: str
    terms: tuple[str, ...] = ()
    has_article: bool = False  # no word before it is its modifier: "deleted the feed"


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words of a title or a sentence in their order, and what stands beside each."""

    tokens: tuple[Token, ...]
    terms: frozenset[str]
    modifiers: Mapping[str, Mapping[str, str]]  # of a term: those right before it, as written
    followers: Mapping[str, Mapping[str, str]]  # of a term: those right behind it, as written
    labels: Mapping[str, frozenset[str]]  # of a term: single letters right behind it

    @property
    def first(self) -> str:
        return self.tokens[0].term if self.tokens else ""


@dataclass(frozen=True, slots=True)
class Order:
    """One step before or after another."""

    first_is_earlier: bool
    first: frozenset[str]
    second: frozenset[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an entry, as its claims are compared."""

    sentence: Sentence
    is_title: bool
    phrase: Phrase
    written: frozenset[str]
    mentions: tuple[Mention, ...]
    amounts: dict[str, Amount]
    names: frozenset[str]
    denied: frozenset[str]  # terms behind a negation
    removed: frozenset[str]  # terms of what it says was removed
    order: Order | None
    makes_exception: bool
    tells: bool  # of something that happened
    compares: bool  # with another amount
    contrasts: frozenset[tuple[int, str]]  # words that tell its subject from another
    is_exclusive: bool
    permits: bool
    forbids: bool
    is_aside: bool  # of another thing, to tell it apart

    @property
    def terms(self) -> frozenset[str]:
        return self.phrase.terms


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of an entry: of its title, unless that is code, and of its sentences."""

    claims: tuple[Claim, ...]
    title_text: str
    title: Phrase
    terms: frozenset[str]
    content: frozenset[str]  # the terms without the title
    contrasts: frozenset[tuple[int, str]]
    title_contrasts: frozenset[tuple[int, str]]
    has_exception: bool
    values: frozenset[str]  # the terms of values and of their kinds


@lru_cache(maxsize=256)  # about 20 kB each; an add compares its entry with a dozen others
def read_claims(title: str, content: str) -> Claims:
    """Read an entry."""
    entry = f"{title} {content}"
    heading = " ".join(title[:SENTENCE_CHARACTERS].split())
    claims = tuple(
        _read_claim(sentence, entry, is_title=at == 0 and sentence.text == heading)
        for at, sentence in enumerate(split_sentences(title, content))
    )
    tokens = _read_tokens(heading)
    heading_contrasts = find_contrasts([token.written for token in tokens])
    return Claims(
        claims,
        heading,
        _read_phrase(tokens),
        frozenset().union(*(claim.terms for claim in claims if not claim.is_aside)),
        frozenset().union(*(claim.terms for claim in claims if not claim.is_title)),
        frozenset().union(heading_contrasts, *(claim.contrasts for claim in claims)),
        heading_contrasts,
        any(_STATED_EXCEPTION.search(claim.sentence.text) for claim in claims),
        frozenset().union(
            *(
                terms_of_value(mention) | terms_of_kind(mention.kind)
                for claim in claims
                for mention in claim.mentions
                if mention.kind != MAY  # who may is a subject: "the field may be empty"
            )
        ),
    )


def _read_claim(sentence: Sentence, entry: str, *, is_title: bool) -> Claim:
    text = sentence.text
    tokens = _read_tokens(text)
    return Claim(
        sentence,
        is_title,
        _read_phrase(tokens),
        frozenset(token.written for token in tokens),
        find_mentions(text, entry),
        read_amounts(text),
        _find_names(text),
        _find_denied(tokens),
        _find_removed(text),
        _read_order(text),
        bool(_EXCEPTION.search(text)),
        bool(_TOLD.search(text.partition(": ")[0])),
        bool(_COMPARING.search(text.partition(", which")[0])),
        find_contrasts([token.written for token in tokens]),
        bool(_EXCLUSIVE.search(text)),
        bool(_PERMITTED.search(text)),
        bool(_FORBIDDEN.search(text)),
        not is_title and sets_another_apart(text),
    )


def _read_tokens(text: str) -> tuple[Token, ...]:
    found: list[Token] = []
    has_article = False
    for piece in _WORD.findall(text):
        written = _ELISION.sub("", piece.casefold())
        if written not in _ARTICLES:
            terms = read_word(written) if written[0].isalnum() else ()
            if found and (joined := join_words(found[-1].written, written)):
                found[-1] = Token(joined, found[-1].written, (joined,))
                terms = ()
            found.append(Token(terms[0] if terms else "", written, terms, has_article))
        has_article = written in _ARTICLES
    return tuple(found)


def _read_phrase(tokens: tuple[Token, ...]) -> Phrase:
    modifiers: dict[str, dict[str, str]] = {}
    followers: dict[str, dict[str, str]] = {}
    labels: dict[str, set[str]] = {}
    for before, token in pairwise(tokens):
        if token.term and _is_modifier(before) and before.term != token.term:
            if token.has_article:
                continue
            modifiers.setdefault(token.term, {})[before.term] = before.written
            if _is_modifier(token):
                followers.setdefault(before.term, {})[token.term] = token.written
        if before.term and _LABEL.fullmatch(token.written):
            labels.setdefault(before.term, set()).add(token.written)
    return Phrase(
        tokens,
        frozenset(term for token in tokens for term in token.terms),
        modifiers,
        followers,
        {term: frozenset(letters) for term, letters in labels.items()},
    )


def _is_modifier(token: Token) -> bool:
    return bool(token.term) and token.written not in _PLAIN and not token.term.isdigit()


def _find_names(text: str) -> frozenset[str]:
    found = {match[1] or match[2] for match in _NAME.finditer(text)}
    return frozenset(n for n in found if n.casefold() not in _CALENDAR and not is_unit(n))


def _find_denied(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the first term behind each negation; "without" at the start is a condition."""
    denied: set[str] = set()
    for at, token in enumerate(tokens):
        if _NEGATION.search(token.written) or (at and token.written in WITHOUT):
            for following in tokens[at + 1 : at + 1 + _REACH]:
                if not following.written[0].isalnum():
                    break
                if following.term and following.written not in NOTHING:
                    denied.add(following.term)
                    break
    return frozenset(denied)


def _find_removed(text: str) -> frozenset[str]:
    if match := _REMOVED_ACTIVELY.search(text):
        terms = [token.term for token in _read_tokens(match["old"]) if token.term]
        return frozenset(terms[:_REMOVED_WORDS])
    match = _REMOVAL.search(text)
    if match is None:
        return frozenset()
    terms = [token.term for token in _read_tokens(text[: match.start()]) if token.term]
    return frozenset(terms[-_REMOVED_WORDS:])


def _read_order(text: str) -> Order | None:
    match = _ORDER.search(text)
    if match is None:
        return None
    behind = re.split(r"[,;:.]", text[match.end() :])[0]
    first, second = (
        frozenset(token.term[:_ORDER_STEM] for token in _read_tokens(part) if token.term)
        for part in (text[: match.start()], behind)
    )
    return Order(match[1].casefold() in _EARLIER, first, second)
