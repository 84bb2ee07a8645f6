"""Configuration documents: gates.json, owners.json and PROMPT-CRITERIA.json."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

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

OWNERS, GATES, CRITERIA = "owners.json", "gates.json", "PROMPT-CRITERIA.json"
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ConfigurationDocument(Protocol[T_co]):
    """An optional JSON document, parsed when it changes."""

    @property
    def name(self) -> str: ...

    def read(self) -> T_co | None:
        """Return the parsed document, or None if there is none. Raises its error code."""
        ...


def parse_document(
    name: str, content: bytes, parse: Callable[[Json], T], invalid: Code
) -> T | CommonplaceError:
    """Parse a document; whatever is wrong with it is returned as an error."""
    try:
        return parse(orjson.loads(content.removeprefix(b"\xef\xbb\xbf")))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        return _invalid(name, error, invalid)


def _invalid(name: str, error: Exception, invalid: Code) -> CommonplaceError:
    return CommonplaceError(
        invalid,
        f"{name}: {str(error)[:300]}",
        hint="Correct the file; it is read again when it changes.",
        details={"file": name},
    )


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
            content = Path(path).read_bytes()
        except OSError as error:
            return _invalid(self.name, error, self._invalid)
        return parse_document(self.name, content, self._parse, self._invalid)


@dataclass(frozen=True, slots=True)
class OwnerRules:
    """Patterns of ids with their owners, in order, and why other rules cannot be used."""

    rules: tuple[tuple[CompiledPattern, str], ...]
    unusable: tuple[str, ...]


class CatalogueConfiguration:
    """Configuration of a catalogue."""

    def __init__(
        self,
        owners: ConfigurationDocument[OwnerRules],
        gates: ConfigurationDocument[tuple[PolicyGate, ...]],
        criteria: ConfigurationDocument[PromptCriteria],
    ) -> None:
        self._owners = owners
        self._gates = gates
        self._criteria = criteria
        self._builtin: PromptCriteria | None = None

    @classmethod
    def of_folders(cls, directory: Path, data: Path) -> CatalogueConfiguration:
        """Return the configuration in files: instruction folder first, then data folder."""
        folders = (directory, data)
        documents = Path.cwd() / "docs"  # the contract keeps the criteria there
        return cls(
            ConfigurationFile(OWNERS, folders, parse_owners, INVALID_CONFIG),
            ConfigurationFile(GATES, folders, parse_gate_list, INVALID_GATES),
            ConfigurationFile(
                CRITERIA, (documents, *folders), parse_prompt_criteria, INVALID_CRITERIA
            ),
        )

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
            self._builtin = parse_prompt_criteria(
                orjson.loads((Path(__file__).parent / "criteria.json").read_bytes())
            )
        return self._builtin

    def problems(self) -> dict[str, str]:
        """Return what is wrong with each file."""
        found = {}
        documents: tuple[ConfigurationDocument[object], ...] = (
            self._owners,
            self._gates,
            self._criteria,
        )
        for file in documents:
            try:
                value = file.read()
            except CommonplaceError as error:
                found[file.name] = error.message
            else:
                if isinstance(value, OwnerRules) and value.unusable:
                    found[file.name] = f"{file.name}: ignored: {'; '.join(value.unusable[:5])}"
        return found


def parse_owners(raw: Json) -> OwnerRules:
    """Parse owners.json. Raises ValueError."""
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


def parse_gate_list(raw: Json) -> tuple[PolicyGate, ...]:
    """Parse gates.json. Raises ValueError."""
    from commonplace.instructions.engine.policy.gates import parse_gates  # only if there are any

    return parse_gates(raw)


def parse_prompt_criteria(raw: Json) -> PromptCriteria:
    """Parse PROMPT-CRITERIA.json. Raises ValueError."""
    from commonplace.instructions.engine.policy.prompt_review import parse_criteria

    return parse_criteria(raw)
