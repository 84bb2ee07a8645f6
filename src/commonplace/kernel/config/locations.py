"""Where the configuration file and the data folder are, by platform and environment.

Hooks import this module, so errors are imported where they are raised.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from commonplace.kernel.paths import expand_home

FILE_NAME = "commonplace.yaml"
HOME_VARIABLE = "COMMONPLACE_HOME"


def user_config_folder(environ: Mapping[str, str]) -> Path:
    """Return the user's folder for configuration."""
    return _platform_folder(environ, "XDG_CONFIG_HOME", ".config", "APPDATA")


def user_data_folder(environ: Mapping[str, str]) -> Path:
    """Return the user's folder for data."""
    return _platform_folder(environ, "XDG_DATA_HOME", ".local/share", "LOCALAPPDATA")


def find_config_file(requested: Path | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    """Return the configuration file in effect, or None. A requested file must exist."""
    if requested is not None:
        if not requested.is_file():
            from commonplace.kernel.config.errors import config_error

            raise config_error(
                f"There is no configuration file {requested}.",
                hint="Write one with: commonplace config init",
            )
        return requested.absolute()
    for candidate in _default_files(environ, cwd):
        # An entry that cannot be read is reported later, not skipped.
        if candidate.exists() or candidate.is_symlink():
            return candidate
    return None


def find_data_folder(requested: Path | None, environ: Mapping[str, str]) -> tuple[Path, str]:
    """Return the data folder and where its name came from."""
    if requested is not None:
        return expand_home(requested).absolute(), "command line"
    if environ.get(HOME_VARIABLE):
        return expand_home(environ[HOME_VARIABLE]).absolute(), f"variable {HOME_VARIABLE}"
    return user_data_folder(environ), "default"


def _default_files(environ: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    from commonplace.kernel.errors import CommonplaceError

    yield cwd / FILE_NAME
    with contextlib.suppress(CommonplaceError):  # the user may have no home folder
        yield user_config_folder(environ) / FILE_NAME


def _platform_folder(environ: Mapping[str, str], xdg: str, unix_default: str, windows: str) -> Path:
    home = Path(environ.get("HOME") or expand_home("~"))
    if not (home.is_absolute() or environ.get(xdg)):  # the user of a container may have none
        from commonplace.kernel.config.errors import config_error

        raise config_error(
            "This user has no home folder.",
            hint=f"Set HOME, or name the data folder with --data or {HOME_VARIABLE}.",
        )
    if sys.platform == "win32":
        return Path(environ.get(windows) or home / "AppData" / "Local") / "commonplace"
    if sys.platform == "darwin" and not environ.get(xdg):
        return home / "Library" / "Application Support" / "commonplace"
    base = environ.get(xdg, "")
    return (Path(base) if Path(base).is_absolute() else home / unix_default) / "commonplace"
