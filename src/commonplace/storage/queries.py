"""Named SQL statements, loaded from `.sql` files beside the adapter that uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_NAME = re.compile(r"^-- name: *([a-z0-9_]+) *$", re.MULTILINE)


class Queries(Mapping[str, str]):
    """The statements of one `.sql` file, by the name in their `-- name: ...` line.

    Raises ValueError for a duplicate name.
    """

    def __init__(self, text: str, source: str) -> None:
        parts = _NAME.split(text)
        self._source = source
        self._statements: dict[str, str] = {}
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in self._statements:
                raise ValueError(f"{source}: the query {name!r} is defined twice")
            self._statements[name] = body.strip()

    def __getitem__(self, name: str) -> str:
        try:
            return self._statements[name]
        except KeyError:
            raise KeyError(f"{self._source} has no query named {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)

    def __len__(self) -> int:
        return len(self._statements)


def load_queries(package: str, *file_names: str) -> Queries:
    """Load `.sql` files of a package: `load_queries("commonplace.files", "sqlite.sql")`.

    Several files are one set of statements: what both dialects share, and what one adds.
    """
    return Queries(_read(package, file_names), _source(package, file_names))


def load_postgres_queries(package: str, *file_names: str) -> Queries:
    """Load `.sql` files for psycopg, `postgres.sql` by default.

    Parameters are written `:name` as in SQLite's files and reach psycopg as `%(name)s`.
    """
    file_names = file_names or ("postgres.sql",)
    return Queries(postgres_text(_read(package, file_names)), _source(package, file_names))


def _read(package: str, file_names: Sequence[str]) -> str:
    folder = resources.files(package)
    return "\n".join(folder.joinpath(name).read_text("utf-8") for name in file_names)


def _source(package: str, file_names: Sequence[str]) -> str:
    return f"{package}/{' and '.join(file_names)}"


def postgres_text(text: str) -> str:
    """Convert the parameters of SQL text to the style of psycopg, and drop comments."""
    return _PARAMETER.sub(r"%(\1)s", re.sub(r"--(?! name:).*", "", text).replace("%", "%%"))
