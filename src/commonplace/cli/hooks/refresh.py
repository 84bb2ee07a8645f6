"""`commonplace hook --refresh`: make the index of rules again, in the background."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.instructions.store.kept.place import FOLDER
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import Settings
from commonplace.storage.disk.private_files import make_private_folder

if TYPE_CHECKING:
    from commonplace.bootstrap.app import App

MOST_SECONDS = 60


def refresh(options: dict[str, str]) -> None:
    """Write the index of rules, unless another process does; give up after a minute."""
    from commonplace.bootstrap.app import build
    from commonplace.kernel.config.loading import load
    from commonplace.storage.locks.leader import LeaderLock

    signal.alarm(MOST_SECONDS)  # a database that does not answer must not keep processes
    os.nice(5)
    config, data = options.get("config"), options.get("data")
    settings = load(
        file=Path(config) if config else None, data=Path(data) if data else None
    ).settings
    lock = LeaderLock(settings.data / FOLDER / "refresh.lock")
    if not lock.try_acquire():
        return
    try:
        with build(settings) as app:
            keep_rules(app)
    finally:
        lock.release()


def keep_rules(app: App) -> None:
    """Write the index of rules, for a data folder that hooks are used with from now on."""
    make_private_folder(app.services.settings.data / FOLDER)
    instructions = app.services.instructions
    instructions.confirmation.load()
    instructions.rules.keep(local_user())


def keep_folder(settings: Settings) -> None:
    """Write the index of an instruction folder, without the rest of the product."""
    from commonplace.instructions.assembly import build_service

    make_private_folder(settings.data / FOLDER)
    instructions = build_service(
        settings.instructions_directory,
        settings.data,
        settings.mcp.instructions.replace(watch=False),
        mutation_enabled=lambda: False,
    )
    try:
        instructions.rules.keep(local_user())
    finally:
        instructions.close()
