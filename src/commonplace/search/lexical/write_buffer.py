"""Write buffer of the inverted index: documents that are stored but have no postings yet.

Each was written as one row; searches read the buffer beside the posting lists, and the writer
moves it into the lists in batches. SQLite only: there a posting is a page of its own, and a page
costs as much to write as a document.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from commonplace.kernel.lru import LruCache
from commonplace.search.model import Terms
from commonplace.storage.relational import SqlConnection

CAPACITY = 256  # documents of a partition; one more and all move
CACHED_PARTITIONS = 16
State = tuple[int, int]
"""How many documents are buffered, and the id of the newest."""
EMPTY: State = (0, 0)
Posting = tuple[int, int, int]
"""Document id, frequency, length of the field."""


@dataclass(frozen=True, slots=True)
class BufferedPostings:
    """What buffered documents hold of a query's terms, in one state of the database."""

    state: State = EMPTY
    postings: Mapping[tuple[str, str], Sequence[Posting]] = field(
        default_factory=dict
    )  # by term and field
    keys: Mapping[int, str] = field(default_factory=dict)


class WriteBuffer:
    """The buffered documents of every partition; caches what it read, for all threads."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries
        self._cached: LruCache[int, _CachedPartition] = LruCache(CACHED_PARTITIONS)
        self._guard = threading.Lock()

    def state(self, connection: SqlConnection, partition: int) -> State:
        row = connection.execute(
            self._queries["waiting_state"], {"partition": partition}
        ).fetchone()
        return (int(row[0]), int(row[1])) if row else EMPTY

    def documents(
        self, connection: SqlConnection, partition: int, after: int = 0
    ) -> list[tuple[int, str, dict[str, dict[str, int]]]]:
        """Return id, key and terms of the documents whose id is greater than `after`."""
        rows = connection.execute(
            self._queries["waiting_documents"], {"partition": partition, "after": after}
        )
        return [(int(identity), str(key), orjson.loads(terms)) for identity, key, terms in rows]

    def add(self, connection: SqlConnection, partition: int, document_id: int) -> bool:
        """Buffer a stored document; return whether the buffer is now over its capacity."""
        connection.execute(
            self._queries["waiting_add"], {"partition": partition, "document": document_id}
        )
        return self.state(connection, partition)[0] > CAPACITY

    def discard(self, connection: SqlConnection, partition: int, ids: Sequence[int]) -> None:
        connection.execute(
            self._queries["waiting_remove"],
            {"partition": partition, "documents": orjson.dumps(ids).decode()},
        )

    def take_out(self, connection: SqlConnection, partition: int, ids: Iterable[int]) -> set[int]:
        """Discard those of the given documents that are buffered; return their ids."""
        taken = self._ids(connection, partition).intersection(ids)
        if taken:
            self.discard(connection, partition, sorted(taken))
        return taken

    def postings(
        self, connection: SqlConnection, partition: int, terms: Sequence[str]
    ) -> BufferedPostings:
        """Return the buffered postings of terms.

        Call it inside a snapshot or a transaction: the ids and their terms must be of one state.
        """
        state = self.state(connection, partition)
        if state == EMPTY:
            return BufferedPostings()
        with self._guard:
            cached = self._cached.get(partition)
            if cached is None:
                cached = _CachedPartition()
                self._cached.put(partition, cached)
            if cached.state != state:
                self._refresh(connection, partition, cached, state)
            found = {
                (term, name): tuple(postings)
                for name, by_term in cached.fields.items()
                for term in terms
                if (postings := by_term.get(term)) is not None
            }
            return BufferedPostings(state, found, dict(cached.keys))

    def _ids(self, connection: SqlConnection, partition: int) -> set[int]:
        rows = connection.execute(self._queries["waiting_ids"], {"partition": partition})
        return {int(row[0]) for row in rows}

    def _refresh(
        self, connection: SqlConnection, partition: int, cached: _CachedPartition, state: State
    ) -> None:
        newest = cached.state[1]
        if state[1] < newest:  # an older snapshot than the last one, or the newest was removed
            newest = 0
            cached.remove(set(cached.keys))
        for document_id, key, terms in self.documents(connection, partition, newest):
            cached.add(document_id, key, terms)
        if len(cached.keys) != state[0]:
            cached.remove(cached.keys.keys() - self._ids(connection, partition))
        cached.state = state


class _CachedPartition:
    """The buffered documents of a partition, by field and term."""

    def __init__(self) -> None:
        self.state: State = EMPTY
        self.keys: dict[int, str] = {}
        self.fields: dict[str, dict[str, list[Posting]]] = {}

    def add(self, document_id: int, key: str, terms: Terms) -> None:
        self.keys[document_id] = key
        for name, frequencies in terms.items():
            by_term = self.fields.setdefault(name, {})
            length = sum(frequencies.values())
            for term, frequency in frequencies.items():
                by_term.setdefault(term, []).append((document_id, frequency, length))

    def remove(self, ids: Iterable[int]) -> None:
        for document_id in ids:
            del self.keys[document_id]
        fields, self.fields = self.fields, {}
        for name, by_term in fields.items() if self.keys else ():
            kept = (
                (term, [posting for posting in postings if posting[0] in self.keys])
                for term, postings in by_term.items()
            )
            self.fields[name] = {term: postings for term, postings in kept if postings}
