"""Error codes of backups."""

from __future__ import annotations

from commonplace.kernel.errors import Code
from commonplace.storage.backup.restore import STATE_EXISTS
from commonplace.storage.backup.unpacking import ARCHIVE_INVALID

CODES: tuple[Code, ...] = (ARCHIVE_INVALID, STATE_EXISTS)
