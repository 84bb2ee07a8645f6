"""Load settings from defaults, one YAML file, environment variables and command-line flags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from commonplace.kernel.config.catalog import join_name
from commonplace.kernel.config.environment import read_environment
from commonplace.kernel.config.errors import config_error
from commonplace.kernel.config.locations import find_config_file, find_data_folder
from commonplace.kernel.config.rules import find_contradictions
from commonplace.kernel.config.yaml_file import read_config_file
from commonplace.kernel.settings import Section, Settings, StorageSettings

POSTGRES_SCHEMES = ("postgresql://", "postgres://")
DATABASE_SCHEMES = ("sqlite:///", *POSTGRES_SCHEMES)
CACHE_SCHEMES = ("redis://", "rediss://", "unix://")

SectionType = TypeVar("SectionType", bound=Section)


@dataclass(frozen=True, slots=True)
class Config:
    """Settings, and the source of each value that is not a default (dotted name -> source)."""

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
    """Load the effective settings.

    `flags` maps dotted names (`server.read_only`) to values of the command line. Later sources win:
    defaults, file, environment, flags.
    """
    environ = os.environ if environ is None else environ
    cwd = cwd or Path.cwd()
    config_file = find_config_file(file, environ, cwd)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    if config_file is not None:
        for name, value in read_config_file(config_file):
            values[name], sources[name] = value, f"file {config_file}"
    for name, value, variable in read_environment(environ):
        values[name], sources[name] = value, f"variable {variable}"
    for name, value in (flags or {}).items():
        values[name], sources[name] = value, "command line"
    folder, sources["data"] = find_data_folder(data, environ)
    if "mcp.instructions.directory" not in values and (cwd / "instructions").is_dir():
        values["mcp.instructions.directory"], sources["mcp.instructions.directory"] = (
            str(cwd / "instructions"),
            "the working directory",
        )
    settings = _build(Settings, values, "", {"data": folder})
    _check_conflicts(settings)
    _check_schemes(settings.storage)
    return Config(settings, sources, config_file)


def _build(
    section: type[SectionType], values: Mapping[str, Any], place: str, given: Mapping[str, Any]
) -> SectionType:
    members: dict[str, Any] = dict(given)
    for name, default in section.defaults.items():
        dotted = join_name(place, name)
        if isinstance(default, Section):
            if any(key.startswith(dotted + ".") for key in values):
                members[name] = _build(type(default), values, dotted, {})
        elif dotted in values:
            members[name] = values[dotted]
    return section(**members)


def _check_conflicts(settings: Settings) -> None:
    for conflict in find_contradictions(settings):
        name = f"settings.{conflict.key}"
        raise config_error(f"{name} {conflict.message}.", hint=conflict.hint, name=name)


def _check_schemes(storage: StorageSettings) -> None:
    """Check the schemes of addresses. Messages leave them out: they may contain a password."""
    for name, address, schemes in (
        ("url", storage.url, DATABASE_SCHEMES),
        ("direct_url", storage.direct_url, POSTGRES_SCHEMES),
        ("cache_url", storage.cache_url, CACHE_SCHEMES),
    ):
        if address and not address.startswith(schemes):
            raise config_error(
                f"settings.storage.{name} must begin with {' or '.join(schemes)}.",
                name=f"settings.storage.{name}",
            )
