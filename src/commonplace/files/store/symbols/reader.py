"""The symbol index as searches read it. No call finds anything of another tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.files.model import FilePath, Project
from commonplace.files.store.index_store import key_of
from commonplace.files.store.units import IndexUnits
from commonplace.files.symbols import (
    ChunkPlace,
    FileOutline,
    PathMatch,
    SymbolDefinition,
    SymbolUse,
)
from commonplace.search.code.structure import Definition, Import
from commonplace.search.model import upper_bound
from commonplace.storage.relational import Row, SqlConnection

MAX_NAMES = 64  # asked for at once
WORD_FILES = 400  # read of one word: a word of more paths tells nothing


class SqlSymbolStore:
    """`SymbolStore` of both databases."""

    def __init__(self, units: IndexUnits, queries: Mapping[str, str]) -> None:
        self._units = units
        self._queries = queries

    async def definitions(
        self, tenant: str, project: Project, names: Sequence[str], limit: int, prefix: str = ""
    ) -> list[SymbolDefinition]:
        def look(connection: SqlConnection) -> list[SymbolDefinition]:
            asked = [
                connection.execute(
                    self._queries["definitions_named"],
                    {
                        **_scope(tenant, project, prefix),
                        "name": name,
                        "folded": name.lower(),
                        "limit": limit,
                    },
                )
                for name in _distinct(names)
            ]
            return [_definition(row) for rows in asked for row in rows]

        return await self._units.look(look)

    async def uses(
        self, tenant: str, project: Project, names: Sequence[str], limit: int, prefix: str = ""
    ) -> list[SymbolUse]:
        def look(connection: SqlConnection) -> list[SymbolUse]:
            asked = [
                connection.execute(
                    self._queries["references_named"],
                    {**_scope(tenant, project, prefix), "name": name, "limit": limit},
                )
                for name in _distinct(names)
            ]
            return [_use(row) for rows in asked for row in rows]

        return await self._units.look(look)

    async def outline(self, tenant: str, project: Project, path: FilePath) -> FileOutline | None:
        keys = {"tenant": tenant, "project": project, "path": path}

        def look(connection: SqlConnection) -> FileOutline | None:
            languages = connection.execute(self._queries["language_of_file"], keys)
            definitions = connection.execute(self._queries["definitions_of_file"], keys)
            imports = connection.execute(self._queries["imports_of_file"], keys)
            language = languages.fetchone()
            if language is None:
                return None
            return FileOutline(
                path,
                str(language[0]),
                tuple(_definition(row) for row in definitions),
                tuple(Import(str(target), int(line)) for target, line in imports),
            )

        return await self._units.look(look)

    async def function_lines(
        self, tenant: str, project: Project, paths: Sequence[FilePath]
    ) -> dict[FilePath, list[tuple[int, int]]]:
        scope = {"tenant": tenant, "project": project}
        query = self._queries["functions_of_file"]

        def look(connection: SqlConnection) -> dict[FilePath, list[tuple[int, int]]]:
            asked = [(path, connection.execute(query, {**scope, "path": path})) for path in paths]
            return {path: [(int(row[0]), int(row[1])) for row in rows] for path, rows in asked}

        return await self._units.look(look)

    async def uses_of_file(self, tenant: str, project: Project, path: FilePath) -> list[SymbolUse]:
        keys = {"tenant": tenant, "project": project, "path": path}
        return await self._units.look(
            lambda connection: [
                _use(row) for row in connection.execute(self._queries["references_of_file"], keys)
            ]
        )

    async def files_named(
        self, tenant: str, project: Project, name: str, limit: int
    ) -> list[FilePath]:
        wanted = name.strip("/").lower()
        base_name = wanted.rpartition("/")[2]
        values = {"tenant": tenant, "project": project, "base_name": base_name}
        rows = await self._units.look(
            lambda connection: connection.execute(
                self._queries["files_with_base_name"],
                {**values, "limit": limit if wanted == base_name else WORD_FILES},
            ).fetchall()
        )
        ending = f"/{wanted}"
        return [FilePath(path) for (path,) in rows if path.lower().endswith(ending)][:limit]

    async def files_by_words(
        self, tenant: str, project: Project, words: Sequence[str], limit: int
    ) -> list[PathMatch]:
        def look(connection: SqlConnection) -> list[PathMatch]:
            asked = [
                (
                    word,
                    connection.execute(
                        self._queries["files_with_path_word"],
                        {"tenant": tenant, "project": project, "word": word, "limit": WORD_FILES},
                    ),
                )
                for word in _distinct(words)
            ]
            matched: dict[str, list[str]] = {}
            rarity: dict[str, float] = {}
            for word, rows in asked:
                paths = [str(path) for (path,) in rows]
                if len(paths) >= WORD_FILES:
                    continue
                rarity[word] = 1 / max(1, len(paths))
                for path in paths:
                    matched.setdefault(path, []).append(word)
            ranked = sorted(
                matched.items(),
                key=lambda item: (
                    -len(item[1]),
                    -sum(rarity[word] for word in item[1]),
                    len(item[0]),
                    item[0],
                ),
            )
            return [PathMatch(FilePath(path), tuple(found)) for path, found in ranked[:limit]]

        return await self._units.look(look)

    async def chunks_at(
        self, tenant: str, project: Project, places: Sequence[tuple[FilePath, int]]
    ) -> list[ChunkPlace]:
        def look(connection: SqlConnection) -> list[ChunkPlace]:
            asked = [
                (
                    path,
                    connection.execute(
                        self._queries["chunk_at_line"],
                        {"tenant": tenant, "project": project, "path": path, "line": line},
                    ),
                )
                for path, line in places
            ]
            found = []
            for path, rows in asked:
                row = rows.fetchone()
                if row is not None:
                    found.append(ChunkPlace(key_of(path, row[0]), path, *row[1:]))
            return found

        return await self._units.look(look)


def _scope(tenant: str, project: Project, prefix: str) -> dict[str, str]:
    return {
        "tenant": tenant,
        "project": project,
        "prefix": prefix,
        "upper": upper_bound(prefix),
    }


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names to ask for; NUL is in no name, and PostgreSQL refuses it."""
    return list(dict.fromkeys(name for name in names if name and "\0" not in name))[:MAX_NAMES]


def _definition(row: Row) -> SymbolDefinition:
    return SymbolDefinition(FilePath(row[0]), str(row[10]), Definition(*row[1:10]))


def _use(row: Row) -> SymbolUse:
    lines: list[int] = []
    calls: list[int] = []
    imports: list[int] = []
    for entry in str(row[2]).split(","):
        line = int(entry.rstrip("ci"))
        lines.append(line)
        if entry[-1] == "c":
            calls.append(line)
        elif entry[-1] == "i":
            imports.append(line)
    return SymbolUse(FilePath(row[0]), str(row[1]), tuple(lines), tuple(calls), tuple(imports))
