"""Reasons why a page ends early; `page.answering` turns them into responses."""

from __future__ import annotations

from commonplace.console.caller import CallError


class SignedOut(Exception):
    """The key of the session is no longer accepted."""


class PageNotFound(Exception):
    """The address does not lead to a page, or what it names does not exist."""

    def __init__(self, message: str = "This page does not exist.", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or "Choose a page in the navigation, or press Ctrl+K and type its name."


class CallFailed(Exception):
    """A tool call that a page cannot do without has failed."""

    def __init__(self, error: CallError) -> None:
        super().__init__(error.get("message"))
        self.error = error


class FormRejected(Exception):
    """A form cannot be accepted: it is too large, malformed or carries no valid token."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
