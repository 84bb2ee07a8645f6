"""Fixtures of memory; tests that use them run on SQLite and on PostgreSQL, without rows."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from memory_calls import embedding_memory, memory, url

__all__ = ["embedding_memory", "memory", "url"]
