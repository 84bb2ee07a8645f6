"""Base class of settings: frozen values declared with default, bounds, variable and description."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, TypeVar, dataclass_transform

T = TypeVar("T")

MEBIBYTE = 1024 * 1024


class SettingSpec(NamedTuple):
    """The declaration of one setting."""

    default: Any
    doc: str
    env: str | None
    minimum: float | None
    maximum: float | None
    secret: bool
    path: bool

    def check_bounds(self, value: float) -> str | None:
        """Return what is wrong with a number, or None."""
        if not math.isfinite(value):
            return f"{value:g} is not a finite number"
        if self.minimum is not None and value < self.minimum:
            return f"{value:g} is too small; the minimum is {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"{value:g} is too large; the maximum is {self.maximum:g}"
        return None


def setting(
    default: T,
    doc: str,
    *,
    env: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    secret: bool = False,
    path: bool = False,
) -> T:
    """Declare a setting.

    `env` names the variable that overrides the file; `secret` values are never printed; a relative
    `path` in the file is resolved against the file's folder.
    """
    spec: Any = SettingSpec(default, doc, env, minimum, maximum, secret, path)
    return spec  # type: ignore[no-any-return]  # `Section` replaces it by the default


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Section:
    """A frozen group of settings.

    Not a dataclass: generating 25 of those adds 30 ms to every start.
    """

    specs: ClassVar[Mapping[str, SettingSpec]]
    defaults: ClassVar[Mapping[str, Any]]
    required: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        names = list(cls.__annotations__)
        cls.specs = MappingProxyType(
            {
                name: value
                for name in names
                if isinstance(value := cls.__dict__.get(name), SettingSpec)
            }
        )
        cls.defaults = MappingProxyType(
            {
                name: value.default
                if isinstance(value := cls.__dict__[name], SettingSpec)
                else value
                for name in names
                if name in cls.__dict__
            }
        )
        cls.required = frozenset(names) - cls.defaults.keys()
        for name in cls.defaults:
            delattr(cls, name)

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.defaults.keys() - self.required
        missing = self.required - values.keys()
        if unknown or missing:
            raise TypeError(
                f"{type(self).__name__}: unknown {sorted(unknown)}, missing {sorted(missing)}"
            )
        self.__dict__.update(self.defaults, **values)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these values changed."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"settings are frozen: {name}; copy them with .replace({name}=...)")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"settings are frozen: {name}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        secret = {name for name, spec in self.specs.items() if spec.secret}
        shown = (
            f"{name}=***" if name in secret and value else f"{name}={value!r}"
            for name, value in self.__dict__.items()
        )
        return f"{type(self).__name__}({', '.join(shown)})"
