"""Where the rules of a catalogue are kept for hooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from commonplace.kernel.json_types import JsonObject

FOLDER = "hooks"


class KeptPlace(NamedTuple):
    """The data folder, and what tells the state of the storage that the catalogue was read from."""

    data: Path
    state: Callable[[], JsonObject]

    @property
    def is_wanted(self) -> bool:
        """Tell whether hooks are used with this data folder."""
        return (self.data / FOLDER).is_dir()
