"""Where settings come from: defaults, one YAML file, contract 000's variables, flags.

YAML is imported only if there is a file.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from commonplace.kernel.config_rules import complaints
from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.kernel.home import expanded
from commonplace.kernel.settings import ENVIRONMENT_ALIASES, Key, Section, Settings, StorageSettings

FILE_NAME = "commonplace.yaml"
HOME_VARIABLE = "COMMONPLACE_HOME"
TRUE = frozenset({"1", "true", "yes", "on", "enabled"})
FALSE = frozenset({"", "0", "false", "no", "off", "disabled"})
DATABASE_SCHEMES = ("sqlite:///", "postgresql://", "postgres://")
CACHE_SCHEMES = ("redis://", "rediss://", "unix://")

_SECTIONS: dict[str, type[Section]] = {}  # dotted place -> section, filled by `sections`


@dataclass(frozen=True, slots=True)
class Config:
    """Settings, and where each value that is not a default came from (dotted name -> source)."""

    settings: Settings
    sources: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None


def load(
    *,
    file: Path | None = None,
    data: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    cwd: Path | None = None,
) -> Config:
    """Everything effective.

    `flags` maps dotted names (`server.read_only`) to values of the command line.
    """
    environ = os.environ if environ is None else environ
    cwd = cwd or Path.cwd()
    chosen = _find_file(file, environ, cwd)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    if chosen is not None:
        for name, value in _read_file(chosen):
            values[name], sources[name] = value, f"file {chosen}"
    for name, value, variable in _read_environment(environ):
        values[name], sources[name] = value, f"variable {variable}"
    for name, value in (flags or {}).items():
        values[name], sources[name] = value, "command line"
    folder, sources["data"] = _data_folder(data, environ)
    if "mcp.instructions.directory" not in values and (cwd / "instructions").is_dir():
        values["mcp.instructions.directory"], sources["mcp.instructions.directory"] = (
            str(cwd / "instructions"),
            "the working directory",
        )
    settings: Settings = _build(Settings, values, "", {"data": folder})
    _cross_check(settings)
    _check_addresses(settings.storage)
    return Config(settings, sources, chosen)


def sections() -> Mapping[str, type[Section]]:
    """Every section by its dotted place; the root is the empty name."""
    if not _SECTIONS:
        _collect(Settings, "")
    return _SECTIONS


def leaves() -> Iterator[tuple[str, Key]]:
    """Every leaf setting by its dotted name, in the order of declaration."""
    for place, section in sections().items():
        for name, declared in section.keys.items():
            yield (f"{place}.{name}" if place else name), declared


def value_of(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def type_of(name: str) -> Any:
    place, _, leaf = name.rpartition(".")
    return get_type_hints(sections()[place])[leaf]


def type_name(kind: Any) -> str:
    """A type as a person reads it."""
    if get_origin(kind) is Literal:
        return " | ".join(f"`{choice}`" for choice in get_args(kind))
    optional = type(None) in get_args(kind)
    core = (
        next((arm for arm in get_args(kind) if arm is not type(None)), kind) if optional else kind
    )
    plain = {bool: "true or false", int: "whole number", float: "number", str: "text"}.get(core)
    if plain is None:
        plain = "list of texts" if get_origin(core) is tuple else "map of texts"
    return f"{plain}, may be unset" if optional else plain


def user_config_folder(environ: Mapping[str, str]) -> Path:
    return _platform_folder(environ, "XDG_CONFIG_HOME", ".config", "APPDATA")


def user_data_folder(environ: Mapping[str, str]) -> Path:
    return _platform_folder(environ, "XDG_DATA_HOME", ".local/share", "LOCALAPPDATA")


def _platform_folder(environ: Mapping[str, str], xdg: str, unix_default: str, windows: str) -> Path:
    home = Path(environ.get("HOME") or expanded("~"))
    if not (home.is_absolute() or environ.get(xdg)):  # a container's user may have none
        raise _wrong(
            "This user has no home folder.",
            hint=f"Set HOME, or name the data folder with --data or {HOME_VARIABLE}.",
        )
    if sys.platform == "win32":
        return Path(environ.get(windows) or home / "AppData" / "Local") / "commonplace"
    if sys.platform == "darwin" and not environ.get(xdg):
        return home / "Library" / "Application Support" / "commonplace"
    base = environ.get(xdg, "")
    return (Path(base) if Path(base).is_absolute() else home / unix_default) / "commonplace"


def _collect(section: type[Section], place: str) -> None:
    _SECTIONS[place] = section
    for name, default in section.defaults.items():
        if isinstance(default, Section):
            _collect(type(default), f"{place}.{name}" if place else name)


def _find_file(asked: Path | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    if asked is not None:
        if not asked.is_file():
            raise _wrong(
                f"There is no configuration file {asked}.",
                hint="commonplace config init writes one.",
            )
        return asked.absolute()
    for candidate in _usual_files(environ, cwd):
        if (
            candidate.exists() or candidate.is_symlink()
        ):  # whatever is there and cannot be read is said, never passed over
            return candidate
    return None


def _usual_files(environ: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    yield cwd / FILE_NAME
    with contextlib.suppress(CommonplaceError):  # a user without a home has no file there
        yield user_config_folder(environ) / FILE_NAME


def _data_folder(asked: Path | None, environ: Mapping[str, str]) -> tuple[Path, str]:
    if asked is not None:
        return expanded(asked).absolute(), "command line"
    if environ.get(HOME_VARIABLE):
        return expanded(environ[HOME_VARIABLE]).absolute(), f"variable {HOME_VARIABLE}"
    return user_data_folder(environ), "default"


def _read_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    aliases = {target: alias for alias, target in ENVIRONMENT_ALIASES.items()}
    for name, declared in leaves():
        for variable in filter(None, (declared.env, aliases.get(declared.env or ""))):
            if variable in environ:
                yield name, _from_text(environ[variable], name, declared, variable), variable
                break


def _from_text(text: str, name: str, declared: Key, variable: str) -> Any:
    """A variable's text as the setting's type.

    An empty variable counts as unset where that is possible.
    """
    kind = type_of(name)
    arms = get_args(kind) or (kind,)
    if bool in arms:
        word = text.strip().lower()
        if word in TRUE or word in FALSE:
            return word in TRUE
        raise _wrong(f"{variable} is {text[:40]!r}; it takes 1 or 0.")
    if get_origin(kind) is tuple or any(get_origin(arm) is tuple for arm in arms):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if int in arms:
        if not text.strip():
            return declared.default
        try:
            number = int(text.strip())
        except ValueError:
            raise _wrong(f"{variable} is {text[:40]!r}; it takes a whole number.") from None
        return _bounded(number, declared, variable)
    return text or declared.default


def _read_file(path: Path) -> Iterator[tuple[str, Any]]:
    document = parse_yaml(path)
    if document is None:
        return
    if not isinstance(document, dict):
        raise _wrong(f"{path}: the file must be a map that begins with `settings:`.")
    for key, value in document.items():
        if key != "settings":
            raise _wrong(
                f"{path}: unknown key {key!s}.",
                hint="Everything stands below `settings:`.",
                name=str(key),
            )
        yield from _walk(value, "", path)


def _walk(node: Any, place: str, path: Path) -> Iterator[tuple[str, Any]]:
    if node is None:
        return
    section = sections()[place]
    if not isinstance(node, dict):
        name = f"settings.{place}".rstrip(".")
        raise _wrong(f"{path}: {name} must be a map, not {type(node).__name__}.", name=name)
    for key, value in node.items():
        name = f"{place}.{key}" if place else str(key)
        if name in sections():
            yield from _walk(value, name, path)
        elif key in section.keys:
            yield name, _from_yaml(value, name, section.keys[key], path)
        else:
            raise _unknown(name, place, path)


def _unknown(name: str, place: str, path: Path) -> CommonplaceError:
    here = [f"{place}.{k}" if place else k for k in (*sections()[place].keys, *_children(place))]
    everywhere = [leaf for leaf, _ in leaves()]
    near = difflib.get_close_matches(name, here, n=1, cutoff=0.6) or difflib.get_close_matches(
        name, everywhere, n=1, cutoff=0.5
    )
    hint = (
        f"Did you mean settings.{near[0]}?" if near else "commonplace config show lists all keys."
    )
    return _wrong(f"{path}: unknown key settings.{name}.", hint=hint, name=f"settings.{name}")


def _children(place: str) -> list[str]:
    prefix = f"{place}." if place else ""
    return [
        name.removeprefix(prefix)
        for name in sections()
        if name and name.startswith(prefix) and "." not in name.removeprefix(prefix)
    ]


def _from_yaml(value: Any, name: str, declared: Key, path: Path) -> Any:
    kind = type_of(name)
    full = f"settings.{name}"
    arms = get_args(kind) if type(None) in get_args(kind) else (kind,)
    if value is None:
        return declared.default
    for arm in arms:
        checked, result = _accept(value, arm)
        if checked:
            if isinstance(result, (int, float)) and not isinstance(result, bool):
                _bounded(result, declared, full, path)
            return _placed(result, declared, path)
    shown = type(value).__name__ if declared.secret else f"{value!r:.60}"
    raise _wrong(f"{path}: {full} must be {type_name(kind)}, not {shown}.", name=full)


def _accept(value: Any, arm: Any) -> tuple[bool, Any]:
    origin = get_origin(arm)
    if origin is Literal:
        return (
            (value in get_args(arm), value)
            if isinstance(value, str)
            else (value is False and "off" in get_args(arm), "off")
        )
    if origin is tuple:
        items = [value] if isinstance(value, str) else value
        return isinstance(items, list) and all(isinstance(item, str) for item in items), tuple(
            items
        ) if isinstance(items, list) else ()
    if origin is not None and isinstance(
        value, dict
    ):  # Mapping[str, str]; YAML reads a bare id as a number
        texts = all(
            isinstance(k, (str, int)) and not isinstance(k, bool) and isinstance(v, str)
            for k, v in value.items()
        )
        return texts, {str(k): v for k, v in value.items()} if texts else {}
    if arm is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool), value
    if arm is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    return isinstance(arm, type) and isinstance(value, arm), value


def _placed(value: Any, declared: Key, path: Path) -> Any:
    """Relative paths in the file start at the file's folder."""
    if not declared.path:
        return value
    if isinstance(value, tuple):
        return tuple(str(path.parent / expanded(item)) for item in value)
    return str(path.parent / expanded(value))


