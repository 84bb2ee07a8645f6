"""The extracts of a file and their words, written in the transactions that index the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import orjson

from commonplace.files.extracts.model import (
    AddedExtract,
    ExtractChange,
    IndexedExtract,
    extract_partition,
)
from commonplace.files.model import Job, Terms
from commonplace.search.lexical.index_writer import IndexWriter
from commonplace.search.model import IndexDocument
from commonplace.storage.relational import SqlConnection


def search_key(path: str, extract_id: int) -> str:
    """Return the key of an extract in its partition; a path prefix is a key prefix."""
    return f"{path}#{extract_id}"


class ExtractWriter:
    """Changes extracts and their words together."""

    def __init__(
        self, queries: Mapping[str, str], postings: IndexWriter, storable: Callable[[str], str]
    ) -> None:
        """`storable` returns a text as the database can hold it."""
        self._queries = queries
        self._postings = postings
        self._storable = storable

    def indexed(self, connection: SqlConnection, job: Job) -> tuple[IndexedExtract, ...]:
        """Return the extracts of a file that are in the index."""
        rows = connection.execute(self._queries["extracts_of_file"], _place(job))
        return tuple(IndexedExtract(*row) for row in rows)

    def apply(
        self, connection: SqlConnection, job: Job, change: ExtractChange, terms: Sequence[Terms]
    ) -> None:
        """Apply a change; `terms` are those of the added extracts, then of the reworded ones."""
        partition = extract_partition(job.tenant, job.project)
        if change.removed:
            keys = [search_key(job.path, extract_id) for extract_id in change.removed]
            self._postings.remove(connection, partition, keys)
            rows = [{"id": extract_id, "tenant": job.tenant} for extract_id in change.removed]
            connection.executemany(self._queries["extract_delete"], rows)
        if change.moved:
            moves = [
                {
                    "id": extract.id,
                    "tenant": job.tenant,
                    "position": extract.position,
                    "start_line": extract.start_line,
                    "end_line": extract.end_line,
                }
                for extract in change.moved
            ]
            connection.executemany(self._queries["extract_move"], moves)
        ids = [self._insert(connection, job, added) for added in change.added]
        ids += [reworded.id for reworded in change.reworded]
        documents = [
            IndexDocument(search_key(job.path, extract_id), fields)
            for extract_id, fields in zip(ids, terms, strict=True)
        ]
        if documents:
            self._postings.put(connection, partition, documents)

    def forget(self, connection: SqlConnection, tenant: str, project: str | None) -> None:
        """Remove all extracts of a project, or of a tenant."""
        names = [project] if project is not None else self._projects(connection, tenant)
        for name in names:
            self._postings.clear(connection, extract_partition(tenant, name))
            values = {"tenant": tenant, "project": name}
            connection.execute(self._queries["extracts_forget"], values)

    def state(
        self, connection: SqlConnection, tenant: str, project: str | None
    ) -> tuple[int, tuple[tuple[str, str], ...]]:
        """Return how many extracts there are, and the paths of files that lack some, with why."""
        scope = {"tenant": tenant, "scope": project or "", "every": int(project is None)}
        row = connection.execute(self._queries["extract_count"], scope).fetchone()
        notes = connection.execute(self._queries["extract_notes"], scope)
        return int(row[0]) if row else 0, tuple((str(path), str(note)) for path, note in notes)

    def _projects(self, connection: SqlConnection, tenant: str) -> list[str]:
        rows = connection.execute(self._queries["extract_projects"], {"tenant": tenant})
        return [str(name) for (name,) in rows]

    def _insert(self, connection: SqlConnection, job: Job, added: AddedExtract) -> int:
        extract, storable = added.extract, self._storable
        row = connection.execute(
            self._queries["extract_insert"],
            {
                **_place(job),
                "position": added.position,
                "key": storable(extract.key),
                "digest": added.digest,
                "title": storable(extract.title),
                "summary": storable(extract.summary),
                "content": storable(extract.text),
                "facts": storable(orjson.dumps(dict(extract.facts)).decode()),
                "start_line": extract.start_line,
                "end_line": extract.end_line,
            },
        ).fetchone()
        assert row is not None
        return int(row[0])


def _place(job: Job) -> dict[str, str]:
    return {"tenant": job.tenant, "project": job.project, "path": job.path}
