"""Extracts as searches and vector workers read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from commonplace.files.extracts.model import StoredExtract, extract_partition
from commonplace.files.model import FilePath, Project, VectorJob
from commonplace.files.store.extracts.writer import search_key
from commonplace.files.store.units import IndexUnits
from commonplace.search.model import Partition, Passage
from commonplace.storage.relational import Row, SqlConnection


class SqlExtractStore:
    """`ExtractStore`, and the `PassageSource` of extracts, of both databases."""

    def __init__(self, units: IndexUnits, queries: Mapping[str, str]) -> None:
        self._units = units
        self._queries = queries

    def partition(self, tenant: str, project: str) -> Partition:
        return extract_partition(tenant, project)

    async def extracts(
        self, tenant: str, project: Project, keys: Sequence[str]
    ) -> list[StoredExtract]:
        def look(connection: SqlConnection) -> list[StoredExtract]:
            asked = []
            for key in keys:
                path, _, number = key.rpartition("#")
                values = {"id": int(number), "tenant": tenant, "project": project, "path": path}
                asked.append(connection.execute(self._queries["extract_live"], values))
            rows = [rows.fetchone() for rows in asked]
            return [_stored(project, row) for row in rows if row is not None]

        return await self._units.look(look)

    async def extract_at(
        self, tenant: str, project: Project, path: FilePath, key: str
    ) -> StoredExtract | None:
        values = {"tenant": tenant, "project": project, "path": path, "key": key}
        row = await self._units.look(
            lambda connection: connection.execute(self._queries["extract_at"], values).fetchone()
        )
        return None if row is None else _stored(project, row)

    async def projects_with_extracts(self, tenant: str) -> list[Project]:
        rows = await self._units.look(
            lambda connection: connection.execute(
                self._queries["extract_projects"], {"tenant": tenant}
            ).fetchall()
        )
        return [Project(str(name)) for (name,) in rows]

    async def passages(self, job: VectorJob) -> list[Passage]:
        rows = await self._units.scan(
            lambda connection: connection.execute(
                self._queries["extract_passages"], _place(job)
            ).fetchall()
        )
        return [
            Passage(search_key(job.path, int(identity)), str(text), str(digest))
            for identity, text, digest in rows
        ]

    async def projects_with_twins(self, job: VectorJob) -> list[Project]:
        rows = await self._units.look(
            lambda connection: connection.execute(
                self._queries["projects_with_extract_twins"], _place(job)
            ).fetchall()
        )
        return sorted({Project(str(name)) for row in rows for name in row if name is not None})


def _stored(project: Project, row: Row) -> StoredExtract:
    identity, path, key, title, summary, text, facts, first, last, updated, stale = row
    return StoredExtract(
        int(identity),
        search_key(str(path), int(identity)),
        project,
        FilePath(str(path)),
        str(key),
        str(title),
        str(summary),
        str(text),
        orjson.loads(facts),
        int(first),
        int(last),
        int(updated),
        bool(stale),
    )


def _place(job: VectorJob) -> dict[str, str]:
    return {"tenant": job.tenant, "project": job.project, "path": job.path}
