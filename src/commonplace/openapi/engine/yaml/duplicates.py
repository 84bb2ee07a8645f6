"""Repeated keys in a YAML text."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.model import DuplicateKey


@dataclass(slots=True)
class _OpenCollection:
    """A mapping or sequence that is being read."""

    pointer: str
    keys: set[str] | None  # None: a sequence
    step: str | int | None  # the key or position of the next value; None: a key comes next

    def end_value(self) -> None:
        self.step = self.step + 1 if self.keys is None and isinstance(self.step, int) else None


def find_duplicate_yaml_keys(text: str, size_limit: int = 2_000_000) -> tuple[DuplicateKey, ...]:
    """Return the keys that occur twice in a mapping.

    This is slow, so texts above `size_limit` are not searched.
    """
    if len(text) > size_limit:
        return ()
    import yaml

    duplicates: list[DuplicateKey] = []
    open_collections: list[_OpenCollection] = []
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            current = open_collections[-1] if open_collections else None
            if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                pointer = f"{current.pointer}/{escape_token(str(current.step))}" if current else ""
                mapping = isinstance(event, yaml.MappingStartEvent)
                open_collections.append(
                    _OpenCollection(pointer, set(), None)
                    if mapping
                    else _OpenCollection(pointer, None, 0)
                )
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                open_collections.pop()
                if open_collections:
                    open_collections[-1].end_value()
            elif current and isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
                if current.keys is None or current.step is not None:
                    current.end_value()
                    continue
                key = str(getattr(event, "value", ""))
                if key in current.keys:
                    pointer = f"{current.pointer}/{escape_token(key)}"
                    line = event.start_mark.line + 1 if event.start_mark else None
                    duplicates.append(DuplicateKey(key, pointer, line))
                current.keys.add(key)
                current.step = key
    except yaml.YAMLError:
        pass  # report what was found up to the error
    return tuple(duplicates)
