"""The list of npm packages whose browser builds the console uses.

`packages.json` names each package with an exact version, the integrity of its archive and the
files that are taken from it. `tools/setup_assets.py` puts the files into `vendor/`, which is not
committed; wheels and source archives contain it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
VENDOR = FOLDER / "vendor"
LIST = FOLDER / "packages.json"


@dataclass(frozen=True, slots=True)
class Package:
    """An npm package: `files` maps a path in its archive to a name in `vendor/`."""

    name: str
    version: str
    integrity: str
    files: Mapping[str, str]


def read_packages() -> list[Package]:
    """Read the list."""
    return [Package(**entry) for entry in json.loads(LIST.read_text())]
