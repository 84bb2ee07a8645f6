"""Documents and postings in the caller's own transaction, on either database.

A domain's change and its index change commit together:

    postings = SqlitePostings(database)  # or PostgresPostings(database)
    here = Partition(tenant, "notes", "main")
    note = IndexDocument("n1", {"title": [...], "body": [...]})
    database.write_now(lambda connection: postings.put(connection, here, [note]))
    weights = {"title": 2.0, "body": 1.0}
    result = await postings.search(here, query_terms(text), limit=30, weights=weights)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson

from commonplace.kernel.paging import in_batches
from commonplace.search.lexical.index_searcher import find_partition, partition_parameters
from commonplace.search.lexical.write_buffer import WriteBuffer
from commonplace.search.model import IndexDocument, Partition, Terms, upper_bound
from commonplace.storage.relational import Row, SqlConnection

PIPELINED = 64  # statements in one pipeline
BATCH_POSTINGS = 100_000  # in one statement; PostgreSQL takes at most 256 MiB of parsed JSON


class IndexWriter:
    """Changes a partition. With a write buffer, single documents reach the lists in batches."""

    def __init__(self, queries: Mapping[str, str], buffer: WriteBuffer | None = None) -> None:
        self._queries = queries
        self._buffer = buffer

    def count(self, connection: SqlConnection, partition: Partition) -> int:
        """Return how many documents a partition holds."""
        number = find_partition(connection, self._queries, partition)
        if number is None:
            return 0
        parameters = {"partition": number}
        row = connection.execute(self._queries["document_count"], parameters).fetchone()
        return int(row[0]) if row else 0

    def keys(self, connection: SqlConnection, partition: Partition, prefix: str = "") -> list[str]:
        """Return the keys that start with `prefix`, in order."""
        number = find_partition(connection, self._queries, partition)
        if number is None:
            return []
        bounds = {"partition": number, "prefix": prefix, "upper": upper_bound(prefix)}
        rows = connection.execute(self._queries["documents_with_prefix"], bounds)
        return [row[0] for row in rows]

    def put(
        self,
        connection: SqlConnection,
        partition: Partition,
        documents: Iterable[IndexDocument],
        *,
        keep_terms: bool = True,
    ) -> None:
        """Index documents; replace those whose key exists.

        Without `keep_terms` the caller stores the terms of a document, uses each key once, and
        passes its terms to `remove`.
        """
        documents = list({document.key: document for document in documents}.values())
        number = self._open(connection, partition)
        if self._buffer is not None:  # posting lists only grow at their end
            self._flush(connection, number, self._buffer)
        if keep_terms:
            self._remove(connection, number, [document.key for document in documents], {})
        added = self._add_documents(connection, number, documents, keep_terms=keep_terms)
        self._count_fields(connection, number, [terms for _, terms in added], 1)
        self._add_postings(connection, number, added)

    def put_soon(
        self, connection: SqlConnection, partition: Partition, document: IndexDocument
    ) -> None:
        """Index one document the cheapest way; searches after the commit find it as after `put`."""
        number = self._open(connection, partition)
        if self._buffer is not None:
            self._remove(connection, number, [document.key], {})
            [(document_id, terms)] = self._add_documents(
                connection, number, [document], keep_terms=True
            )
            self._count_fields(connection, number, [terms], 1)
            if self._buffer.add(connection, number, document_id):
                self._flush(connection, number, self._buffer)
            return
        # a new key is hardly ever taken, and asking first would be a round trip
        added = self._add_documents(connection, number, [document], keep_terms=True)
        if not added:
            self.put(connection, partition, [document])
            return
        self._count_fields(connection, number, [terms for _, terms in added], 1)
        self._add_postings(connection, number, added)

    def number(self, connection: SqlConnection, partition: Partition) -> int:
        """Return the number of a partition, creating it; for changes beside its postings."""
        number = find_partition(connection, self._queries, partition)
        return self._create(connection, partition) if number is None else number

    def remove(
        self,
        connection: SqlConnection,
        partition: Partition,
        keys: Iterable[str],
        terms: Mapping[str, Terms] | None = None,
    ) -> None:
        """Remove documents; ignore unknown keys. `terms`: of each, where the caller stores them."""
        number = self._lock(connection, partition)
        if number is not None:
            self._remove(connection, number, list(keys), terms or {})

    def drop_unused_terms(self, connection: SqlConnection, partition: Partition) -> None:
        """Remove the terms that no document has any more; `remove` keeps them for the next one."""
        number = self._lock(connection, partition)
        if number is not None:
            connection.execute(self._queries["terms_drop_unused"], {"partition": number})

    def clear(self, connection: SqlConnection, partition: Partition) -> None:
        """Remove a partition with everything in it."""
        number = self._lock(connection, partition)
        if number is not None:
            connection.execute(self._queries["partition_postings_remove"], {"partition": number})
            connection.execute(self._queries["partition_remove"], {"partition": number})

    def _create(self, connection: SqlConnection, partition: Partition) -> int:
        parameters = partition_parameters(partition)
        row = connection.execute(self._queries["partition_add"], parameters).fetchone()
        assert row is not None
        return int(row[0])

    def _lock(self, connection: SqlConnection, partition: Partition) -> int | None:
        """Lock a partition: its statistics are ours to change until the transaction ends."""
        parameters = partition_parameters(partition)
        row = connection.execute(self._queries["partition_lock"], parameters).fetchone()
        return None if row is None else int(row[0])

    def _open(self, connection: SqlConnection, partition: Partition) -> int:
        number = self._lock(connection, partition)
        return self._create(connection, partition) if number is None else number

    def _flush(self, connection: SqlConnection, number: int, buffer: WriteBuffer) -> None:
        """Move the buffered documents into the posting lists."""
        documents = buffer.documents(connection, number)
        if documents:
            self._add_postings(
                connection, number, [(document_id, terms) for document_id, _, terms in documents]
            )
            buffer.discard(connection, number, [document_id for document_id, _, _ in documents])

    def _pipeline(
        self, connection: SqlConnection, name: str, parameters: Sequence[Mapping[str, object]]
    ) -> Iterator[Row | None]:
        """Yield the one row of each statement.

        Several run at once: one round trip for PostgreSQL; all of them would slow SQLite.
        """
        for start in range(0, len(parameters), PIPELINED):
            answers = [
                connection.execute(self._queries[name], values)
                for values in parameters[start : start + PIPELINED]
            ]
            yield from [answer.fetchone() for answer in answers]

    def _add_documents(
        self,
        connection: SqlConnection,
        number: int,
        documents: Sequence[IndexDocument],
        *,
        keep_terms: bool,
    ) -> list[tuple[int, Terms]]:
        """Return the ids of those whose key was free, with the frequencies of their terms."""
        counted = [
            {field: Counter(terms) for field, terms in document.fields.items()}
            for document in documents
        ]
        rows = [
            {
                "partition": number,
                "document": document.key,
                "terms": _json(terms) if keep_terms else None,
            }
            for document, terms in zip(documents, counted, strict=True)
        ]
        added = zip(self._pipeline(connection, "document_add", rows), counted, strict=True)
        return [(int(row[0]), terms) for row, terms in added if row is not None]

    def _add_postings(
        self, connection: SqlConnection, number: int, documents: Sequence[tuple[int, Terms]]
    ) -> None:
        for batch in in_batches(documents, _count_postings, BATCH_POSTINGS):
            ids = self._count_terms(connection, number, [terms for _, terms in batch], 1)
            rows = sorted(
                (ids[field, term], document_id, frequency, length)
                for document_id, terms in batch
                for field, frequencies in terms.items()
                for length in (sum(frequencies.values()),)
                for term, frequency in frequencies.items()
            )
            connection.execute(self._queries["postings_add"], {"postings": _json(rows)})

    def _remove(
        self,
        connection: SqlConnection,
        number: int,
        keys: Sequence[str],
        known: Mapping[str, Terms],
    ) -> None:
        removed: list[tuple[int, Terms]] = []
        rows = self._pipeline(
            connection, "document_terms", [{"partition": number, "document": key} for key in keys]
        )
        for key, row in zip(keys, rows, strict=True):
            if row is not None:
                terms = orjson.loads(row[1]) if row[1] is not None else known[key]
                removed.append((int(row[0]), terms))
                connection.execute(self._queries["document_remove"], {"id": row[0]})
        if not removed:
            return
        self._count_fields(connection, number, [terms for _, terms in removed], -1)
        listed = removed
        if self._buffer is not None:  # buffered documents have no postings yet
            ids = [document_id for document_id, _ in removed]
            buffered = self._buffer.take_out(connection, number, ids)
            listed = [document for document in removed if document[0] not in buffered]
        for batch in in_batches(listed, _count_postings, BATCH_POSTINGS):
            term_ids = self._count_terms(connection, number, [terms for _, terms in batch], -1)
            postings = sorted(
                (term_ids[field, term], document_id)
                for document_id, fields in batch
                for field, frequencies in fields.items()
                for term in frequencies
            )
            connection.execute(self._queries["postings_remove"], {"postings": _json(postings)})

    def _count_fields(
        self, connection: SqlConnection, number: int, documents: Iterable[Terms], sign: int
    ) -> None:
        """Add documents and lengths to the statistics of their fields, or subtract them."""
        changes: dict[str, tuple[int, int]] = {}
        for terms in documents:
            for field, frequencies in terms.items():
                count, length = changes.get(field, (0, 0))
                changes[field] = (count + sign, length + sign * sum(frequencies.values()))
        for field, (count, length) in changes.items():
            parameters = {"partition": number, "field": field, "documents": count, "length": length}
            connection.execute(self._queries["field_change"], parameters)

    def _count_terms(
        self, connection: SqlConnection, number: int, documents: Iterable[Terms], sign: int
    ) -> dict[tuple[str, str], int]:
        """Add documents to the counts of their terms, or subtract them; return the term ids."""
        changes: Counter[tuple[str, str]] = Counter()
        for terms in documents:
            for field, frequencies in terms.items():
                for term in frequencies:
                    changes[field, term] += sign
        if not changes:
            return {}
        rows = connection.execute(
            self._queries["terms_change"],
            {
                "partition": number,
                "terms": _json([(term, field, count) for (field, term), count in changes.items()]),
            },
        )
        return {(field, term): term_id for term_id, term, field in rows}


def _count_postings(document: tuple[int, Terms]) -> int:
    return sum(map(len, document[1].values()))


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
