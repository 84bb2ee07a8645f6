"""The pages of the console: one package or module per area, each with its `ROUTES`."""

from __future__ import annotations

from commonplace.console.page import PageRoute
from commonplace.console.pages import (
    audit,
    capture,
    components,
    context,
    files,
    find,
    instructions,
    memory,
    openapi,
    overview,
    references,
    tools,
)

PAGE_ROUTES: tuple[PageRoute, ...] = (
    *overview.ROUTES,
    *audit.ROUTES,
    *tools.ROUTES,
    *components.ROUTES,
    *context.ROUTES,
    *files.ROUTES,
    *find.ROUTES,
    *references.ROUTES,
    *openapi.ROUTES,
    *instructions.ROUTES,
    *memory.ROUTES,
    *capture.ROUTES,
)
