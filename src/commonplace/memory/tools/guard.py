"""Report defects in memory as INTERNAL_ERROR (docs/reference/contracts/memory.md)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from commonplace.dispatch.tool import Context
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.errors import INTERNAL_ERROR, failure
from commonplace.storage.failures import explain_failure

log = logging.getLogger("commonplace.memory")

Input = TypeVar("Input")
Output = TypeVar("Output")


def guarded(
    handler: Callable[[Context, Input], Awaitable[Output]],
) -> Callable[[Context, Input], Awaitable[Output]]:
    """Wrap a handler; every handler of this toolset that does I/O is wrapped."""

    async def guard(context: Context, arguments: Input) -> Output:
        try:
            return await handler(context, arguments)
        except (CommonplaceError, TimeoutError):
            raise
        # The contract names a code for defects; the pipeline's own would be INTERNAL.
        except Exception as error:
            explained = explain_failure(error)
            if explained is not None:  # the disk or the database failed
                raise explained from error
            log.error("memory failed (trace %s)", context.trace_id, exc_info=error)
            raise failure(
                INTERNAL_ERROR,
                "Memory failed on this call. It is a defect, not your input.",
                hint=f"Look for trace {context.trace_id} in the server's log and report it.",
                trace_id=context.trace_id,
            ) from error

    return guard
