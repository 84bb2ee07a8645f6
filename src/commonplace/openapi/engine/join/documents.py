"""Merging of documents: collisions are settled by strategy, references are rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.references.renaming import (
    Renames,
    add_discriminator_mappings,
    find_subtypes,
    rename_components,
)
from commonplace.openapi.engine.join.duplicates import merge_duplicate_schemas
from commonplace.openapi.engine.join.meaning import Meaning
from commonplace.openapi.engine.join.operations import (
    Place,
    collect_operation_ids,
    rename_operation_ids,
)
from commonplace.openapi.engine.join.roots import prepare_roots
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.engine.require import require_list, require_object
from commonplace.openapi.errors import JOIN_COLLISION, MIXED_VERSIONS
from commonplace.openapi.model import METHODS, Family

Strategy = Literal[
    "accept-left",
    "accept-right",
    "fail",
    "rename-left",
    "rename-right",
    "deduplicate",
    "deduplicate-or-rename",
    "fail-on-paths",
]
STRATEGIES: tuple[Strategy, ...] = (
    "accept-left",
    "accept-right",
    "fail",
    "rename-left",
    "rename-right",
    "deduplicate",
    "deduplicate-or-rename",
    "fail-on-paths",
)
PATH_STRATEGIES: tuple[Strategy, ...] = ("accept-left", "accept-right", "fail", "fail-on-paths")
_SECTIONS_3 = (
    "schemas",
    "responses",
    "parameters",
    "examples",
    "requestBodies",
    "headers",
    "links",
    "callbacks",
    "pathItems",
    "mediaTypes",
)
_SECTIONS_2 = ("definitions", "parameters", "responses")
_SCHEMES_3 = ("securitySchemes",)
_SCHEMES_2 = ("securityDefinitions",)
_ITEMS = {"paths": "path", "webhooks": "webhook"}
_OPERATION_KEYS = frozenset(METHODS)
Choice = Literal["left", "right", "both"]


@dataclass(frozen=True, slots=True)
class JoinPart:
    """A document to join. `name` tells where it came from, for messages and new names."""

    data: JsonObject
    version: str
    family: Family
    name: str


@dataclass(slots=True)
class JoinedDocument:
    """The merged document and what was decided on the way."""

    document: JsonObject
    collisions: int = 0
    warnings: list[str] = field(default_factory=list)

    @property
    def path_count(self) -> int:
        """Return how many paths the document has."""
        return sum(not name.startswith("x-") for name in self._paths)

    @property
    def operation_count(self) -> int:
        """Return how many operations the paths have."""
        items = [item for item in self._paths.values() if isinstance(item, dict)]
        return sum(method in item for item in items for method in METHODS)

    @property
    def _paths(self) -> JsonObject:
        return self.document.get("paths") or {}


def join(
    parts: list[JoinPart],
    *,
    path_strategy: Strategy = "fail",
    schema_strategy: Strategy = "accept-left",
    merge_duplicates: bool = False,
) -> JoinedDocument:
    """Merge all parts into one document, from left to right.

    `merge_duplicates` also merges equal schemas with different names.
    """
    _check_versions(parts)
    for part in parts:
        _check_shape(part)
    path_strategy = "fail" if path_strategy == "fail-on-paths" else path_strategy
    schema_strategy = "accept-left" if schema_strategy == "fail-on-paths" else schema_strategy
    result = JoinedDocument(parts[0].data)
    left_name = _label(parts[0])
    labels = {left_name}
    for part in parts[1:]:
        label = _label(part)
        number = 2
        while label in labels:
            label, number = f"{_label(part)}{number}", number + 1
        labels.add(label)
        _Pair(
            result, left_name, part.data, label, part.family, path_strategy, schema_strategy
        ).join()
    if merge_duplicates:
        result.document, removed = merge_duplicate_schemas(
            result.document, old=parts[0].family is Family.V20
        )
        if removed:
            names = ", ".join(
                f"{name!r} is {kept!r}" for name, kept in sorted(removed.items())[:10]
            )
            result.warnings.append(
                f"{len(removed)} schemas that others say too were merged with them: {names}."
            )
    return result


def _check_versions(parts: list[JoinPart]) -> None:
    """Raise MIXED_VERSIONS unless all parts have the same minor version."""
    families = list(dict.fromkeys(part.family for part in parts))
    if len(families) == 1:
        return
    versions = ", ".join(f"{part.name} is {part.version}" for part in parts)
    target = max(families)
    raise CommonplaceError(
        MIXED_VERSIONS,
        f"The documents have different versions: {versions}.",
        hint=f"Convert them first, with oas_convert and the target {target.value}.",
        details={"versions": [part.version for part in parts], "target": target.value},
    )


def _check_shape(part: JoinPart) -> None:
    """Raise INVALID_SPEC where merging needs an object or a list and finds something else."""
    data, old = part.data, part.family is Family.V20
    for key in ("paths", "webhooks"):
        require_object(data.get(key), f"/{key}")
    for key in ("servers", "tags"):
        require_list(data.get(key), f"/{key}")
    components = data if old else data.get("components")
    base = "" if old else "/components"
    if isinstance(components, dict):
        for section in (*_SECTIONS_2, *_SCHEMES_2) if old else (*_SECTIONS_3, *_SCHEMES_3):
            require_object(components.get(section), f"{base}/{section}")


def _label(part: JoinPart) -> str:
    """Return a word for new names: the file's stem, or the title."""
    stem = re.split(r"[/\\]", part.name)[-1].rsplit(".", 1)[0] if part.name != "content" else ""
    if not stem:
        info = part.data.get("info")
        stem = str(info.get("title", "")) if isinstance(info, dict) else ""
    return re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_") or "Right"


