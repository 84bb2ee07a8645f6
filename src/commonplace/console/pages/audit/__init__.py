"""The audit trail: what was changed, refused and read, and whether the record is complete."""

from commonplace.console.pages.audit import list as listing
from commonplace.console.pages.audit import record

ROUTES = (*listing.ROUTES, *record.ROUTES)
