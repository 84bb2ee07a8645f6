"""Keep rules on disk for hooks, which have no time to load a catalogue."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from commonplace import __version__
from commonplace.instructions.engine.effective.comparing import TextOverlaps
from commonplace.instructions.engine.effective.rule import EffectiveCandidate
from commonplace.instructions.engine.effective.stored import (
    Place,
    buckets_of,
    make_row,
)
from commonplace.instructions.model import Instruction
from commonplace.instructions.store.kept.index import write_index
from commonplace.instructions.store.kept.place import KeptPlace
from commonplace.kernel.json_types import JsonArray, JsonObject

log = logging.getLogger("commonplace.instructions")


class KeptRule(NamedTuple):
    """A rule to keep: as it is selected, and as it is stored."""

    rule: EffectiveCandidate
    entry: Instruction


class RuleKeeper:
    """Writes the index of one data folder, once hooks are used there."""

    def __init__(self, place: KeptPlace) -> None:
        self._place = place
        self.state = place.state

    @property
    def is_wanted(self) -> bool:
        """Tell whether hooks are used with this data folder."""
        return self._place.is_wanted

    def write(
        self,
        rules: Sequence[KeptRule],
        overlaps: TextOverlaps,
        catalogue_hash: str,
        state: JsonObject,
    ) -> None:
        """Replace the index; a disk that cannot be written costs hooks their rules, no more."""
        texts = [kept.rule.text.encode("utf-8", "replace") for kept in rules]
        buckets: dict[str, JsonArray] = {}
        for kept, place in zip(rules, _places(texts), strict=True):
            row = make_row(kept.rule, kept.entry.document.whole(), place)
            for name in buckets_of(kept.rule):
                buckets.setdefault(name, []).append(row)
        header: JsonObject = {
            "version": __version__,
            "state": state,
            "written_ns": time.time_ns(),
            "hash": catalogue_hash,
        }
        known = {kept.rule.key for kept in rules}
        overlap: JsonObject = {
            "repeated": sorted(overlaps.repeated & known),
            "contested": sorted(overlaps.contested & known),
            "declared": sorted(overlaps.declared & known),
            "disputed": _disputed_subjects(rules, overlaps),
        }
        parts = {f"rules {name}": rows for name, rows in buckets.items()}
        try:
            write_index(self._place.data, header, texts, {**parts, "overlaps": overlap})
        except OSError as error:
            log.warning("the rules for hooks cannot be kept: %s", error.strerror or error)


def _places(texts: Iterable[bytes]) -> Iterable[Place]:
    offset = 0
    for text in texts:
        yield offset, len(text), zlib.crc32(text)
        offset += len(text)


def _disputed_subjects(rules: Iterable[KeptRule], overlaps: TextOverlaps) -> JsonArray:
    """Return the disputed subjects themselves: hashes differ from process to process."""
    subjects = {
        subject
        for kept in rules
        if kept.rule.key in overlaps.contested
        for subject in kept.rule.directives
        if hash(subject) in overlaps.disputed
    }
    return [list(subject) for subject in sorted(subjects)]
