"""Text analysis: the one tokenizer, stemmer and stop list of every domain, and snippets.

Terms are case- and accent-folded stems. An identifier yields itself whole (separators removed) and
its parts. Every word gets its English stem; text that reads as another language in Latin script
(`languages`) gets that one's stems beside them, so a query matches whichever way it was judged. A
word in another alphabet gets the stem of the language most written in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, filterfalse, islice

import Stemmer

from commonplace.search.languages import FRENCH, detect_language, stemmer_of

ANALYSIS_VERSION = 2  # raise it when the same text gives other terms: indexes are made again
MAX_TERM_CHARS = 64
_MAX_PARTS = 32  # of one identifier; a longer one is data, not a name
_MAX_WORD_CHARS = 256  # read of one unbroken run of letters
_CACHE_WORDS = 50_000
_JUDGED_WORDS = 400  # of a text, for its language
_SNIPPET_CHARS = 200_000  # of a text that a snippet considers

# Marks inside words that Python's \w leaves out: combining accents, Hebrew and Arabic points,
# Indic and South-East Asian vowel signs (whole blocks, without the dandas).
_MARKS = (
    r"\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    r"\u0e31-\u0e4e\u0eb1-\u0ecd\u0f18-\u0fbc\u102b-\u109f"
)
_RUN = rf"[\w{_MARKS}]{{1,{_MAX_WORD_CHARS}}}"
_WORD = re.compile(
    rf"[vV]?\d+(?:\.\d+)+|(?<!\w)[cCfF](?:\+\+|\#)(?![\w+#])|{_RUN}(?:-{_RUN}){{0,{_MAX_PARTS}}}"
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OTHER_PARTS = re.compile(r"\d+|[^\d\s_-]+")
# Scripts written without spaces are indexed by pairs of characters; Korean too, whose words carry
# their particles with them.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_IDEOGRAPHS = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# й is a letter of its own, and part of endings
_ACCENTS = re.compile(r"(?<![иИ])[\u0300-\u036f]|[\u0300-\u0305\u0307-\u036f]")
_LETTERS = str.maketrans(
    {
        "œ": "oe",
        "Œ": "OE",
        "æ": "ae",
        "Æ": "AE",
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "\u0131": "i",
    }
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENGLISH_STOP = _set(
    """
    a about after again all also am an and any are aren as at be because been before being both
    but by can cannot could couldn did didn do does doesn doing don down during each few for
    from further had hadn has hasn have haven having he her here hers him his how i if in into
    is isn it its itself just let ll may me might more most must my no nor not of off on once
    only or other our ours out over own re s same shall she should shouldn so some such t than
    that the their theirs them then there these they this those through to too under until up us
    ve very was wasn we were weren what when where which while who whom why will with won would
    wouldn you your yours
    """
)
# Folded; without the words that are meaningful in English (ai, an, car, fin, main, note, plus,
# pour, son, sur, tout).
_FRENCH_STOP = _set(
    """
    afin alors apres aucun aucune aussi autre autres aux avaient avais avait avant avec avez
    avoir avons ayant bien c ce ceci cela celle celles celui ces cet cette ceux chaque chez
    comme comment d dans de depuis des donc dont du elle elles en encore entre est et etaient
    etait etant ete etes etre eux faire fait faut il ils j je jusqu l la laquelle le lequel les
    lesquels leur leurs lors lorsque lui m ma mais meme mes moi mon n ne ni nos notre nous on
    ont ou par parce pas pendant peu peut peuvent pourquoi puis qu quand que quel quelle quelles
    quels quelque quelques qui quoi sa sans se ses si soit sommes sont sous suis ta te tes toi
    ton tous toute toutes tres tu un une vers vos votre vous y
    """
)
_STOP = _ENGLISH_STOP | _FRENCH_STOP
# No inner caches: a stemmer then holds no state between calls, and each call runs under the
# interpreter's lock.
_english = Stemmer.Stemmer("english", 0)
_OTHER_ALPHABETS = tuple(
    (re.compile(letters), Stemmer.Stemmer(language, 0))
    for letters, language in (
        (r"[\u0370-\u03ff]", "greek"),
        (r"[\u0400-\u04ff]", "russian"),
        (r"[\u0531-\u0587]", "armenian"),
        (r"[\u0600-\u06ff]", "arabic"),
        (r"[\u0900-\u097f]", "hindi"),
        (r"[\u0b80-\u0bff]", "tamil"),
    )
)

_TermsOf = dict[str, tuple[str, ...]]
_terms_of: dict[str | None, _TermsOf] = {}  # by language; None: English


def analyze(text: str) -> list[str]:
    """Return the terms of a text in order, repeated as often as they occur.

    Stop words are kept only if there is nothing else.
    """
    words = _words(text)
    terms = _terms(words, detect_language(text, words[:_JUDGED_WORDS]))
    return list(filterfalse(_STOP.__contains__, terms)) or terms


def query_terms(text: str) -> list[str]:
    """Return the distinct terms of a query, in order.

    An ideograph inside a word is searched with its neighbours only.
    """
    terms = dict.fromkeys(analyze(text))
    pairs = "".join(term for term in terms if len(term) == 2)
    return [term for term in terms if len(term) != 1 or term.isascii() or term not in pairs]


def is_stop_word(term: str) -> bool:
    return term in _STOP


def matches(text: str, terms: Iterable[str]) -> Iterator[tuple[int, int, frozenset[str]]]:
    """Return where words of the text have one of the terms: start, end, and which terms."""
    wanted = frozenset(terms)
    if not wanted:
        return
    # not normalised first: offsets are those of the caller's text
    words = [found.group() for found in islice(_WORD.finditer(text), _JUDGED_WORDS)]
    language = detect_language(text, words) or FRENCH  # its terms include the English ones
    cache = _terms_of.setdefault(language, {})
    for found in _WORD.finditer(text):
        carried = wanted.intersection(_lookup(cache, found.group(), language))
        if carried:
            yield found.start(), found.end(), carried


def snippet(text: str, query_terms: Iterable[str], width: int = 240) -> str:
    """Return at most `width` characters around the most distinct query terms, on one line."""
    if len(text) <= width:
        return " ".join(text.split())
    if width < 8:
        return text[: max(width, 0)]
    hits = list(matches(text[:_SNIPPET_CHARS], query_terms))
    start, end = _best_window(hits, max(width - 2, 1))
    # Step back to show what leads to the first match, then forward to the start of a word.
    lead = min(width // 4, max(0, width - 2 - (end - start)))
    start = max(0, min(start - lead, len(text) - width + 1))
    if start:
        space = text.find(" ", start, start + 24)
        start = space + 1 if space >= 0 else start
    room = width - (1 if start else 0)
    end = len(text)
    if end - start > room:
        end = start + room - 1
        space = text.rfind(" ", max(start, end - 24), end)
        end = space if space > start else end
    return (
        ("…" if start else "")
        + " ".join(text[start:end].split())
        + ("…" if end < len(text) else "")
    )


def _best_window(hits: list[tuple[int, int, frozenset[str]]], width: int) -> tuple[int, int]:
    """Return the first window with the most distinct terms, as narrow as it can be."""
    counts: Counter[str] = Counter()
    best, window, left = 0, (hits[0][0], hits[0][1]) if hits else (0, 0), 0
    for start, end, carried in hits:
        counts.update(carried)
        while hits[left][0] < start and (
            end - hits[left][0] > width or all(counts[term] > 1 for term in hits[left][2])
        ):
            for term in hits[left][2]:
                counts[term] -= 1
                if not counts[term]:
                    del counts[term]
            left += 1
        if len(counts) > best:
            best, window = len(counts), (hits[left][0], end)
    return window


def _words(text: str) -> list[str]:
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFC", text))


def _terms(words: list[str], language: str | None) -> list[str]:
    cache = _terms_of.setdefault(language, {})
    for word in set(words).difference(cache):
        _lookup(cache, word, language)
    try:
        return list(chain.from_iterable(map(cache.__getitem__, words)))
    except KeyError:  # the cache was full, here or in another thread
        return [term for word in words for term in _lookup(cache, word, language)]


def _lookup(cache: _TermsOf, word: str, language: str | None) -> tuple[str, ...]:
    terms = cache.get(word)
    if terms is None:
        if len(cache) >= _CACHE_WORDS:
            cache.clear()
        terms = cache[word] = tuple(_word_terms(word, language))
    return terms


def _word_terms(word: str, language: str | None) -> Iterator[str]:
    written = word
    if not word.isascii():
        word = _fold(word)
        if _UNSPACED.search(word):
            yield from _pairs(word, language)
            return
    if not word:  # only accents
        return
    if word[-1] in "+#":
        yield word.lower()
        return
    parts = (_PARTS if word.isascii() else _OTHER_PARTS).findall(word)[:_MAX_PARTS]
    if len(parts) > 1:
        whole = word.lstrip("vV") if "." in word else word.replace("-", "").replace("_", "")
        yield whole.casefold()[:MAX_TERM_CHARS]
    for part in parts:
        folded = part.casefold()[:MAX_TERM_CHARS]
        if folded in _STOP:
            yield folded
            continue
        stem = _stem(_english if part.isascii() else _stemmer_for(folded), folded)
        yield stem
        if language is not None:
            # endings are told by their accents, except where French was always folded first
            known = folded if language == FRENCH or len(parts) > 1 else written.lower()
            other = _fold(_stem(stemmer_of(language), known[:MAX_TERM_CHARS])).casefold()
            if other and other != stem:
                yield other


def _stem(stemmer: Stemmer.Stemmer, word: str) -> str:
    stem = stemmer.stemWord(word)
    return word if stem in _STOP else stem  # "willing" and "canned" are not stop words


def _stemmer_for(word: str) -> Stemmer.Stemmer:
    return next(
        (stemmer for letters, stemmer in _OTHER_ALPHABETS if letters.search(word)), _english
    )


def _fold(word: str) -> str:
    """Remove compatibility forms and accents; keep marks that are letters in their script."""
    plain = unicodedata.normalize("NFKD", word.translate(_LETTERS))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


def _pairs(word: str, language: str | None) -> Iterator[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > at:
            yield from _word_terms(word[at : run.start()], language)
        chars = run.group().casefold()
        yield from (chars[i : i + 2] for i in range(max(len(chars) - 1, 1)))
        if len(chars) > 1:
            yield from _IDEOGRAPHS.findall(chars)  # each one is a word, too
        at = run.end()
    if at < len(word):
        yield from _word_terms(word[at:], language)
