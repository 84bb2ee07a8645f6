"""What a session was already shown, and what is new in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from commonplace.context.engine.packing import digest_of
from commonplace.context.engine.passages import longest_run
from commonplace.context.model import ContextCandidate, PackItem
from commonplace.kernel.ref import Ref

MOST_SHOWN = 1_000  # references that a session remembers; the oldest are forgotten
LEAST_NEW_LINES = 3  # of a passage that was shown before in part


def leave_out_known(
    candidate: ContextCandidate, shown: Mapping[str, str]
) -> ContextCandidate | None:
    """Return what is new of a candidate; None if the session knows it, or nearly all of it.

    Of a passage that was shown in part it is the longest part of whole lines that was not.
    """
    if is_known(candidate, shown):
        return None
    lines = _lines(candidate.ref) if candidate.line else None
    if lines is None:
        return candidate
    digest, file = digest_of(candidate), candidate.ref.partition("#")[0]
    covered: set[int] = set()
    for ref, told in shown.items():
        if told == digest and ref.partition("#")[0] == file and (earlier := _lines(ref)):
            covered.update(range(max(earlier[0], lines[0]), min(earlier[1], lines[1]) + 1))
    if not covered:
        return candidate
    new = longest_run(lines, covered)
    if new is None or new[1] - new[0] + 1 < LEAST_NEW_LINES:
        return None
    rows = candidate.text.split("\n")[new[0] - lines[0] : new[1] - lines[0] + 1]
    ref = str(replace(Ref.parse(candidate.ref), lines=new))
    return replace(candidate, ref=ref, line=new[0], text="\n".join(rows))


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
