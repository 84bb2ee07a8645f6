"""Capture: what sessions propose, to accept, edit or reject."""

from __future__ import annotations

from commonplace.console.page import PageRoute
from commonplace.console.pages.capture import editing, proposals

POST = ("POST",)

ROUTES = (
    PageRoute("/capture", proposals.show),
    PageRoute("/capture-decision", proposals.decide, POST),
    PageRoute("/new-capture", proposals.show_new),
    PageRoute("/new-capture", proposals.propose, POST),
    PageRoute("/capture/{identity}", editing.show),
    PageRoute("/capture/{identity}", editing.save, POST),
)
