"""Detect damage in a SQLite file: its structure, and content against stored digests.

SQLite has no page checksums. Its own check finds damaged structure; damage inside a value is found
where a digest of the value is stored. Values of derived tables without a digest are not covered:
they can be rebuilt.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import apsw

Remedy = Literal["rebuild", "restore"]
Value = bytes | str | int | float | None

SLICE_ROWS = 32
OPERATIONS = 10_000  # of SQLite's virtual machine, between two calls of `pause`
BUSY_MS = 30_000
_TREE = re.compile(r"Tree (\d+)")
_INDEX = re.compile(r"(?:missing from|entries in|entry in) index (\S+)")


@dataclass(frozen=True, slots=True)
class DatabaseDamage:
    """A problem in a part of a file.

    `rebuild`: the part can be derived again; `restore`: only a backup has it.
    """

    file: str
    part: str
    problem: str
    remedy: Remedy


@dataclass(frozen=True, slots=True)
class StoredDigest:
    """Rows of a table whose values are checked against a digest in the same row.

    `columns` are SQL expressions.
    """

    table: str
    columns: tuple[str, ...]
    matches: Callable[[Sequence[Value]], bool]


@dataclass(frozen=True, slots=True)
class InvalidRows:
    """Rows that a condition in SQL identifies as malformed."""

    table: str
    condition: str
    problem: str


@dataclass(frozen=True, slots=True)
class DatabaseChecks:
    """How to check one file. Tables whose name begins with one of `derived` can be rebuilt."""

    path: Path
    derived: tuple[str, ...] = ()
    digests: tuple[StoredDigest, ...] = ()
    invalid: tuple[InvalidRows, ...] = ()

    def remedy(self, table: str) -> Remedy:
        """Return what helps against damage of a table."""
        return "rebuild" if table.startswith(self.derived) else "restore"


def find_damage(
    checks: DatabaseChecks, path: Path | None = None, *, pause: Callable[[], None] = lambda: None
) -> list[DatabaseDamage]:
    """Check a file, or a copy of it at `path`. A missing file is undamaged.

    `pause` is called often; it may sleep, or raise to stop the check.
    """
    place = path or checks.path
    if not place.exists():
        return []
    if place.stat().st_size == 0 and not Path(f"{place}-wal").exists():
        return []
    try:
        with contextlib.closing(_open(place, pause)) as connection:
            return list(_DamageScan(checks, connection, pause).run())
    except (apsw.NotADBError, apsw.CorruptError) as broken:
        return [DatabaseDamage(checks.path.name, "the file", str(broken), "restore")]


def _open(path: Path, pause: Callable[[], None]) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_MS)
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA cache_size = -2048")

    def progress() -> bool:
        pause()
        return False

    connection.set_progress_handler(progress, OPERATIONS)
    return connection


@dataclass(slots=True)
class _DamageScan:
    """One pass over an open file."""

    checks: DatabaseChecks
    connection: apsw.Connection
    pause: Callable[[], None]

    def run(self) -> Iterator[DatabaseDamage]:
        rows = self.connection.execute(
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"
        ).fetchall()
        tables = [str(name) for kind, name, _, root, _ in rows if kind == "table" and root]
        roots = {int(root): str(name) for _, name, _, root, _ in rows if root}
        indexes = {str(name) for kind, name, *_ in rows if kind == "index"}
        for table in tables:
            yield from self._check_structure(table, roots, indexes)
        yield from self._check_free_pages()
        for digest in self.checks.digests:
            if digest.table in tables:
                yield from self._check_digests(digest)
        for rule in self.checks.invalid:
            if rule.table in tables:
                yield from self._check_rows(rule)

    def _check_structure(
        self, table: str, roots: dict[int, str], indexes: set[str]
    ) -> Iterator[DatabaseDamage]:
        problems: dict[str, list[str]] = {}
        try:
            for (line,) in self.connection.execute(f'PRAGMA integrity_check("{table}")'):
                if line != "ok":
                    problems.setdefault(_find_damaged_part(line, table, roots), []).append(line)
        except (apsw.CorruptError, apsw.NotADBError) as broken:
            problems.setdefault(table, []).append(str(broken))
        for part, lines in problems.items():
            more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
            remedy: Remedy = "rebuild" if part in indexes else self.checks.remedy(table)
            yield DatabaseDamage(self.checks.path.name, part, lines[0] + more, remedy)

    def _check_free_pages(self) -> Iterator[DatabaseDamage]:
        """Check the list of free pages: damage there breaks later writes."""
        try:
            lines = [
                line
                for (line,) in self.connection.execute("PRAGMA quick_check")
                if line.startswith("Freelist")
            ]
        except (apsw.CorruptError, apsw.NotADBError):
            return  # the check of structure reported the table
        if lines:
            yield DatabaseDamage(self.checks.path.name, "free pages", lines[0], "rebuild")

    def _check_digests(self, digest: StoredDigest) -> Iterator[DatabaseDamage]:
        columns = ", ".join(("rowid", *digest.columns))
        statement = (
            f"SELECT {columns} FROM {digest.table} NOT INDEXED "  # noqa: S608 - our own tables
            f"WHERE rowid > ? ORDER BY rowid LIMIT {SLICE_ROWS}"
        )
        after, first, wrong = -(2**63), 0, 0
        while True:
            count = 0
            try:
                for row in self.connection.execute(statement, (after,)):
                    after, count = row[0], count + 1
                    if not digest.matches(row[1:]):
                        wrong += 1
                        first = first if wrong > 1 else after
                    self.pause()
            except (apsw.CorruptError, apsw.NotADBError):
                return  # the check of structure reported the table
            if count < SLICE_ROWS:
                break
        if wrong:
            problem = f"the content of {wrong} rows does not match its digest (first: row {first})"
            yield DatabaseDamage(
                self.checks.path.name, digest.table, problem, self.checks.remedy(digest.table)
            )

    def _check_rows(self, rule: InvalidRows) -> Iterator[DatabaseDamage]:
        try:
            row = self.connection.execute(
                f"SELECT count(*) FROM {rule.table} WHERE {rule.condition}"  # noqa: S608
            ).fetchone()
        except (apsw.CorruptError, apsw.NotADBError):
            return
        if row and row[0]:
            yield DatabaseDamage(
                self.checks.path.name,
                rule.table,
                f"{rule.problem} in {row[0]} rows",
                self.checks.remedy(rule.table),
            )


def _find_damaged_part(line: str, table: str, roots: dict[int, str]) -> str:
    """Return the table or index that a line of SQLite's check is about."""
    if (found := _TREE.search(line)) is not None:
        return roots.get(int(found[1]), table)
    if (found := _INDEX.search(line)) is not None:
        return found[1]
    return table
