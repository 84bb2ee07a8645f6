"""`commonplace worker`: index files that servers queued, without serving clients."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Annotated

import typer

from commonplace.cli.session import session
from commonplace.kernel.settings import FilesIndex


def worker(
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            max=64,
            help="Jobs at a time; default from the configuration.",
        ),
    ] = None,
) -> None:
    """Index files until stopped (Ctrl-C, SIGTERM).

    On PostgreSQL any number of workers share the queue.

    Examples:
      commonplace worker
      commonplace worker --workers 4
    """
    from commonplace.bootstrap.app import build

    settings = session().config().settings
    files = settings.mcp.files
    index = files.index.replace(workers=workers or files.index.workers or FilesIndex().workers)
    settings = settings.replace(mcp=settings.mcp.replace(files=files.replace(index=index)))
    stopping = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stopping.set())
    with build(settings) as app, app.claim_data_folder():
        _ = app.services.files
        sys.stderr.write(
            f"Commonplace {app.product.version} indexes with {index.workers} workers\n"
        )
        sys.stderr.flush()
        stopping.wait()
