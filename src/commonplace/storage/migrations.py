"""Migration files: every component has a folder of numbered `.sql` files and its own version.

A folder (for example `commonplace.files` / `migrations/sqlite`) holds `0001_title.sql`,
`0002_title.sql`, ...; a released file is never edited.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file."""

    version: int
    title: str
    sql: str


def load_migrations(package: str, folder: str) -> tuple[Migration, ...]:
    """Return the files of a folder in order. Raises ValueError if a number is missing."""
    found = []
    for entry in resources.files(package).joinpath(folder).iterdir():
        if entry.name.endswith(".sql"):
            number, _, title = entry.name[: -len(".sql")].partition("_")
            found.append(Migration(int(number), title, entry.read_text("utf-8")))
    found.sort(key=lambda migration: migration.version)
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"{package}/{folder}: migrations must be numbered 1, 2, 3, ...")
    return tuple(found)
