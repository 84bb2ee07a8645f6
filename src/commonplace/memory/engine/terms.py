"""The terms of texts that are looked at several times within one call, and of words that come again and again, analysed once."""

from __future__ import annotations

from functools import lru_cache

from commonplace.search.text import analyze, is_stop_word

_TEXTS = 128
_WORDS = 8_192


@lru_cache(maxsize=_TEXTS)
def terms_of(text: str) -> tuple[str, ...]:
    """As the index sees it."""
    return tuple(analyze(text))


@lru_cache(maxsize=_TEXTS)
def telling_terms(text: str) -> tuple[str, ...]:
    """Without stop words, even where there is nothing else."""
    return tuple(term for term in terms_of(text) if not is_stop_word(term))


@lru_cache(maxsize=_WORDS)
def terms_of_word(word: str) -> tuple[str, ...]:
    """The same for a single word, of which a collection has far fewer than texts."""
    return tuple(term for term in analyze(word) if not is_stop_word(term))
