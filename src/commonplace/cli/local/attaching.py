"""`commonplace serve --attach`: become the relay of a client."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from commonplace.edge.relay.main import start_relay
from commonplace.kernel.config.locations import find_data_folder

OPTION = "--attach"
LEAST_LETTERS = 4  # of an abbreviation that is not one of --auth or --all-tools


def attach(options: argparse.Namespace, arguments: Sequence[str]) -> None:
    """Replace this process by a relay to the local server of the data folder."""
    data, _ = find_data_folder(options.data, os.environ)
    server = ["--data", str(data)]
    if options.config is not None:
        server += ["--config", str(options.config.absolute())]
    rest = [word for word in arguments if not _is_attach(word)]
    start_relay(str(data), rest, server)


def _is_attach(word: str) -> bool:
    return len(word) >= LEAST_LETTERS and OPTION.startswith(word)
