"""Files that configure the catalogue: gates.json, owners.json and PROMPT-CRITERIA.json, read
again when they change.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson

from commonplace.instructions.engine import gates as gating
from commonplace.instructions.engine import review as reviewing
from commonplace.instructions.engine.normalise import OwnerOf
from commonplace.instructions.errors import INVALID_CRITERIA, INVALID_GATES
from commonplace.kernel.errors import INVALID_CONFIG, Code, CommonplaceError

T = TypeVar("T")


class ConfigurationFile(Generic[T]):
    """One optional JSON file in the first of several folders that has it; parsed once per
    content.
    """

    def __init__(
        self, name: str, folders: tuple[Path, ...], parse: Callable[[Any], T], invalid: Code
    ) -> None:
        self.name = name
        self._paths = tuple(str(folder / name) for folder in folders)
        self._parse = parse
        self._invalid = invalid
        self._known: tuple[str, tuple[int, int, int], T | Exception] | None = None

    def read(self) -> T | None:
        """Its value, None where there is no such file.

        Raises the domain's error when it is broken.
        """
        for path in self._paths:
            if not os.access(path, os.F_OK):  # the usual case: asking costs a third of failing
                continue
            try:
                status = os.stat(path)  # noqa: PTH116 (asked for with every add: a string is a third of a path)
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

    def _load(self, path: str) -> T | Exception:
        try:
            return self._parse(orjson.loads(Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")))
        except (
            OSError,
            ValueError,
            TypeError,
            LookupError,
            RecursionError,
        ) as error:  # whatever it holds, only it is broken
            hint = "Mend the file; it is read again when it changes."
            return CommonplaceError(
                self._invalid,
                f"{self.name}: {str(error)[:300]}",
                hint=hint,
                details={"file": self.name},
            )


@dataclass(frozen=True, slots=True)
class Owners:
    """Patterns of ids with their owners, in order, and why other rules are left out: one bad
    rule does not unseat the others.
    """

    rules: tuple[tuple[Any, str], ...]
    unusable: tuple[str, ...]


class Configuration:
    """All of them."""

    def __init__(self, directory: Path, data: Path) -> None:
        folders = (directory, data)
        documents = Path(os.path.abspath("docs"))  # noqa: PTH100 - of the working directory, where contract 001 has the criteria
        self._owners = ConfigurationFile("owners.json", folders, _parse_owners, INVALID_CONFIG)
        self.gates = ConfigurationFile("gates.json", folders, gating.parse_gates, INVALID_GATES)
        self._criteria = ConfigurationFile(
            "PROMPT-CRITERIA.json",
            (documents, *folders),
            reviewing.parse_criteria,
            INVALID_CRITERIA,
        )
        self._builtin: reviewing.Criteria | None = None

    def owners(self) -> OwnerOf:
        """Who owns an id: the first rule whose pattern matches.

        A broken owners.json hides no instruction: `problems` reports it.
        """
        try:
            owners = self._owners.read()
        except CommonplaceError:
            owners = None
        rules = owners.rules if owners is not None else ()
        return lambda id_: next((owner for pattern, owner in rules if pattern.search(id_)), None)

    def criteria(self) -> reviewing.Criteria:
        """The rules of the file, or our own."""
        chosen = self._criteria.read()
        if chosen is not None:
            return chosen
        if self._builtin is None:
            self._builtin = reviewing.parse_criteria(
                orjson.loads((Path(__file__).parent / "criteria.json").read_bytes())
            )
        return self._builtin

    def problems(self) -> dict[str, str]:
        """Files that are broken, and why."""
        found = {}
        for file in (self._owners, self.gates, self._criteria):
            try:
                value = file.read()
            except CommonplaceError as error:
                found[file.name] = error.message
            else:
                if isinstance(value, Owners) and value.unusable:
                    found[file.name] = f"{file.name}: left out: {'; '.join(value.unusable[:5])}"
        return found


def _parse_owners(raw: Any) -> Owners:
    import re2

    listed = raw.get("ownership") if isinstance(raw, dict) else None
    if not isinstance(listed, list):
        raise ValueError('expected {"ownership": [{"pattern": ..., "owner": ...}]}')
    options = re2.Options()
    options.log_errors = False
    rules: list[tuple[Any, str]] = []
    unusable: list[str] = []
    for number, item in enumerate(listed, 1):
        if (
            not isinstance(item, dict)
            or not isinstance(item.get("pattern"), str)
            or not isinstance(item.get("owner"), str)
        ):
            unusable.append(f"rule {number} needs a pattern and an owner")
            continue
        try:
            rules.append((re2.compile(item["pattern"], options), item["owner"]))
        except re2.error:
            unusable.append(f"the pattern {item['pattern'][:80]!r} of rule {number} cannot be run")
    return Owners(tuple(rules), tuple(unusable))
