"""The reader of each kind of reference, as `open_ref` uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.context.finding.model import OpenedText, RefReader
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.clock import iso
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.ref import Ref, RefKind, stored_file
from commonplace.kernel.text.lines import cut_lines

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.files.extracts.model import StoredExtract

LISTED_OPERATIONS = 1_000  # of a whole description


def ref_readers(services: Services) -> Mapping[RefKind, RefReader]:
    """Return the reader of each kind; a domain is opened by the first reference that needs it."""
    return {
        RefKind.INSTRUCTION: InstructionRefReader(services),
        RefKind.MEMORY: MemoryRefReader(services),
        RefKind.FILE: FileRefReader(services),
        RefKind.OPENAPI: OperationRefReader(services),
    }


class InstructionRefReader:
    """The body of an instruction that the caller sees."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def read(self, caller: AuthContext, ref: Ref) -> OpenedText | None:
        loop = asyncio.get_running_loop()
        executor = self._services.instructions.executor
        return await loop.run_in_executor(executor, self._read, caller, ref)

    def _read(self, caller: AuthContext, ref: Ref) -> OpenedText | None:
        instructions = self._services.instructions
        instructions.confirmation.load()
        found = instructions.get(caller, ref.key)
        if found is None:
            return None
        entry = found.item
        status = str(entry.get("status") or "")
        return OpenedText(
            str(entry.get("title") or ref.key),
            str(entry.get("body") or ""),
            ref,
            updated=str(entry.get("updatedAt") or ""),
            marks=(status,) if status not in ("", "approved") else (),
        )


class MemoryRefReader:
    """The content of an entry; reading counts as an access."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def read(self, caller: AuthContext, ref: Ref) -> OpenedText | None:
        from commonplace.memory.tools.anchors import stale_mark

        details = await self._services.memory.show(caller.tenant, ref.key)
        entry = details.entry
        marks = [] if entry.status.value == "active" else [entry.status.value]
        if details.successor is not None:
            marks.append(f"superseded by memory:{details.successor.id}")
        if mark := stale_mark(details.anchors):
            marks.append(f"code {mark}")
        return OpenedText(entry.title, entry.content, ref, 1, iso(entry.updated_at), tuple(marks))


class FileRefReader:
    """The text of a file."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def read(self, caller: AuthContext, ref: Ref) -> OpenedText | None:
        found = await self._services.files.read(caller, ref.project or "", ref.key)
        return OpenedText("", found.content, ref, 1, _moment(found.entry.updated_at))


class OperationRefReader:
    """An operation or another part of an API description; without a pointer, its operations.

    An operation whose lines are known is shown as it is written, so that its lines can be edited.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def read(self, caller: AuthContext, ref: Ref) -> OpenedText | None:
        project = ref.project or ""
        if not ref.pointer:
            return await self._list_operations(caller, ref)
        extracts = self._services.files.extracts
        found = (
            await extracts.find(caller, project, ref.key, ref.pointer)
            if extracts is not None
            else None
        )
        if found is not None and found.start_line and not found.is_stale:
            return await self._read_lines(caller, found)
        text = await self._render(caller, ref)
        if text is None:
            return None
        if found is None:
            return OpenedText(ref.pointer, text, ref)
        return OpenedText(_title(found), text, ref, 1, _moment(found.updated_at), _marks(found))

    async def _read_lines(self, caller: AuthContext, found: StoredExtract) -> OpenedText:
        file = await self._services.files.read(caller, found.project, found.path)
        text = cut_lines(file.content, found.start_line, found.end_line)
        return OpenedText(
            _title(found),
            text,
            stored_file(found.project, found.path),
            found.start_line,
            _moment(found.updated_at),
            _marks(found),
            len(cut_lines(file.content, 1, found.start_line - 1).encode()),
        )

    async def _render(self, caller: AuthContext, ref: Ref) -> str | None:
        from commonplace.openapi.model import Spec

        spec = Spec(ref=str(stored_file(ref.project or "", ref.key)))
        try:
            parsed = await self._services.openapi.parse(
                caller, spec, full=True, pointer=ref.pointer
            )
        except CommonplaceError as error:
            if error.code is INVALID_ARGUMENT:
                return None  # the pointer names nothing
            raise
        return parsed.full.text if parsed.full is not None else None

    async def _list_operations(self, caller: AuthContext, ref: Ref) -> OpenedText:
        from commonplace.openapi.engine.walk.operations import OperationFilter
        from commonplace.openapi.engine.walk.query import WalkQuery
        from commonplace.openapi.model import Spec

        openapi = self._services.openapi
        spec = Spec(ref=str(stored_file(ref.project or "", ref.key)))
        summary = (await openapi.parse(caller, spec)).summary
        walked = await openapi.walk_operations(
            caller, spec, WalkQuery(limit=LISTED_OPERATIONS), OperationFilter()
        )
        lines = [
            f"{row.method} {row.path}"
            + (f"  {row.summary}" if row.summary else "")
            + (" (deprecated)" if row.deprecated else "")
            for row in walked.rows
            if not row.callback
        ]
        if walked.matched > len(walked.rows):
            lines.append(f"... and {walked.matched - len(walked.rows)} more")
        title = f"{summary.title} (OpenAPI {summary.version}, {summary.operation_count} operations)"
        return OpenedText(title, "\n".join(lines), ref)


def _moment(microseconds: int | None) -> str:
    if microseconds is None:
        return ""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat()


def _title(found: StoredExtract) -> str:
    return f"{found.title}: {found.summary}" if found.summary else found.title


def _marks(found: StoredExtract) -> tuple[str, ...]:
    return ("deprecated",) if found.facts.get("deprecated") else ()
