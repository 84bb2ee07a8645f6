"""Settings from environment variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from commonplace.kernel.config.catalog import leaves, type_of
from commonplace.kernel.config.errors import config_error
from commonplace.kernel.settings import ENVIRONMENT_ALIASES, SettingSpec

TRUE = frozenset({"1", "true", "yes", "on", "enabled"})
FALSE = frozenset({"", "0", "false", "no", "off", "disabled"})


def read_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    """Yield the dotted name, the value and the variable of every setting that is in `environ`."""
    aliases = {target: alias for alias, target in ENVIRONMENT_ALIASES.items()}
    for name, spec in leaves():
        for variable in filter(None, (spec.env, aliases.get(spec.env or ""))):
            if variable in environ:
                yield name, _parse(environ[variable], name, spec, variable), variable
                break


def _parse(text: str, name: str, spec: SettingSpec, variable: str) -> Any:
    """Convert the text of a variable. An empty variable counts as unset where that is possible."""
    kind = type_of(name)
    arms = get_args(kind) or (kind,)
    if bool in arms:
        word = text.strip().lower()
        if word in TRUE or word in FALSE:
            return word in TRUE
        raise config_error(f"{variable} is {text[:40]!r}; it takes 1 or 0.")
    if get_origin(kind) is tuple or any(get_origin(arm) is tuple for arm in arms):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if int in arms:
        return _parse_number(text, spec, variable) if text.strip() else spec.default
    return text or spec.default


def _parse_number(text: str, spec: SettingSpec, variable: str) -> int:
    try:
        number = int(text.strip())
    except ValueError:
        raise config_error(f"{variable} is {text[:40]!r}; it takes a whole number.") from None
    if problem := spec.check_bounds(number):
        raise config_error(f"{variable}: {problem}.", name=variable)
    return number
