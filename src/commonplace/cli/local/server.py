"""`commonplace serve --socket`: the local server, in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import socket
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.cli.serve import load_options
from commonplace.edge.relay.endpoint import (
    LOCK_NAME,
    LOG_FOLDER,
    LOG_NAME,
    LOST_RACE,
    listen,
    remove_socket,
)
from commonplace.edge.relay.launching import MOST_STRAY_BYTES
from commonplace.instructions.store.kept.place import FOLDER as HOOKS_FOLDER
from commonplace.kernel.auth import local_user
from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.settings import Settings
from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.locks.leader import LeaderLock

if TYPE_CHECKING:
    from commonplace.bootstrap.app import App

log = logging.getLogger("commonplace.edge.local")


def serve_socket(options: argparse.Namespace) -> int:
    """Serve the clients of a data folder until told to stop; return the exit code.

    Ends at once with LOST_RACE if another process does it already.
    """
    from commonplace.kernel.config.sharing import anchor_paths

    settings = anchor_paths(load_options(options).settings, Path.cwd())
    lock = LeaderLock(settings.data / LOCK_NAME)
    if not lock.try_acquire():
        return LOST_RACE
    try:
        data = str(settings.data)
        listener = listen(data)
        os.chdir(data)  # clients have working folders of their own
        try:
            return _serve(settings, listener)
        finally:
            remove_socket(data)
    finally:
        lock.release()


def _serve(settings: Settings, listener: socket.socket) -> int:
    from commonplace.bootstrap.app import build
    from commonplace.cli.local.admission import ClientAdmission
    from commonplace.edge.local.listener import LocalListener

    started = time.time()
    with build(_with_log(settings)) as app, app.claim_data_folder():
        app.start(http=True)
        log.info("the local server listens")

        async def run() -> None:
            preparing = asyncio.create_task(_prepare_hooks(app))
            await LocalListener(
                listener,
                ClientAdmission(app, settings),
                app.product.version,
                idle_seconds=settings.server.idle_stop_minutes * 60,
                describe=lambda: _describe(settings, started),
                on_tick=_bound_stray_output,
            ).run()
            preparing.cancel()

        asyncio.run(run())
        log.info("the local server stops")
    return 0


async def _prepare_hooks(app: App) -> None:
    """Load what hooks ask for, where some are used: the first prompt waits two seconds at most."""
    if not (app.settings.data / HOOKS_FOLDER).is_dir():
        return
    from commonplace.context.model import ContextQuestion

    try:
        context = await asyncio.to_thread(lambda: app.services.context)
        await context.context(local_user(), ContextQuestion("Prepare the first hook."))
    except Exception as problem:  # the hook itself reports it
        log.warning("cannot prepare for hooks: %s", problem)


def _describe(settings: Settings, started: float) -> JsonObject:
    return {
        "data": str(settings.data),
        "started_at": iso(datetime.fromtimestamp(started, UTC)),
        "uptime_seconds": round(time.time() - started, 1),
        "memory_mb": _memory_megabytes(),
    }


def _memory_megabytes() -> float | None:
    """Return the resident memory of this process, where the system tells it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def _bound_stray_output() -> None:
    """Empty the file behind stderr when it is large: nobody rotates it."""
    try:
        status = os.fstat(2)
        if stat.S_ISREG(status.st_mode) and status.st_size > MOST_STRAY_BYTES:
            os.ftruncate(2, 0)
    except OSError:
        pass


def _with_log(settings: Settings) -> Settings:
    if settings.log.file:
        return settings
    file = settings.data / LOG_FOLDER / LOG_NAME
    make_private_folder(file.parent)
    return settings.replace(log=settings.log.replace(file=str(file)))
