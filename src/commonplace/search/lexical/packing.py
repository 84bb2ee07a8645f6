"""Packs the posting lists of frequent terms on disk, in short steps of the index worker.

A partition is packed again when it has grown or shrunk enough; until then a search adds the
documents after the end of a list and skips deleted ones.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from commonplace.search.lexical.posting_cache import read_postings
from commonplace.storage.sqlite.database import Connection, Database

LEAST_DOCUMENTS = 4_000  # of a partition; below, rows are read as fast
LEAST_POSTINGS = 1_000  # of a term
GROWN_SHARE = 0.3
LOST_SHARE = 0.1
STEP_POSTINGS = 100_000  # packed in one transaction
LOOK_SECONDS = 15.0
LOCK_SECONDS = 30.0


@dataclass(slots=True)
class _Pass:
    """The lists of one partition that are still to be packed."""

    partition_id: int
    upto: int
    documents: int
    terms: deque[tuple[int, int]] = field(default_factory=deque)  # id, documents


class Packing:
    """Call `step` while there is time; one process at a time should."""

    def __init__(
        self,
        database: Database,
        queries: Mapping[str, str],
        least_documents: int,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._database = database
        self._queries = queries
        self._least_documents = least_documents
        self._look_seconds = look_seconds
        self._looked_at = float("-inf")
        self._checked: dict[
            int, tuple[int, int]
        ] = {}  # partitions that need no packing, by their size
        self._pass: _Pass | None = None

    async def step(self) -> bool:
        """Do a short piece of work; return False when there is none."""
        if self._pass is None:
            now = time.monotonic()
            if now - self._looked_at < self._look_seconds:
                return False
            self._looked_at = now
            self._pass = await self._database.read(self._begin)
            return self._pass is not None
        # a failure ends the pass; another one begins at the next look
        current, self._pass = self._pass, None
        wanted, room = [], STEP_POSTINGS
        while current.terms and room > 0:
            term_id, documents = current.terms.popleft()
            wanted.append(term_id)
            room -= documents
        packed = await self._database.read(
            lambda connection: [(term_id, self._read(connection, term_id)) for term_id in wanted]
        )
        work = functools.partial(self._put, current=current, packed=packed)
        await self._database.write(work, lock_timeout_seconds=LOCK_SECONDS, durable=False)
        if current.terms:
            self._pass = current
        else:
            self._looked_at = float("-inf")  # another partition may need packing
        return True

    def _begin(self, connection: Connection) -> _Pass | None:
        """Return the first partition whose lists are worth packing again."""
        rows: list[tuple[Any, ...]] = connection.execute(
            self._queries["packable_partitions"], {"least": self._least_documents}
        ).fetchall()
        for number, documents, length, upto, then in rows:
            if self._checked.get(number) == (documents, length):
                continue
            counted = connection.execute(
                self._queries["packed_since"], {"partition": number, "upto": upto}
            ).fetchone()
            packed, newer = (int(counted[0]), int(counted[1])) if counted else (0, 0)
            if newer <= GROWN_SHARE * then and packed >= (1 - LOST_SHARE) * then:
                self._checked[number] = (documents, length)
                continue
            last = connection.execute(self._queries["last_document"]).fetchone()
            terms = connection.execute(
                self._queries["packable_terms"], {"partition": number, "least": LEAST_POSTINGS}
            )
            return _Pass(
                number,
                int(last[0]) if last else 0,
                packed + newer,
                deque((int(term), int(count)) for term, count in terms),
            )
        return None

    def _read(self, connection: Connection, term_id: int) -> bytes:
        return (
            read_postings(connection, self._queries, term_id, 0).astype("<i8", copy=False).tobytes()
        )

    def _put(self, connection: Connection, current: _Pass, packed: list[tuple[int, bytes]]) -> None:
        for term_id, postings in packed:
            connection.execute(self._queries["packed_put"], {"term": term_id, "postings": postings})
        if not current.terms:
            values = {
                "partition": current.partition_id,
                "upto": current.upto,
                "documents": current.documents,
            }
            connection.execute(self._queries["packing_done"], values)
