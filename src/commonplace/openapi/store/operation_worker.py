"""The process that reads operations for the index: see `operation_reader.py`."""

from __future__ import annotations

import sys

import orjson

from commonplace.kernel.child.worker import serve_requests
from commonplace.openapi.engine.operations.read import read_operations

READ_CPU_SECONDS = 8.0  # of one text; the largest real description takes 0.8


def answer(source: bytes) -> bytes:
    """Return the operations of a text as JSON."""
    return orjson.dumps(read_operations(source))


if __name__ == "__main__":
    sys.exit(serve_requests(answer, READ_CPU_SECONDS))
