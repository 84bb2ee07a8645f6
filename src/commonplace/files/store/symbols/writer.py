"""The symbols of a file, written in the transaction that completes its index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from commonplace.files.model import Job
from commonplace.files.symbols import FileSymbols, IndexVersions
from commonplace.search.code.structure import MAX_REFERENCES, Structure
from commonplace.storage.relational import SqlConnection, SqlRows

MAX_PATH_WORDS = 64
_CLEARED = ("definitions_clear", "references_clear", "imports_clear", "path_words_clear")
_SEPARATORS = str.maketrans(dict.fromkeys("\\/:>", "."))


class SymbolWriter:
    """Replaces what the index knows about a file."""

    def __init__(
        self,
        queries: Mapping[str, str],
        storable: Callable[[str], str],
        versions: IndexVersions | None = None,
    ) -> None:
        """`storable` returns a text as the database can hold it."""
        self._queries = queries
        self._storable = storable
        self.versions = versions or IndexVersions()

    def replace(self, connection: SqlConnection, job: Job, symbols: FileSymbols | None) -> None:
        """Store the symbols of a file; None removes it from the index."""
        place = {"tenant": job.tenant, "project": job.project}
        if symbols is None:
            connection.execute(self._queries["index_record_delete"], {**place, "path": job.path})
            return
        number = self._number(connection, place)
        row = connection.execute(
            self._queries["index_record_put"],
            {
                "number": number,
                "path": job.path,
                "base_name": job.path.rpartition("/")[2].lower(),
                "language": symbols.structure.language,
                "chunker": self.versions.chunker,
                "analysis": self.versions.analysis,
                "grammar_missing": int(symbols.grammar_missing),
                "extracts": self.versions.extracts if symbols.has_extracts else 0,
                "extracts_note": self._storable(symbols.extracts_note),
            },
        ).fetchone()
        assert row is not None
        keys = {"record": int(row[0]), "number": number}
        for name in _CLEARED:
            connection.execute(self._queries[name], {"record": keys["record"]})
        self._add(connection, keys, symbols)

    def forget(self, connection: SqlConnection, tenant: str, project: str) -> None:
        """Remove all files of a project."""
        row = connection.execute(
            self._queries["index_project"], {"tenant": tenant, "project": project}
        ).fetchone()
        if row is not None:
            connection.execute(self._queries["index_records_forget"], {"number": int(row[0])})

    def count_outdated(
        self, connection: SqlConnection, tenant: str | None, project: str | None = None
    ) -> int:
        """Return how many files older versions indexed; of all tenants for the operator."""
        values = self.versions.parameters()
        if tenant is None:
            return _count(connection.execute(self._queries["outdated_everywhere"], values))
        scope = _scope(tenant, project)
        return _count(connection.execute(self._queries["outdated_files"], {**scope, **values}))

    def count_definitions(self, connection: SqlConnection, tenant: str, project: str | None) -> int:
        return _count(connection.execute(self._queries["symbol_counts"], _scope(tenant, project)))

    def _number(self, connection: SqlConnection, place: Mapping[str, str]) -> int:
        """Return the number of a project; a new one is added."""
        row = connection.execute(self._queries["index_project"], place).fetchone()
        if row is None:
            connection.execute(self._queries["index_project_add"], place)
            row = connection.execute(self._queries["index_project"], place).fetchone()
        assert row is not None
        return int(row[0])

    def _add(
        self, connection: SqlConnection, keys: Mapping[str, int], symbols: FileSymbols
    ) -> None:
        structure = symbols.structure
        record = keys["record"]
        rows: tuple[tuple[str, list[dict[str, int | str]]], ...] = (
            ("definition_add", [{**keys, **row} for row in self._definitions(structure)]),
            ("reference_add", [{**keys, **row} for row in self._references(structure)]),
            (
                "import_add",
                [
                    {
                        "record": record,
                        "position": position,
                        "target": self._storable(imported.target),
                        "line": imported.line,
                    }
                    for position, imported in enumerate(structure.imports)
                ],
            ),
            (
                "path_word_add",
                [
                    {**keys, "word": word}
                    for word in dict.fromkeys(symbols.path_words[:MAX_PATH_WORDS])
                ],
            ),
        )
        for name, values in rows:
            if values:
                connection.executemany(self._queries[name], values)

    def _definitions(self, structure: Structure) -> Iterator[dict[str, int | str]]:
        for position, definition in enumerate(structure.definitions):
            name = self._storable(definition.name)
            yield {
                "position": position,
                "folded": name.lower(),
                "name": name,
                "qualified": self._storable(definition.qualified),
                "kind": definition.kind,
                "start": definition.start,
                "end": definition.end,
                "start_line": definition.start_line,
                "end_line": definition.end_line,
                "line": definition.line,
                "signature": self._storable(definition.signature),
            }

    def _references(self, structure: Structure) -> Iterator[dict[str, int | str]]:
        """Yield the uses of names; what a file imports counts as a use of its last part."""
        uses: dict[str, dict[int, str]] = {}
        for reference in structure.references:
            calls = set(reference.calls)
            uses[reference.name] = {line: "c" if line in calls else "" for line in reference.lines}
        for imported in structure.imports:
            name = _last_part(imported.target)
            if name and (name in uses or len(uses) < MAX_REFERENCES):
                uses.setdefault(name, {})[imported.line] = "i"
        for name, lines in uses.items():
            yield {
                "name": self._storable(name),
                "lines": ",".join(f"{line}{mark}" for line, mark in sorted(lines.items())),
            }


def _scope(tenant: str, project: str | None) -> dict[str, str | int]:
    return {"tenant": tenant, "scope": project or "", "every": int(project is None)}


def _count(rows: SqlRows) -> int:
    row = rows.fetchone()
    return int(row[0]) if row else 0


def _last_part(target: str) -> str:
    """Return the name that an import brings: `math` of `./lib/math.js`, `PI` of `std::f64::PI`."""
    parts = [part for part in target.translate(_SEPARATORS).split(".") if part.strip()]
    if "/" in target and len(parts) > 1 and len(parts[-1]) <= 4:  # the extension of a file
        parts.pop()
    name = parts[-1].strip(" {}*;\"'") if parts else ""
    return name if name.isidentifier() else ""
