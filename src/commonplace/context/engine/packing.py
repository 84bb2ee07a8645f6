"""Fill a pack: the split of the budget follows from the evidence of each question (ADR 0320).

The best candidate of each section comes first, then the others by their chance, lowered for each
one that their section already has. What a candidate may take of the remaining budget is its share
of the chances that still wait in other sections; a longer text is cut to that share, and grows
again if tokens are left at the end.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from commonplace.context.engine.excerpt import MeasuredLines, cut_lines_around, cut_prose
from commonplace.context.engine.judging import SMALLEST_ITEM
from commonplace.context.engine.task import TaskReading
from commonplace.context.engine.wire import MOST_TOKENS, count_item, count_json, count_pack
from commonplace.context.model import ContextCandidate, ContextPack, PackItem, PackSection
from commonplace.kernel.ref import Ref

ID_BYTES = 8
DECAY = 0.85  # of a chance, for each item that its section already has
SEPARATOR_TOKENS = 3  # between two items
SECTION_TOKENS = 8  # name and brackets of a section
LEAST_ITEM_TOKENS = 60  # a smaller rest of the budget shows nothing
FOLLOWING = 0.6  # of a chance that waits in the same section, for each place behind
MOST_FOLLOWING = 4
LEAST_SHARE_TOKENS = 250  # that the likeliest candidate may take, whatever waits elsewhere


def fill_pack(
    task: TaskReading,
    candidates: Sequence[ContextCandidate],
    empty: Sequence[PackSection],
    notes: Sequence[str] = (),
    *,
    explain: bool = False,
    known: int = 0,
    beyond: Mapping[PackSection, int] | None = None,
) -> ContextPack:
    """Return the pack; its tokens never exceed the budget of the question.

    `empty` are the sections without evidence; `known` counts what an earlier pack already had,
    `beyond` the candidates of each section that were not even considered.
    """
    question = task.question
    everything: dict[PackSection, int] = dict(beyond or {})
    for candidate in candidates:
        everything[candidate.section] = everything.get(candidate.section, 0) + 1
    frame = ContextPack(
        "0" * 2 * ID_BYTES,
        (),
        tuple(empty),
        everything,
        tuple(notes),
        question.budget,
        known=known,
    )
    while frame.notes and count_pack(frame, explain) > question.budget // 3:
        frame = replace(frame, notes=frame.notes[:-1])
    sections = SECTION_TOKENS * len(everything)
    filling = _Filling(task, candidates, explain, question.budget - count_pack(frame, explain))
    filling.left -= sections
    filling.run()
    while True:
        items = filling.items()
        cut = {
            section: count - sum(item.candidate.section is section for item in items)
            for section, count in everything.items()
        }
        pack = replace(
            frame,
            id=identify(task, items),
            items=items,
            cut={section: count for section, count in cut.items() if count},
        )
        tokens = count_pack(pack, explain)
        if tokens <= question.budget or not filling.drop_last():
            return replace(pack, tokens=tokens)


class _Waiting:
    """Candidates whose turn did not come yet: queues of each section, the likeliest first."""

    def __init__(self, candidates: Sequence[ContextCandidate]) -> None:
        self._candidates = candidates
        self._queues: dict[tuple[PackSection, bool], deque[int]] = {}
        for at in sorted(range(len(candidates)), key=lambda at: (-candidates[at].chance, at)):
            self._queues.setdefault(self._queue_of(at), deque()).append(at)

    def heads(self) -> list[int]:
        """Return the first of every queue: one of them is next."""
        return [queue[0] for queue in self._queues.values() if queue]

    def take(self, at: int) -> None:
        """Remove a head."""
        self._queues[self._queue_of(at)].popleft()

    def chances(self, section: PackSection) -> list[float]:
        """Return the highest chances of a section, in descending order."""
        best = (
            self._candidates[at].chance
            for is_binding in (True, False)
            for at in islice(self._queues.get((section, is_binding), ()), MOST_FOLLOWING)
        )
        return sorted(best, reverse=True)[:MOST_FOLLOWING]

    def _queue_of(self, at: int) -> tuple[PackSection, bool]:
        return self._candidates[at].section, self._candidates[at].binding


class _Filling:
    """The choice of items for one pack."""

    def __init__(
        self,
        task: TaskReading,
        candidates: Sequence[ContextCandidate],
        explain: bool,
        tokens: int,
    ) -> None:
        self._task = task
        self._candidates = candidates
        self._explain = explain
        self._chosen: dict[int, PackItem] = {}  # by position, in the order they were chosen
        self._counts: dict[PackSection, int] = {}
        self._measured: dict[str, MeasuredLines] = {}  # a cut passage may grow at the end
        self._whole: dict[int, PackItem] = {}
        self.left = tokens

    def items(self) -> tuple[PackItem, ...]:
        """Return the items in the order of their sections."""
        return tuple(self._chosen[at] for at in sorted(self._chosen))

    def drop_last(self) -> bool:
        """Leave out the item that was chosen last; False if there is none."""
        if not self._chosen:
            return False
        self._chosen.popitem()
        return True

    def run(self) -> None:
        """Choose references of binding rules first, then everything by its chance."""
        for at, candidate in enumerate(self._candidates):
            if candidate.binding:
                self._put(at, self._make(candidate, "", cut=True))
        waiting = _Waiting(self._candidates)
        while heads := waiting.heads():
            at = max(heads, key=self._turn)
            waiting.take(at)
            self._choose(at, waiting)
        for at in list(self._chosen):
            if self._chosen[at].cut:
                self._choose(at, _Waiting(()))

    def _turn(self, at: int) -> tuple[bool, bool, float, int]:
        """Return what decides whose turn it is."""
        candidate = self._candidates[at]
        is_first = candidate.section not in self._counts
        return candidate.binding, is_first, self._worth(at), -at

    def _worth(self, at: int) -> float:
        candidate = self._candidates[at]
        return candidate.chance * self._decay(candidate.section)

    def _decay(self, section: PackSection) -> float:
        return DECAY ** self._counts.get(section, 0)

    def _choose(self, at: int, waiting: _Waiting) -> None:
        candidate = self._candidates[at]
        reserved = self._cost(at)
        room = self.left + reserved
        if not reserved and room < SMALLEST_ITEM:
            return
        whole = self._whole.get(at)
        if whole is None:
            whole = self._whole[at] = self._make(candidate, candidate.text)
        allowed = self._share(at, waiting, room)
        if whole.tokens + SEPARATOR_TOKENS <= min(room, allowed):
            self._put(at, whole)
        elif room >= LEAST_ITEM_TOKENS:
            shorter = self._shorten(candidate, min(room, allowed) - SEPARATOR_TOKENS)
            if shorter is not None and shorter.tokens + SEPARATOR_TOKENS <= room:
                self._put(at, shorter)
        if at in self._chosen:
            self._counts[candidate.section] = self._counts.get(candidate.section, 0) + 1

    def _share(self, at: int, waiting: _Waiting, room: int) -> int:
        """Return what a candidate may take, by the chances that wait.

        Of another section the best one counts, of its own the next few, less each time.
        """
        section = self._candidates[at].section
        others = sum(
            max(waiting.chances(other), default=0.0) * self._decay(other)
            for other in PackSection
            if other is not section
        )
        beside = sum(
            chance * self._decay(section) * FOLLOWING**place
            for place, chance in enumerate(waiting.chances(section), 1)
        )
        own = self._worth(at)
        share = own / (own + others + beside) if own else 0.0
        return max(int(share * room), LEAST_SHARE_TOKENS)

    def _shorten(self, candidate: ContextCandidate, most: int) -> PackItem | None:
        """Return the item with a part of its text."""
        bare = self._make(candidate, "", cut=True)
        room = most - bare.tokens - 4  # the name of the text
        if room <= 0 or not candidate.text:
            return None
        terms = self._task.terms
        if candidate.line:
            measured = self._measured.get(candidate.ref)
            if measured is None:
                measured = MeasuredLines.read(candidate.text, terms, count_json)
                self._measured[candidate.ref] = measured
            lines = cut_lines_around(measured, room)
            if lines is None:
                return None
            before, text = lines
            first = candidate.line + before
            ref = _with_lines(candidate.ref, first, first + text.count("\n"))
            return self._make(candidate, text, ref=ref, cut=True)
        text = cut_prose(candidate.text, terms, room, count_json)
        return self._make(candidate, text, cut=True) if text else None

    def _make(
        self, candidate: ContextCandidate, text: str, *, ref: str = "", cut: bool = False
    ) -> PackItem:
        ref = ref or candidate.ref
        tokens = count_item(PackItem(candidate, ref, text, MOST_TOKENS, cut), self._explain)
        return PackItem(candidate, ref, text, tokens, cut)

    def _cost(self, at: int) -> int:
        item = self._chosen.get(at)
        return item.tokens + SEPARATOR_TOKENS if item is not None else 0

    def _put(self, at: int, item: PackItem) -> None:
        """Put an item into the pack, or in the place of a shorter form, if it fits."""
        needed = item.tokens + SEPARATOR_TOKENS - self._cost(at)
        if needed <= self.left:
            self.left -= needed
            self._chosen[at] = item


def _with_lines(ref: str, first: int, last: int) -> str:
    return str(replace(Ref.parse(ref), lines=(first, last)))


def identify(task: TaskReading, items: Sequence[PackItem]) -> str:
    """Return the id of a pack: the same question and the same items give the same id."""
    digest = hashlib.blake2b(_bytes(repr(task.question)), digest_size=ID_BYTES)
    for item in items:
        digest.update(_bytes(f"\0{item.ref}\0{item.text}\0{item.candidate.updated}"))
    return digest.hexdigest()


def digest_of(candidate: ContextCandidate) -> str:
    """Return what changes when a candidate's text does; of a passage, when its file does."""
    told = candidate.updated if candidate.line else candidate.text
    return hashlib.blake2b(_bytes(told), digest_size=6).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
