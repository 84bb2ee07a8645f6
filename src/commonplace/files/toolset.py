"""The files toolset: its names, without importing its tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Tool
from commonplace.kernel.errors import Code

if TYPE_CHECKING:
    from commonplace.files.service import FilesService
    from commonplace.kernel.settings import FilesSettings

NAMES = frozenset(
    {
        "file_stat",
        "file_read",
        "file_write",
        "file_delete",
        "file_list",
        "file_search",
        "file_edit",
        "file_rename",
        "file_grep",
        "file_symbols",
        "file_restore",
        "file_browse",
        "file_deleted",
        "file_projects",
        "file_usage",
        "file_index_status",
        "file_sync_state",
        "file_sync_apply",
    }
)


def toolset(service: Callable[[], FilesService], settings: FilesSettings | None = None) -> Toolset:
    """Return the tools over a service.

    `settings` are its own: schemas show their limits without building the service.
    """

    def load() -> Sequence[Tool]:
        from commonplace.files.tools.browsing import browsing_tools
        from commonplace.files.tools.finding import finding_tools
        from commonplace.files.tools.limits import with_limits
        from commonplace.files.tools.reading import reading_tools
        from commonplace.files.tools.status import status_tools
        from commonplace.files.tools.symbols import file_symbols_tool
        from commonplace.files.tools.syncing import syncing_tools
        from commonplace.files.tools.writing import writing_tools
        from commonplace.kernel.settings import FilesSettings as Defaults

        tools = (
            *reading_tools(service),
            *writing_tools(service),
            *finding_tools(service),
            file_symbols_tool(service),
            *browsing_tools(service),
            *status_tools(service),
            *syncing_tools(service),
        )
        return with_limits(tools, settings or Defaults())

    def codes() -> Sequence[Code]:
        from commonplace.files.errors import CODES

        return CODES

    return Toolset(
        name="files",
        summary="Durable project files with search: read, write, list, edit, search and grep.",
        names=NAMES,
        bare=frozenset(),
        load=load,
        codes=codes,
        large=frozenset({"file_sync_apply"}),  # a whole file, and every character may be escaped
    )
