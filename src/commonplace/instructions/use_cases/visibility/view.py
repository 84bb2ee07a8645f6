"""A view of the catalogue: parts, reads and queue of adds of callers who see the same."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.reading import CatalogueReader
from commonplace.instructions.use_cases.search.index import CatalogueSearch
from commonplace.kernel.lazy import lazy

if TYPE_CHECKING:
    from commonplace.instructions.use_cases.adding import PendingAdd
    from commonplace.instructions.use_cases.analysis import CatalogueAnalysis
    from commonplace.storage.group_commit import GroupCommitter


class CatalogueView:
    """The catalogue as some callers see it."""

    def __init__(self, parts: CatalogueParts, *, whole: bool = True) -> None:
        """`whole`: every instruction is seen."""
        self.whole = whole
        self.locks: dict[str, threading.RLock] = {}  # of the lazy properties
        self.parts = parts
        self.search = CatalogueSearch(parts.store)
        self.reader = CatalogueReader(parts, self.search)

    @lazy
    def analysis(self) -> CatalogueAnalysis:
        """Scans of the whole view."""
        from commonplace.instructions.use_cases.analysis import CatalogueAnalysis

        return CatalogueAnalysis(self.parts)

    @lazy
    def adds(self) -> GroupCommitter[PendingAdd]:
        """The queue of adds."""
        from commonplace.instructions.use_cases.adding import open_add_queue

        return open_add_queue(self.parts)

    def close(self) -> None:
        """Finish queued adds, and stop the threads."""
        if "adds" in vars(self):
            self.adds.close()
        self.search.close()


def hide_restricted(parts: CatalogueParts) -> CatalogueView:
    """Return the view of callers who may not read restricted instructions."""
    from commonplace.instructions.use_cases.visibility.store import UnrestrictedStore
    from commonplace.instructions.use_cases.visibility.usage import VisibleUsage

    store = UnrestrictedStore(parts.store)
    parts = replace(parts, store=store, usage=VisibleUsage(parts.usage, store), kept=None)
    return CatalogueView(parts, whole=False)