class _Pair:
    """Merges one document into the result of those before it."""

    def __init__(
        self,
        result: JoinedDocument,
        left_name: str,
        right: JsonObject,
        label: str,
        family: Family,
        paths: Strategy,
        schemas: Strategy,
    ) -> None:
        self.result = result
        self.left = result.document
        self.left_name = left_name
        self.right = right
        self.label = label
        self.old = family is Family.V20
        self.path_strategy = paths
        self.schema_strategy = schemas

    def join(self) -> None:
        # In this order, so that each step sees the names and the security that the documents have
        # in the end.
        self._rename_components(_SCHEMES_2 if self.old else _SCHEMES_3)
        self.left, self.right = prepare_roots(
            self.left, self.right, self.result.warnings, old=self.old
        )
        self._rename_components(self._sections())
        meaning = Meaning(self.left, self.right, old=self.old)
        choices = {
            section: self._choose(section, kind, meaning) for section, kind in _ITEMS.items()
        }
        self._rename_operations(choices)
        document = dict(self.left)
        for section, chosen in choices.items():
            if section == "paths" or section in self.left or section in self.right:
                document[section] = self._merge_items(section, chosen)
        self._merge_components(document)
        self._merge_tags(document)
        for key, value in self.right.items():
            document.setdefault(key, value)
        self.result.document = document

    def _container(self, document: JsonObject) -> JsonObject:
        found = document if self.old else document.get("components")
        return found if isinstance(found, dict) else {}

    def _sections(self) -> tuple[str, ...]:
        return _SECTIONS_2 if self.old else _SECTIONS_3

    def _rename_components(self, sections: tuple[str, ...]) -> None:
        """Rename components that differ between the sides, where the strategy says so."""
        direct, indirect = Meaning(self.left, self.right, old=self.old).find_differing(sections)
        renames: Renames = {}
        free = self._free_names(sections)
        strategy = self.schema_strategy
        if sections in (_SCHEMES_2, _SCHEMES_3) and strategy != "fail":
            strategy = "rename-right"  # a choice between them would change who may call
        label = self.left_name if strategy == "rename-left" else self.label
        for section, name in direct:
            kind = _kind(section)
            self.result.collisions += 1
            if strategy in ("fail", "deduplicate"):
                raise self._collision(kind, name)
            outcome = {
                "accept-left": "the left one was kept",
                "accept-right": "the right one was kept",
            }.get(strategy)
            if outcome is None:
                new = renames.setdefault(section, {})[name] = free(section, f"{name}_{label}")
                outcome = f"one is now {new!r}"
            self.result.warnings.append(
                f"{kind} {name!r} differs between the documents: {outcome}."
            )
        # Where one side is chosen, equal text on top of it is right as it is; where both stay, each
        # needs its own.
        for section, name in indirect if renames else ():
            self.result.collisions += 1
            new = renames.setdefault(section, {})[name] = free(section, f"{name}_{label}")
            self.result.warnings.append(
                f"{_kind(section)} {name!r} refers to what differs between the documents: one is "
                f"now {new!r}."
            )
        if renames and strategy == "rename-left":
            self.left = self._rename(self.left, renames)
        elif renames:
            self.right = self._rename(self.right, renames)

    def _rename(self, document: JsonObject, renames: Renames) -> JsonObject:
        if not self.old:
            return rename_components(
                add_discriminator_mappings(document, renames.get("schemas", {})), renames, old=False
            )
        definitions = self._container(document).get("definitions") or {}
        names = renames.get("definitions", {})
        for parent, children in find_subtypes(definitions, old=True).items():
            schema = definitions.get(parent)
            for name in (
                sorted(children & names.keys())
                if isinstance(schema, dict) and "discriminator" in schema
                else ()
            ):
                self.result.warnings.append(
                    f"{name!r} is a value of the discriminator of {parent!r} and is now "
                    f"{names[name]!r}: 2.0 cannot map one to the other."
                )
        return rename_components(document, renames, old=True)

    def _free_names(self, sections: tuple[str, ...]) -> Callable[[str, str], str]:
        """Return a function that makes names which neither document has, each once."""
        sides = (self._container(self.left), self._container(self.right))
        taken = {
            section: {name for side in sides for name in side.get(section) or ()}
            for section in sections
        }

        def free(section: str, wanted: str) -> str:
            name = _free_name(wanted, taken[section])
            taken[section].add(name)
            return name

        return free

    def _collision(self, kind: str, name: str) -> CommonplaceError:
        return CommonplaceError(
            JOIN_COLLISION,
            f"Both documents define {kind} {name!r}, differently.",
            hint=f"Choose another strategy: "
            f"{', '.join(PATH_STRATEGIES if kind in _ITEMS.values() else STRATEGIES)}.",
            details={"kind": kind, "name": name},
        )

    def _choose(self, section: str, kind: str, meaning: Meaning) -> dict[str, Choice]:
        """Decide for each path or webhook of both documents which one to keep."""
        left, right = self.left.get(section) or {}, self.right.get(section) or {}
        choices: dict[str, Choice] = {}
        for name in right:
            if name not in left:
                continue
            if meaning.are_equal(left[name], right[name], "path_item"):
                choices[name] = "left"
            elif _merge_disjoint(left[name], right[name]) is not None:
                choices[name] = "both"
                self.result.warnings.append(f"{kind} {name!r} has operations from both documents.")
            else:
                self.result.collisions += 1
                if self.path_strategy not in ("accept-left", "accept-right"):
                    raise self._collision(kind, name)
                choices[name] = "left" if self.path_strategy == "accept-left" else "right"
                self.result.warnings.append(
                    f"{kind} {name!r} differs between the documents: the {choices[name]} one was "
                    f"kept."
                )
        return choices

    def _rename_operations(self, choices: dict[str, dict[str, Choice]]) -> None:
        """Rename operation ids of the right side that the left side has too.

        Links to operations that are dropped are pointed to those that replace them.
        """
        left, right = collect_operation_ids(self.left), collect_operation_ids(self.right)
        left_stays = {
            place: name for place, name in left.items() if self._is_kept(place, "left", choices)
        }
        right_stays = {
            place: name for place, name in right.items() if self._is_kept(place, "right", choices)
        }
        used = set(left_stays.values())
        taken = {*used, *right_stays.values()}
        names: dict[str, str] = {}
        for name in right_stays.values():
            if name in used and name not in names:
                names[name] = _free_name(f"{name}_{self.label}", taken)
                taken.add(names[name])
                self.result.warnings.append(
                    f"operation {name!r} exists on both sides: the right one is now "
                    f"{names[name]!r}."
                )
        replaced = {
            name: right_stays[place]
            for place, name in left.items()
            if place not in left_stays and place in right_stays
        }
        self.left = rename_operation_ids(
            self.left, {name: names.get(new, new) for name, new in replaced.items()}
        )
        dropped = {
            name: left_stays[place]
            for place, name in right.items()
            if place not in right_stays and place in left_stays
        }
        self.right = rename_operation_ids(self.right, {**dropped, **names})

    def _is_kept(self, place: Place, side: Choice, choices: dict[str, dict[str, Choice]]) -> bool:
        """Tell whether an operation of one side will be in the result."""
        if place[0] in choices:
            return choices[place[0]].get(place[1], side) in (side, "both")
        _, section, name = place[:3]
        other = self.right if side == "left" else self.left
        kept: Choice = "right" if self.schema_strategy == "accept-right" else "left"
        return side == kept or name not in (self._container(other).get(section) or {})

    def _merge_items(self, section: str, choices: dict[str, Choice]) -> JsonObject:
        left, right = self.left.get(section) or {}, self.right.get(section) or {}
        merged = dict(left)
        for name, item in right.items():
            choice = choices.get(name, "right")
            if choice != "left":
                merged[name] = _merge_disjoint(left[name], item) if choice == "both" else item
        return merged

    def _merge_components(self, document: JsonObject) -> None:
        container = document if self.old else dict(self._container(document))
        for section in (*self._sections(), *(_SCHEMES_2 if self.old else _SCHEMES_3)):
            left, right = (
                self._container(self.left).get(section) or {},
                self._container(self.right).get(section),
            )
            if isinstance(right, dict):
                container[section] = (
                    {**left, **right}
                    if self.schema_strategy == "accept-right"
                    else {**left, **_without_keys_of(left, right)}
                )
        if not self.old and container:
            for key, value in self._container(self.right).items():
                container.setdefault(key, value)
            document["components"] = container

    def _merge_tags(self, document: JsonObject) -> None:
        tags = [*(self.left.get("tags") or []), *(self.right.get("tags") or [])]
        names: set[str] = set()
        kept = []
        for tag in tags:
            name = str(tag.get("name")) if isinstance(tag, dict) else ""
            if name not in names:
                names.add(name)
                kept.append(tag)
        if kept:
            document["tags"] = kept


