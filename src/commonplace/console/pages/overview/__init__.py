"""The first page: whether the server is well, what it holds, and what needs a person."""

from commonplace.console.pages.overview.page import ROUTES

__all__ = ["ROUTES"]
