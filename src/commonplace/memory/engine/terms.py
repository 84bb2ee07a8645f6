"""The terms of texts that are looked at several times within one call, analysed once."""

from __future__ import annotations

from functools import lru_cache

from commonplace.search.text import analyze, is_stop_word

_TEXTS = 128


@lru_cache(maxsize=_TEXTS)
def terms_of(text: str) -> tuple[str, ...]:
    """As the index sees it."""
    return tuple(analyze(text))


@lru_cache(maxsize=_TEXTS)
def telling_terms(text: str) -> tuple[str, ...]:
    """Without stop words, even where there is nothing else."""
    return tuple(term for term in terms_of(text) if not is_stop_word(term))
