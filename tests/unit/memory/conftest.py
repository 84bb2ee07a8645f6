"""Memory for the unit tests: every test with these fixtures runs on SQLite and on PostgreSQL,
each time without rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from memory_calls import embedding_memory, memory, url

__all__ = ["embedding_memory", "memory", "url"]
