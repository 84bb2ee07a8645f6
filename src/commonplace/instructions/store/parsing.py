"""Prepare in the background what loading left undone."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from operator import attrgetter

from commonplace.instructions.engine.summary import summarise_entry
from commonplace.instructions.model import Instruction
from commonplace.kernel.gc_control import gc_paused

PARSE_GROUP = 6  # half a millisecond of work: other calls do not wait longer
PARSE_PAUSE_SECONDS = 0.0003


def parse_entries(entries: Sequence[Instruction], stop: threading.Event) -> None:
    """Parse instructions, then summarise them for lists, in small groups until `stop` is set."""
    for prepare in (attrgetter("document"), summarise_entry):
        for start in range(0, len(entries), PARSE_GROUP):
            for entry in entries[start : start + PARSE_GROUP]:
                prepare(entry)
            time.sleep(PARSE_PAUSE_SECONDS)
            if stop.is_set():
                return
    with gc_paused(freeze=True):  # the collector need not traverse them
        return
