"""The pages of the console: one package or module per area, each with its `ROUTES`."""

from __future__ import annotations

from commonplace.console.page import PageRoute
from commonplace.console.pages import components, find

PAGE_ROUTES: tuple[PageRoute, ...] = (
    *components.ROUTES,
    *find.ROUTES,
)