def _bounded(number: float, declared: Key, name: str, path: Path | None = None) -> float:
    complaint = declared.complaint(number)
    if complaint:
        raise _wrong(f"{f'{path}: ' if path else ''}{name}: {complaint}.", name=name)
    return number


def _build(
    section: type[Section], values: Mapping[str, Any], place: str, given: Mapping[str, Any]
) -> Any:
    built: dict[str, Any] = dict(given)
    for name, default in section.defaults.items():
        dotted = f"{place}.{name}" if place else name
        if isinstance(default, Section):
            if any(key.startswith(dotted + ".") for key in values):
                built[name] = _build(type(default), values, dotted, {})
        elif dotted in values:
            built[name] = values[dotted]
    return section(**built)


def _cross_check(settings: Settings) -> None:
    for complaint in complaints(settings):
        name = f"settings.{complaint.key}"
        raise _wrong(f"{name} {complaint.message}.", hint=complaint.hint, name=name)


def _check_addresses(storage: StorageSettings) -> None:
    """The message never holds the address: it may carry a password."""
    for name, address, schemes in (
        ("url", storage.url, DATABASE_SCHEMES),
        ("cache_url", storage.cache_url, CACHE_SCHEMES),
    ):
        if address and not address.startswith(schemes):
            raise _wrong(
                f"settings.storage.{name} must begin with {' or '.join(schemes)}.",
                name=f"settings.storage.{name}",
            )


def parse_yaml(path: Path) -> Any:
    """The file's value. Duplicate keys are errors: the second would silently win."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    def mapping(loader: Any, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = loader.construct_object(key_node, deep=True)
            if isinstance(key, (str, int)) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} stands twice", key_node.start_mark
                )
            if isinstance(key, (str, int)):
                seen.add(key)
        built: dict[Any, Any] = loader.__class__.__mro__[1].construct_mapping(
            loader, node, deep=True
        )
        return built

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        return yaml.load(path.read_text("utf-8"), Loader)  # noqa: S506 - a safe loader
    except UnicodeDecodeError:
        raise _wrong(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise _wrong(f"{path} cannot be read: {error.strerror}.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise _wrong(
            f"{path}{where}: {getattr(error, 'problem', None) or 'not valid YAML'}."
        ) from None


def _wrong(message: str, *, hint: str | None = None, name: str | None = None) -> CommonplaceError:
    return CommonplaceError(
        INVALID_CONFIG, message, hint=hint, details={"key": name} if name else None
    )
