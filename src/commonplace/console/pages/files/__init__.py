"""Files: projects, folders, one file to read and change, search, uploads, deleted files."""

from __future__ import annotations

from commonplace.console.page import PageRoute
from commonplace.console.pages.files import browse, change, entry, live, move, upload

ROUTES: tuple[PageRoute, ...] = (
    *browse.ROUTES,
    *entry.ROUTES,
    *change.ROUTES,
    *move.ROUTES,
    *upload.ROUTES,
    *live.ROUTES,
)
