"""The openapi toolset: its static table of names, and how its tools are loaded when first
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.dispatch.registry import Toolset
from commonplace.openapi.errors import CODES

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.dispatch.tool import Tool
    from commonplace.kernel.settings import OpenApiSettings
    from commonplace.openapi.service import OpenApiService, StoredFile

READ = (
    "validate",
    "parse",
    "diff",
    "walk_operations",
    "walk_schemas",
    "walk_parameters",
    "walk_responses",
    "walk_headers",
    "walk_security",
    "walk_paths",
    "walk_refs",
)
WRITE = ("fix", "convert", "join", "overlay_apply", "overlay_validate", "generate")
EXTENDED = ("bundle",)
CONTRACT = (*READ, *WRITE)
"""The 17 names of the contract; the listed names put `oas_` before them."""

NAMES = frozenset(name for plain in CONTRACT for name in (plain, f"oas_{plain}")) | {
    f"oas_{plain}" for plain in EXTENDED
}


def toolset(service: Callable[[], OpenApiService]) -> Toolset:
    def load() -> Sequence[Tool]:
        from commonplace.openapi.tools.diff import diff_tool
        from commonplace.openapi.tools.parse import parse_tool
        from commonplace.openapi.tools.spec import stored_file_tools
        from commonplace.openapi.tools.validate import validate_tool
        from commonplace.openapi.tools.walk import walk_tools
        from commonplace.openapi.tools.write import write_tools

        ready = service()
        tools = (
            validate_tool(ready),
            parse_tool(ready),
            diff_tool(ready),
            *walk_tools(ready),
            *write_tools(ready),
        )
        return tuple(replace(tool, reaches=stored_file_tools) for tool in tools)

    return Toolset(
        name="openapi",
        summary="Validate, query, compare, repair, convert, join and generate code from OpenAPI "
        "descriptions.",
        names=NAMES,
        bare=frozenset(),
        load=load,
        codes=lambda: CODES,
        large=NAMES,
        takes_bytes=True,
    )


def build_openapi(
    *,
    local: bool = True,
    roots: Sequence[Path] = (),
    allow_hosts: Sequence[str] = (),
    settings: OpenApiSettings | None = None,
    stored: StoredFile | None = None,
) -> OpenApiService:
    """The service as bootstrap and the command line assemble it.

    `stored` reads a file of this server by its reference.
    """
    from commonplace.openapi.model import DocumentLimits
    from commonplace.openapi.service import Access, OpenApiService

    if settings is None:
        return OpenApiService(
            Access(local=local, roots=tuple(roots), allow_hosts=tuple(allow_hosts)), stored=stored
        )
    limits = DocumentLimits(
        settings.max_document_bytes,
        min(settings.max_depth, DocumentLimits().depth),
        settings.max_nodes,
        max(settings.max_aliases, 1) * 10,
    )
    access = Access(
        local, tuple(roots), tuple(allow_hosts), url_timeout_seconds=settings.url_timeout_seconds
    )
    return OpenApiService(
        access,
        limits=limits,
        stored=stored,
        cache_entries=settings.cache_entries,
        answer_bytes=settings.max_answer_bytes,
    )
