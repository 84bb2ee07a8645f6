"""Restore a backup archive: unpack it beside the old state, check it, then swap."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.backup.unpacking import unpack
from commonplace.storage.locks.data_folder import LOCK_NAME, claim_data_folder

STATE_EXISTS = Code(
    "STATE_EXISTS", Kind.CONFLICT, "The data folder is not empty; restoring needs --force."
)


def restore_archive(source: Path, data: Path, instructions: Path, *, force: bool) -> JsonObject:
    """Restore an archive. The old state is moved aside, not deleted.

    Raises DATA_IN_USE, STATE_EXISTS or ARCHIVE_INVALID.
    """
    source.open("rb").close()  # fail before anything is created
    with claim_data_folder(data):
        outside = not instructions.is_relative_to(data)
        state = [path for path in data.iterdir() if path.name != LOCK_NAME]
        filled = outside and instructions.is_dir() and any(instructions.iterdir())
        if (state or filled) and not force:
            raise CommonplaceError(
                STATE_EXISTS,
                f"{data if state else instructions} is not empty.",
                hint="Use --force; the existing state is moved aside.",
            )
        fresh = data / f".restore-{os.getpid()}"
        try:
            count = unpack(source, fresh)
            kept = _swap(fresh, data, instructions if outside else None, state)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return {"files": count, "kept": [str(path) for path in kept]}


def _swap(fresh: Path, data: Path, instructions: Path | None, state: list[Path]) -> list[Path]:
    """Move the old state aside and the new state into place; return the folders moved aside.

    `instructions` is given if that folder is outside the data folder.
    """
    kept: list[Path] = []
    stamp = "".join(c for c in iso(utc_now()) if c.isdigit())
    if state:
        aside = data.with_name(f"{data.name}.before-{stamp}")
        aside.mkdir(mode=0o700)
        for path in state:
            path.rename(aside / path.name)
        kept.append(aside)
    for path in sorted((fresh / "data").iterdir()) if (fresh / "data").is_dir() else ():
        path.rename(data / path.name)
    restored = fresh / "instructions"
    if restored.is_dir():
        target = instructions or data / "instructions"
        if target.exists() and any(target.iterdir()):
            aside = target.with_name(f"{target.name}.before-{stamp}")
            target.rename(aside)
            kept.append(aside)
        elif target.exists():
            target.rmdir()
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(restored, target)
    return kept
