"""Operations of stored files, read in a process of its own.

A description is text that anybody may have written, and a parser holds the interpreter's lock for
as long as it reads: here it delays no other call, and a hostile text costs its own operations only.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from commonplace.kernel.child.process import ChildFailedError, ChildProcess
from commonplace.openapi.engine.operations.read import OperationList
from commonplace.openapi.engine.operations.recognise import may_be_description

if TYPE_CHECKING:
    from pydantic import TypeAdapter

log = logging.getLogger("commonplace.openapi")

READ_SECONDS = 120.0  # the worker limits its own processor time; this is for a busy machine
OPERATIONS_VERSION = 2  # of what is read from a description; raise it to have files read again


class OperationReader:
    """Reads operations; the process starts with the first description. Thread-safe."""

    def __init__(self, seconds: float = READ_SECONDS) -> None:
        self._child = ChildProcess("commonplace.openapi.store.operation_worker", seconds)

    def read(self, source: bytes) -> OperationList:
        """Return the operations of a text; none if it is no description. Never raises."""
        if not may_be_description(source):
            return OperationList()
        try:
            return _answers().validate_json(self._child.ask(source))
        except (ChildFailedError, ValueError) as failed:
            self._child.close()
            log.info("the operations of %d bytes cannot be read: %s", len(source), failed)
            note = str(failed) if isinstance(failed, ChildFailedError) else "an unreadable answer"
            return OperationList(recognised=True, note=f"the operations cannot be read: {note}")

    def close(self) -> None:
        """End the process."""
        self._child.close()


@cache
def _answers() -> TypeAdapter[OperationList]:
    from pydantic import TypeAdapter

    return TypeAdapter(OperationList)
