"""Which installed model is in use: the configured one, the chosen one, or the best one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from commonplace.search.semantic.models.model_catalogue import CHOICES, DEFAULT_MODEL, PREFERRED

AUTO = "auto"  # the value of the setting that leaves it to this module
MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_CHOSEN = "in-use"  # a file with the name that `models use` was given


def write_choice(models: Path, name: str) -> None:
    """Remember an installed model as the one in use, for servers that have none configured."""
    scratch = models / f".{_CHOSEN}-{os.getpid()}"
    scratch.write_text(name, "utf-8")
    scratch.replace(models / _CHOSEN)


def read_choice(models: Path) -> str | None:
    """Return the name that was chosen; None if it is no name."""
    try:
        name = (models / _CHOSEN).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name if MODEL_NAME.fullmatch(name) else None


def installed_name(name: str) -> str:
    """Return the name of the folder for a model's name, or for that of a choice."""
    return CHOICES[name].installed_name if name in CHOICES else name


def resolve(models: Path, configured: str = AUTO) -> str:
    """Return the name of the model in use."""
    name = read_choice(models) if configured == AUTO else configured
    if name:
        return installed_name(name)
    present = (name for name in PREFERRED if (models / name / "model.json").is_file())
    return next(present, DEFAULT_MODEL)
