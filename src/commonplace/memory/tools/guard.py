"""Turns a defect in memory into the contract's INTERNAL_ERROR; every handler of this toolset
goes through it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from commonplace.dispatch.tool import Context
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.errors import INTERNAL_ERROR, failure
from commonplace.storage.failures import explain

log = logging.getLogger("commonplace.memory")

Work = Callable[[Context, Any], Awaitable[dict[str, Any]]]


def handled(work: Work) -> Work:
    async def handler(context: Context, arguments: Any) -> dict[str, Any]:
        try:
            return await work(context, arguments)
        except (CommonplaceError, TimeoutError):
            raise
        except (
            Exception
        ) as error:  # contract 004 names this code; the pipeline's own would be INTERNAL
            explained = explain(error)
            if explained is not None:  # the disk's or the database's doing
                raise explained from error
            log.error("memory failed (trace %s)", context.trace_id, exc_info=error)
            raise failure(
                INTERNAL_ERROR,
                "Memory failed on this call. It is a defect, not your input.",
                hint=f"Look for trace {context.trace_id} in the server's log and report it.",
                trace_id=context.trace_id,
            ) from error

    return handler
