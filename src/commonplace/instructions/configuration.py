"""Files that configure the catalogue: gates.json, owners.json and PROMPT-CRITERIA.json, read again when they change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson

T = TypeVar("T")


class ConfigurationFile(Generic[T]):
    """One optional JSON file, looked for in the instruction folder first, then in the data folder; parsed once per content."""

    def __init__(self, name: str, folders: tuple[Path, ...], parse: Callable[[Any], T], invalid: Callable[[str, str], Exception]) -> None:
        self.name = name
        self._folders = folders
        self._parse = parse
        self._invalid = invalid
        self._known: tuple[Path, tuple[int, int, int], T | Exception] | None = None

    def read(self) -> T | None:
        """Its value, None where there is no such file. Raises the domain's error when it is broken."""
        for folder in self._folders:
            path = folder / self.name
            try:
                status = path.stat()
            except OSError:
                continue
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._known is None or self._known[:2] != (path, stamp):
                self._known = (path, stamp, self._load(path))
            value = self._known[2]
            if isinstance(value, Exception):
                raise value
            return value
        return None

    def _load(self, path: Path) -> T | Exception:
        try:
            return self._parse(orjson.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf")))
        except (OSError, ValueError) as error:
            return self._invalid(self.name, str(error)[:300])
