"""Documents that wait for the posting lists: each was written as one row, every search reads
their words beside the lists, and they move into the lists many at a time.

SQLite only: there a posting is a page of its own, and a page costs as much to write as a document.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from commonplace.storage.sqlite.database import Connection

MOST_WAITING = 256  # documents of a partition; one more and all move
PARTITIONS = 16  # whose waiting documents are kept read
State = tuple[int, int]
"""How many documents wait, and the newest of them."""
NOBODY: State = (0, 0)
Posting = tuple[int, int, int]
"""Document, frequency, length of the field."""


@dataclass(frozen=True, slots=True)
class WaitingWords:
    """What waiting documents hold of a query's terms, in a state of the database."""

    state: State = NOBODY
    postings: Mapping[tuple[str, str], Sequence[Posting]] = field(
        default_factory=dict
    )  # by term and field
    keys: Mapping[int, str] = field(default_factory=dict)


class WaitingDocuments:
    """What waits, read once a process. Shared by its threads; the tables are the truth."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries
        self._partitions: OrderedDict[int, _Read] = OrderedDict()
        self._guard = threading.Lock()

    def state(self, connection: Connection, partition: int) -> State:
        row = connection.execute(
            self._queries["waiting_state"], {"partition": partition}
        ).fetchone()
        return (int(row[0]), int(row[1])) if row else NOBODY

    def ids(self, connection: Connection, partition: int) -> set[int]:
        return {
            int(row[0])
            for row in connection.execute(self._queries["waiting_ids"], {"partition": partition})
        }

    def documents(
        self, connection: Connection, partition: int, after: int = 0
    ) -> list[tuple[int, str, dict[str, dict[str, int]]]]:
        """Id, key and words (field to term to frequency) of those that came behind an id."""
        rows = connection.execute(
            self._queries["waiting_documents"], {"partition": partition, "after": after}
        )
        return [(int(identity), str(key), orjson.loads(terms)) for identity, key, terms in rows]

    def words(self, connection: Connection, partition: int, terms: Sequence[str]) -> WaitingWords:
        """Inside a snapshot or a transaction: which documents wait and what they hold must be of
        one state.
        """
        state = self.state(connection, partition)
        if state == NOBODY:
            return WaitingWords()
        with self._guard:
            read = self._partitions.setdefault(partition, _Read())
            self._partitions.move_to_end(partition)
            while len(self._partitions) > PARTITIONS:
                self._partitions.popitem(last=False)
            if read.state != state:
                self._bring_up(connection, partition, read, state)
            found = {
                (term, name): tuple(postings)
                for name, holders in read.fields.items()
                for term in terms
                if (postings := holders.get(term)) is not None
            }
            return WaitingWords(state, found, dict(read.keys))

    def _bring_up(self, connection: Connection, partition: int, read: _Read, state: State) -> None:
        newest = read.state[1]
        if state[1] < newest:  # an older snapshot than the last, or what was newest is gone
            newest = 0
            read.forget(set(read.keys))
        for identity, key, fields in self.documents(connection, partition, newest):
            read.learn(identity, key, fields)
        if len(read.keys) != state[0]:
            read.forget(read.keys.keys() - self.ids(connection, partition))
        read.state = state


class _Read:
    """The waiting documents of a partition by their words."""

    def __init__(self) -> None:
        self.state: State = NOBODY
        self.keys: dict[int, str] = {}
        self.fields: dict[str, dict[str, list[Posting]]] = {}  # field to term to who holds it

    def learn(self, identity: int, key: str, fields: Mapping[str, Mapping[str, int]]) -> None:
        self.keys[identity] = key
        for name, frequencies in fields.items():
            holders = self.fields.setdefault(name, {})
            length = sum(frequencies.values())
            for term, frequency in frequencies.items():
                holders.setdefault(term, []).append((identity, frequency, length))

    def forget(self, gone: Iterable[int]) -> None:
        """One document was removed, or nearly all of them moved on."""
        for identity in gone:
            del self.keys[identity]
        fields, self.fields = self.fields, {}
        for name, holders in fields.items() if self.keys else ():
            kept = (
                (term, [posting for posting in postings if posting[0] in self.keys])
                for term, postings in holders.items()
            )
            self.fields[name] = {term: postings for term, postings in kept if postings}
