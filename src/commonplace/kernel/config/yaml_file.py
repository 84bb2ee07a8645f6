"""Settings from the YAML file. PyYAML is imported only when there is a file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from commonplace.kernel.config.catalog import (
    children,
    join_name,
    leaves,
    sections,
    type_name,
    type_of,
)
from commonplace.kernel.config.errors import config_error
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.kernel.paths import expand_home
from commonplace.kernel.settings import SettingSpec

if TYPE_CHECKING:
    import yaml


def read_config_file(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the dotted name and the checked value of every setting in a file."""
    document = parse_yaml(path)
    if document is None:
        return
    if not isinstance(document, dict):
        raise config_error(f"{path}: the file must be a map that begins with `settings:`.")
    for key, value in document.items():
        if key != "settings":
            raise config_error(
                f"{path}: unknown key {key!s}.",
                hint="Put all settings below `settings:`.",
                name=str(key),
            )
        yield from _read_section(value, "", path)


def parse_yaml(path: Path) -> Json:
    """Return the value of a YAML file. Raises for duplicate keys: the second would silently win."""
    import yaml

    try:
        return yaml.load(path.read_text("utf-8"), _strict_loader())  # noqa: S506 - a safe loader
    except UnicodeDecodeError:
        raise config_error(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise config_error(f"{path} cannot be read: {error.strerror}.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise config_error(f"{path}{where}: {problem}.") from None


def _strict_loader() -> type[yaml.SafeLoader]:
    """Return a safe loader that refuses duplicate keys."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        pass

    def construct_mapping(
        loader: yaml.SafeLoader, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        keys: set[str | int] = set()
        for key_node, _ in node.value:
            key = loader.construct_object(key_node, deep=True)
            if isinstance(key, (str, int)):
                if key in keys:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"duplicate key {key!r}", key_node.start_mark
                    )
                keys.add(key)
        mapping: dict[Any, Any] = base.construct_mapping(loader, node, deep=True)
        return mapping

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, construct_mapping)
    return Loader


def _read_section(node: Json, place: str, path: Path) -> Iterator[tuple[str, Any]]:
    if node is None:
        return
    section = sections()[place]
    if not isinstance(node, dict):
        name = f"settings.{place}".rstrip(".")
        raise config_error(f"{path}: {name} must be a map, not {type(node).__name__}.", name=name)
    for key, value in node.items():
        name = join_name(place, str(key))
        if name in sections():
            yield from _read_section(value, name, path)
        elif key in section.specs:
            yield name, _check_value(value, name, section.specs[key], path)
        else:
            raise _unknown_key(name, place, path)


def _unknown_key(name: str, place: str, path: Path) -> CommonplaceError:
    siblings = [join_name(place, key) for key in (*sections()[place].specs, *children(place))]
    similar = difflib.get_close_matches(name, siblings, n=1, cutoff=0.6)
    similar = similar or difflib.get_close_matches(
        name, [leaf for leaf, _ in leaves()], n=1, cutoff=0.5
    )
    hint = (
        f"Did you mean settings.{similar[0]}?"
        if similar
        else "List all keys with: commonplace config show"
    )
    return config_error(f"{path}: unknown key settings.{name}.", hint=hint, name=f"settings.{name}")


def _check_value(value: Json, name: str, spec: SettingSpec, path: Path) -> Any:
    kind = type_of(name)
    full_name = f"settings.{name}"
    arms = get_args(kind) if type(None) in get_args(kind) else (kind,)
    if value is None:
        return spec.default
    for arm in arms:
        accepted, result = _convert(value, arm)
        if accepted:
            if isinstance(result, (int, float)) and not isinstance(result, bool):
                problem = spec.check_bounds(result)
                if problem:
                    raise config_error(f"{path}: {full_name}: {problem}.", name=full_name)
            return _resolve_paths(result, path) if spec.path else result
    shown = type(value).__name__ if spec.secret else f"{value!r:.60}"
    raise config_error(
        f"{path}: {full_name} must be {type_name(kind)}, not {shown}.", name=full_name
    )


def _convert(value: Json, arm: Any) -> tuple[bool, Any]:
    """Return whether a value fits a type, and the value in that type."""
    origin = get_origin(arm)
    if origin is Literal:
        if value is False:  # YAML reads a bare `off` as false
            return "off" in get_args(arm), "off"
        return isinstance(value, str) and value in get_args(arm), value
    if origin is tuple:
        items = [value] if isinstance(value, str) else value
        fits = isinstance(items, list) and all(isinstance(item, str) for item in items)
        return fits, tuple(items) if fits else ()
    if origin is not None and isinstance(value, dict):
        return _convert_texts(value)
    if arm is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool), value
    if arm is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    return isinstance(arm, type) and isinstance(value, arm), value


def _convert_texts(value: Mapping[object, object]) -> tuple[bool, dict[str, str]]:
    """Convert a map of texts; YAML reads a bare number as a key, not as text."""
    texts: dict[str, str] = {}
    for key, text in value.items():
        if not isinstance(key, (str, int)) or isinstance(key, bool) or not isinstance(text, str):
            return False, {}
        texts[str(key)] = text
    return True, texts


def _resolve_paths(value: str | tuple[str, ...], path: Path) -> str | tuple[str, ...]:
    """Resolve relative paths against the folder of the file."""
    if isinstance(value, tuple):
        return tuple(str(path.parent / expand_home(item)) for item in value)
    return str(path.parent / expand_home(value))
