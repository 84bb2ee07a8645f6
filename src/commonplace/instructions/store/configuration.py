"""Configuration files: gates.json, owners.json and PROMPT-CRITERIA.json, read when they change."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import orjson

from commonplace.instructions.engine.normalise import OwnerOf
from commonplace.instructions.errors import INVALID_CRITERIA, INVALID_GATES
from commonplace.kernel.errors import INVALID_CONFIG, Code, CommonplaceError
from commonplace.kernel.json_types import Json

if TYPE_CHECKING:
    from commonplace.instructions.engine.policy.gates import PolicyGate
    from commonplace.instructions.engine.policy.prompt_review import (
        CompiledPattern,
        PromptCriteria,
    )

T = TypeVar("T")


class ConfigurationFile(Generic[T]):
    """An optional JSON file in the first folder that has it, parsed when it changes."""

    def __init__(
        self, name: str, folders: tuple[Path, ...], parse: Callable[[Json], T], invalid: Code
    ) -> None:
        self.name = name
        self._paths = tuple(str(folder / name) for folder in folders)
        self._parse = parse
        self._invalid = invalid
        self._known: tuple[str, tuple[int, int, int], T | Exception] | None = None

    def read(self) -> T | None:
        """Return the parsed file, or None if there is none. Raises the file's error code."""
        for path in self._paths:
            if not os.access(path, os.F_OK):  # faster than a failing stat
                continue
            try:
                status = os.stat(path)  # noqa: PTH116 (strings are faster)
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
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            hint = "Correct the file; it is read again when it changes."
            return CommonplaceError(
                self._invalid,
                f"{self.name}: {str(error)[:300]}",
                hint=hint,
                details={"file": self.name},
            )


@dataclass(frozen=True, slots=True)
class OwnerRules:
    """Patterns of ids with their owners, in order, and why other rules cannot be used."""

    rules: tuple[tuple[CompiledPattern, str], ...]
    unusable: tuple[str, ...]


class CatalogueConfiguration:
    """Configuration files of a catalogue: instruction folder first, then data folder."""

    def __init__(self, directory: Path, data: Path) -> None:
        folders = (directory, data)
        documents = Path.cwd() / "docs"  # the contract keeps the criteria there
        self._owners = ConfigurationFile("owners.json", folders, _parse_owners, INVALID_CONFIG)
        self._gates = ConfigurationFile("gates.json", folders, _parse_gates, INVALID_GATES)
        self._criteria = ConfigurationFile(
            "PROMPT-CRITERIA.json",
            (documents, *folders),
            _parse_criteria,
            INVALID_CRITERIA,
        )
        self._builtin: PromptCriteria | None = None

    def owners(self) -> OwnerOf:
        """Return the function that finds the owner of an id: the first matching rule.

        A broken owners.json is reported by `problems`, and hides no instruction.
        """
        try:
            owners = self._owners.read()
        except CommonplaceError:
            owners = None
        rules = owners.rules if owners is not None else ()
        return lambda id_: next((owner for pattern, owner in rules if pattern.search(id_)), None)

    def gates(self) -> tuple[PolicyGate, ...] | None:
        """Return the gates, or None if there is no gates.json. Raises INVALID_GATES."""
        return self._gates.read()

    def criteria(self) -> PromptCriteria:
        """Return the criteria of the file, or the built-in ones. Raises INVALID_CRITERIA."""
        chosen = self._criteria.read()
        if chosen is not None:
            return chosen
        if self._builtin is None:
            self._builtin = _parse_criteria(
                orjson.loads((Path(__file__).parent / "criteria.json").read_bytes())
            )
        return self._builtin

    def problems(self) -> dict[str, str]:
        """Return what is wrong with each file."""
        found = {}
        for file in (self._owners, self._gates, self._criteria):
            try:
                value = file.read()
            except CommonplaceError as error:
                found[file.name] = error.message
            else:
                if isinstance(value, OwnerRules) and value.unusable:
                    found[file.name] = f"{file.name}: ignored: {'; '.join(value.unusable[:5])}"
        return found


def _parse_owners(raw: Json) -> OwnerRules:
    import re2

    listed = raw.get("ownership") if isinstance(raw, dict) else None
    if not isinstance(listed, list):
        raise ValueError('expected {"ownership": [{"pattern": ..., "owner": ...}]}')
    options = re2.Options()
    options.log_errors = False
    rules: list[tuple[CompiledPattern, str]] = []
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
    return OwnerRules(tuple(rules), tuple(unusable))


def _parse_gates(raw: Json) -> tuple[PolicyGate, ...]:
    from commonplace.instructions.engine.policy.gates import parse_gates  # only if there are any

    return parse_gates(raw)


def _parse_criteria(raw: Json) -> PromptCriteria:
    from commonplace.instructions.engine.policy.prompt_review import parse_criteria

    return parse_criteria(raw)