def _kind(section: str) -> str:
    return {
        "securitySchemes": "security scheme",
        "securityDefinitions": "security scheme",
        "requestBodies": "requestBody",
    }.get(section, section.rstrip("s"))


def _free_name(name: str, taken: set[str]) -> str:
    new, number = name, 2
    while new in taken:
        new, number = f"{name}{number}", number + 1
    return new


def _without_keys_of(known: JsonObject, other: JsonObject) -> JsonObject:
    return {key: value for key, value in other.items() if key not in known}


def _merge_disjoint(left: Json, right: Json) -> JsonObject | None:
    """Merge two path items without common operations that agree on everything else.

    Servers that differ move to the operations. Returns None if the items cannot be merged.
    """
    if (
        not isinstance(left, dict)
        or not isinstance(right, dict)
        or "$ref" in left
        or "$ref" in right
    ):
        return None
    if (
        left.keys() & right.keys() & _OPERATION_KEYS
        or "additionalOperations" in left
        or "additionalOperations" in right
    ):
        return None
    if not same_json(left.get("servers"), right.get("servers")):
        left, right = _move_servers_to_operations(left), _move_servers_to_operations(right)
    rest_left = {key: value for key, value in left.items() if key not in _OPERATION_KEYS}
    rest_right = {key: value for key, value in right.items() if key not in _OPERATION_KEYS}
    return {**left, **right} if same_json(rest_left, rest_right) else None


def _move_servers_to_operations(item: JsonObject) -> JsonObject:
    if "servers" not in item:
        return item
    return {
        key: {"servers": item["servers"], **value}
        if key in _OPERATION_KEYS and isinstance(value, dict)
        else value
        for key, value in item.items()
        if key != "servers"
    }
