"""What a session was already shown, and what is new in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from commonplace.context.engine.packing import digest_of
from commonplace.context.model import ContextCandidate, PackItem
from commonplace.kernel.ref import Ref

MOST_SHOWN = 1_000  # references that a session remembers; the oldest are forgotten


def is_known(candidate: ContextCandidate, shown: Mapping[str, str]) -> bool:
    """Tell whether a session was shown the whole of a candidate, and it has not changed."""
    digest = digest_of(candidate)
    if shown.get(candidate.ref) == digest:
        return True
    if not candidate.line:
        return False
    lines = _lines(candidate.ref)
    file = candidate.ref.partition("#")[0]
    return lines is not None and any(
        told == digest
        and (earlier := _lines(ref)) is not None
        and earlier[0] <= lines[0]
        and lines[1] <= earlier[1]
        for ref, told in shown.items()
        if ref.partition("#")[0] == file
    )


def remember(shown: Mapping[str, str], items: Iterable[PackItem]) -> dict[str, str]:
    """Add what a pack shows in full; of a passage that was cut, the lines that are shown."""
    remembered = dict(shown)
    for item in items:
        if item.text and (item.candidate.line or not item.cut):
            remembered.pop(item.ref, None)
            remembered[item.ref] = digest_of(item.candidate)
    return dict(list(remembered.items())[-MOST_SHOWN:])


def _lines(ref: str) -> tuple[int, int] | None:
    return Ref.parse(ref).lines
