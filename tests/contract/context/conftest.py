"""Context for the contract tests: every test with `office` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from context_office import office

__all__ = ["office"]
