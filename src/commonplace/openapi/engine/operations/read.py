"""Read the operations of a text that may be an API description."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.lines import find_line_spans
from commonplace.openapi.engine.document.load import make_document, parse_text
from commonplace.openapi.engine.operations.describe import ApiOperation, describe_operations
from commonplace.openapi.errors import NOT_A_SPEC
from commonplace.openapi.model import DocumentLimits

LIMITS = DocumentLimits(nodes=2_000_000, alias_nodes=200_000)
LINE_SECONDS = 4.0  # of processor time that finding lines may take


@dataclass(frozen=True, slots=True)
class OperationList:
    """What a text holds: whether it is a description, its title, its operations.

    `note` says why some or all operations are missing.
    """

    recognised: bool = False
    title: str = ""
    operations: tuple[ApiOperation, ...] = ()
    note: str = ""


def read_operations(source: bytes) -> OperationList:
    """Return the operations of a text. Never raises; what cannot be read is said in `note`."""
    try:
        document = make_document(parse_text(source, limits=LIMITS, here=True))
        operations, count = describe_operations(document)
        until = time.process_time() + LINE_SECONDS
        spans = find_line_spans(
            document,
            [operation.pointer for operation in operations],
            lambda: time.process_time() > until,
        )
    except CommonplaceError as error:
        if error.code is NOT_A_SPEC:
            return OperationList()
        return OperationList(recognised=True, note=error.message)
    except (RecursionError, MemoryError) as error:
        return OperationList(
            recognised=True, note=f"too large or too deep ({type(error).__name__})"
        )
    info = document.data.get("info")
    title = info.get("title") if type(info) is dict else ""
    missing = count - len(operations)
    return OperationList(
        True,
        title[:200] if type(title) is str else "",
        tuple(_at(operation, spans.get(operation.pointer)) for operation in operations),
        f"{missing} of {count} operations are not indexed" if missing else "",
    )


def _at(operation: ApiOperation, span: tuple[int, int] | None) -> ApiOperation:
    return operation if span is None else replace(operation, start_line=span[0], end_line=span[1])
