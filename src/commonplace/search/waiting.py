"""Documents that wait for the posting lists: each was written as one row, every search reads their words beside the lists, and they move
into the lists many at a time. SQLite only: there a posting is a page of its own, and a page costs as much to write as a document."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from commonplace.storage.sqlite import Connection

MOST_WAITING = 256  # documents of a partition; one more and all move
PARTITIONS = 16  # whose waiting documents are kept read
NOBODY = "[]"
Posting = tuple[int, int, int]
"""Document, frequency, length of the field."""


@dataclass(frozen=True, slots=True)
class WaitingWords:
    """What waiting documents hold of a query's terms, in the state of the database that `version` names."""

    version: str = NOBODY
    postings: Mapping[tuple[str, str], Sequence[Posting]] = field(default_factory=dict)  # by term and field
    keys: Mapping[int, str] = field(default_factory=dict)


class WaitingDocuments:
    """What waits, read once a process. Shared by its threads; the tables are the truth."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries
        self._partitions: OrderedDict[int, _Read] = OrderedDict()
        self._guard = threading.Lock()

    def version(self, connection: Connection, partition: int) -> str:
        row = connection.execute(self._queries["waiting"], {"partition": partition}).fetchone()
        return str(row[0]) if row else NOBODY

    def words(self, connection: Connection, partition: int, terms: Sequence[str]) -> WaitingWords:
        """Inside a snapshot or a transaction: which documents wait and what they hold must be of one state."""
        version = self.version(connection, partition)
        if version == NOBODY:
            return WaitingWords()
        with self._guard:
            read = self._partitions.setdefault(partition, _Read())
            self._partitions.move_to_end(partition)
            while len(self._partitions) > PARTITIONS:
                self._partitions.popitem(last=False)
            if read.version != version:
                self._bring_up(connection, read, version)
            found = {
                (term, name): tuple(postings)
                for name, holders in read.fields.items()
                for term in terms
                if (postings := holders.get(term)) is not None
            }
            return WaitingWords(version, found, dict(read.keys))

    def documents(self, connection: Connection, ids: str) -> list[tuple[int, str, dict[str, dict[str, int]]]]:
        """Id, key and words (field to term to frequency) of documents given as a JSON array."""
        rows = connection.execute(self._queries["waiting_documents"], {"ids": ids})
        return [(int(identity), str(key), orjson.loads(terms)) for identity, key, terms in rows]

    def _bring_up(self, connection: Connection, read: _Read, version: str) -> None:
        wanted = set(orjson.loads(version))
        if gone := read.keys.keys() - wanted:
            read.forget(gone)
        for identity, key, fields in self.documents(connection, orjson.dumps(sorted(wanted - read.keys.keys())).decode()):
            read.learn(identity, key, fields)
        read.version = version


class _Read:
    """The waiting documents of a partition by their words."""

    def __init__(self) -> None:
        self.version = NOBODY
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
            kept = ((term, [posting for posting in postings if posting[0] in self.keys]) for term, postings in holders.items())
            self.fields[name] = {term: postings for term, postings in kept if postings}
