"""The tools explorer: every tool as a form made from its schema, with its answer and copies."""

from commonplace.console.pages.tools import list as listing
from commonplace.console.pages.tools import tool

ROUTES = (*listing.ROUTES, *tool.ROUTES)
