"""Operations of API descriptions among the files: openapi finds them, files index them."""

from __future__ import annotations

from commonplace.files.extracts.model import Extract, Extraction
from commonplace.openapi.engine.operations.describe import ApiOperation
from commonplace.openapi.store.operation_reader import OPERATIONS_VERSION, OperationReader
from commonplace.search.code.languages import MARKDOWN, language_of


class OperationExtractor:
    """`Extractor` of files; prose that quotes a description is not one."""

    version = OPERATIONS_VERSION

    def __init__(self) -> None:
        self._reader = OperationReader()

    def extract(self, path: str, source: bytes) -> Extraction:
        if language_of(path) == MARKDOWN:
            return Extraction()
        found = self._reader.read(source)
        extracts = [_extract(operation, found.title) for operation in found.operations]
        return Extraction(extracts, found.recognised, found.note)

    def close(self) -> None:
        self._reader.close()


def _extract(operation: ApiOperation, api: str) -> Extract:
    facts = {
        "method": operation.method,
        "path": operation.path,
        "operation_id": operation.operation_id,
        "tags": list(operation.tags),
        "deprecated": operation.deprecated,
    }
    return Extract(
        operation.pointer,
        f"{operation.method} {operation.path}",
        operation.summary,
        operation.names,
        operation.text,
        api,
        facts,
        operation.start_line,
        operation.end_line,
    )
