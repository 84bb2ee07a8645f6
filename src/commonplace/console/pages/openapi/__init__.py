"""OpenAPI: what a document is, what is wrong with it, its parts, and what to do with it."""

from __future__ import annotations

from commonplace.console.page import PageRoute
from commonplace.console.pages.openapi import downloads, stored, workbench

ROUTES: tuple[PageRoute, ...] = (*workbench.ROUTES, *downloads.ROUTES, *stored.ROUTES)
