"""The openapi toolset: its names, and its tools, which are loaded on first use."""

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
    from commonplace.openapi.service import OpenApiService
    from commonplace.openapi.store.loader import StoredFiles

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
    """Return the toolset; its tools and the service are loaded on first use."""

    def load() -> Sequence[Tool]:
        from commonplace.openapi.tools.convert import convert_tool
        from commonplace.openapi.tools.diff import diff_tool
        from commonplace.openapi.tools.fix import fix_tool
        from commonplace.openapi.tools.generate import generate_tool
        from commonplace.openapi.tools.join import bundle_tool, join_tool
        from commonplace.openapi.tools.overlay import overlay_apply_tool, overlay_validate_tool
        from commonplace.openapi.tools.parse import parse_tool
        from commonplace.openapi.tools.spec import stored_file_tools
        from commonplace.openapi.tools.validate import validate_tool
        from commonplace.openapi.tools.walk import operations, parts, schemas

        builders = (
            validate_tool,
            parse_tool,
            diff_tool,
            operations.walk_operations_tool,
            schemas.walk_schemas_tool,
            parts.walk_parameters_tool,
            parts.walk_responses_tool,
            parts.walk_headers_tool,
            parts.walk_security_tool,
            operations.walk_paths_tool,
            schemas.walk_refs_tool,
            fix_tool,
            convert_tool,
            join_tool,
            overlay_apply_tool,
            overlay_validate_tool,
            generate_tool,
            bundle_tool,
        )
        ready = service()
        return tuple(replace(build(ready), reaches=stored_file_tools) for build in builders)

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
    stored_files: StoredFiles | None = None,
) -> OpenApiService:
    """Build the service for bootstrap and the command line.

    `stored_files` are the files of this server, which a spec may name by reference.
    """
    from commonplace.openapi.model import DocumentLimits
    from commonplace.openapi.service import OpenApiService
    from commonplace.openapi.store.access import Access
    from commonplace.openapi.store.documents import DocumentStore

    if settings is None:
        access = Access(local=local, roots=tuple(roots), allow_hosts=tuple(allow_hosts))
        return OpenApiService(DocumentStore(access), stored_files=stored_files)
    access = Access(
        local, tuple(roots), tuple(allow_hosts), url_timeout_seconds=settings.url_timeout_seconds
    )
    limits = DocumentLimits(
        settings.max_document_bytes,
        min(settings.max_depth, DocumentLimits().depth),
        settings.max_nodes,
        max(settings.max_aliases, 1) * 10,
    )
    return OpenApiService(
        DocumentStore(access, limits=limits, cache_entries=settings.cache_entries),
        stored_files=stored_files,
        answer_bytes=settings.max_answer_bytes,
    )
