"""Read what references name, several at once, within one token budget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.context.engine.parts import TextPart, fit_part, select_part
from commonplace.context.engine.wire import MOST_TOKENS, count_json
from commonplace.context.errors import REF_NOT_FOUND
from commonplace.context.finding.model import (
    UNDERLYING,
    OpenedItem,
    OpenedText,
    OpenResult,
    RefReader,
)
from commonplace.context.finding.wire import show_opened
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import INTERNAL, TOOL_EXCLUDED, CommonplaceError, Kind
from commonplace.kernel.ref import Ref, RefKind

log = logging.getLogger("commonplace.context")
SHOWN_REF = 200  # characters of a text that is no reference
HIDDEN = frozenset({Kind.NOT_FOUND, Kind.PERMISSION})  # say no more than that nothing is there


@dataclass(frozen=True, slots=True)
class _Target:
    """A part that was read, before it is cut."""

    item: OpenedItem
    opened: OpenedText | None = None
    part: TextPart | None = None


class OpenRefService:
    """Reads references of every kind."""

    def __init__(self, readers: Mapping[RefKind, RefReader]) -> None:
        self._readers = readers

    async def open(
        self,
        caller: AuthContext,
        refs: Sequence[str],
        budget: int,
        permits: Callable[[str], bool] = lambda tool: True,
    ) -> OpenResult:
        """Return what each reference names; a missing one is an item with an error."""
        distinct = list(dict.fromkeys(refs))
        targets = await asyncio.gather(*(self._read(caller, text, permits) for text in distinct))
        return await asyncio.to_thread(fit_items, targets, budget)

    async def _read(
        self, caller: AuthContext, text: str, permits: Callable[[str], bool]
    ) -> _Target:
        try:
            ref = Ref.parse(text)
        except CommonplaceError as invalid:
            return _Target(OpenedItem(text[:SHOWN_REF], error=invalid))
        try:
            if not all(map(permits, UNDERLYING[ref.kind][1])):
                raise CommonplaceError(
                    TOOL_EXCLUDED,
                    f"References to {ref.kind} cannot be read here: their tools are excluded.",
                )
            opened = await self._readers[ref.kind].read(caller, ref.whole)
            if opened is None:
                raise _nothing_at(ref)
            return _select(ref, opened)
        except CommonplaceError as error:
            if error.code.kind is Kind.RATE:
                raise
            hidden = error.code.kind in HIDDEN and error.code is not REF_NOT_FOUND
            return _Target(OpenedItem(str(ref), error=_nothing_at(ref) if hidden else error))
        except Exception:  # a defect of one domain must not hide what the others hold
            log.exception("a reference could not be read")
            failed = CommonplaceError(INTERNAL, "It could not be read; the server's log says why.")
            return _Target(OpenedItem(str(ref), error=failed))


def _select(ref: Ref, opened: OpenedText) -> _Target:
    span = (ref.start, ref.end) if ref.start is not None and ref.end is not None else None
    part = select_part(opened.text, span, ref.lines)
    if ref.is_part and not part.text:
        lines = opened.text.count("\n") + (opened.text[-1:] not in ("", "\n"))
        raise CommonplaceError(
            REF_NOT_FOUND,
            f"{ref.whole} has {lines} lines and {len(opened.text.encode())} bytes.",
            hint="Ask for a part that it has.",
        )
    item = OpenedItem(str(ref), opened.title, updated=opened.updated, marks=opened.marks)
    return _Target(item, opened, part)


def fit_items(targets: Sequence[_Target], budget: int) -> OpenResult:
    """Share a budget among what was read: short texts whole, the others evenly."""
    frame = OpenResult([_longest(target) for target in targets], budget)
    while frame.items and _count(frame) > budget:
        frame = replace(frame, items=frame.items[:-1], omitted=frame.omitted + 1)
    left = budget - _count(frame)
    needs = {
        at: _count_text(target.part.text, left)
        for at, target in enumerate(targets[: len(frame.items)])
        if target.part is not None
    }
    shares = _share(needs, left)
    while True:
        items = [
            _fit(target, shares.get(at, 0)) for at, target in enumerate(targets[: len(frame.items)])
        ]
        result = replace(frame, items=items)
        result = replace(result, tokens=_count(result))
        if result.tokens <= budget or not any(shares.values()):
            return result
        shares = {at: share * 9 // 10 for at, share in shares.items()}  # the whole counts more


def _share(needs: Mapping[int, int], budget: int) -> dict[int, int]:
    """Return how many tokens each may have: those who need little leave more to the others."""
    shares: dict[int, int] = {}
    for waiting, (at, need) in enumerate(sorted(needs.items(), key=lambda pair: pair[1])):
        shares[at] = min(need, budget // (len(needs) - waiting))
        budget -= shares[at]
    return shares


def _fit(target: _Target, tokens: int) -> OpenedItem:
    if target.part is None or target.opened is None:
        return target.item
    shown, rest = fit_part(target.part, tokens, _count_text)
    opened = target.opened
    offset = opened.first_line - 1
    lines = (shown.first + offset, shown.last + offset) if shown.first and shown.text else None
    following = ""
    if rest is not None:
        span = (
            {"lines": (rest.first + offset, rest.last + offset)}
            if rest.first
            else {"start": rest.start + opened.first_byte, "end": rest.end + opened.first_byte}
        )
        following = str(replace(opened.source, **span))
    return replace(target.item, text=shown.text, lines=lines, next=following)


def _longest(target: _Target) -> OpenedItem:
    """Return an item that counts at least as much as any beginning of the text, without it."""
    if target.part is None or target.opened is None:
        return target.item
    following = replace(target.opened.source, lines=(999_999_999, 999_999_999))
    return replace(target.item, lines=(999_999_999, 999_999_999), next=str(following))


def _count(result: OpenResult) -> int:
    return count_json(show_opened(replace(result, tokens=MOST_TOKENS)))


def _count_text(text: str, most: int | None = None) -> int:
    """Count a text as JSON; one that is far longer than `most` tokens only roughly."""
    if most is not None and len(text) > 16 * most:
        return most + 1
    return count_json(text)


def _nothing_at(ref: Ref) -> CommonplaceError:
    return CommonplaceError(
        REF_NOT_FOUND,
        f"There is nothing at {str(ref)[:SHOWN_REF]}.",
        hint="search_all finds references.",
    )
