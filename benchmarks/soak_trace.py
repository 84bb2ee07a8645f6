"""A tool for `benchmarks.soak --trace`: what the server's memory is made of, and which objects
became more since it was last asked.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tracemalloc
from collections import Counter
from typing import Any

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Arguments, Context, Tool

SHOWN = 12
_types: Counter[str] = Counter()
_before: list[tracemalloc.Snapshot] = []


class _Mallinfo(ctypes.Structure):
    NAMES = (
        "arena",
        "ordblks",
        "smblks",
        "hblks",
        "hblkhd",
        "usmblks",
        "fsmblks",
        "uordblks",
        "fordblks",
        "keepcost",
    )
    _fields_ = tuple((name, ctypes.c_size_t) for name in NAMES)


def _growth(context: Context, arguments: Any) -> dict[str, Any]:
    unreachable = gc.collect()
    counts = Counter(
        f"{type(thing).__module__}.{type(thing).__qualname__}" for thing in gc.get_objects()
    )
    lines = [f"{sys.getallocatedblocks():,} blocks of Python, {sum(counts.values()):,} containers"]
    lines.append(f"{unreachable:,} objects were garbage in cycles")
    if _types:
        more = counts - _types
        lines += [f"    {count:+,} {name}" for name, count in more.most_common(SHOWN)]
    _types.clear()
    _types.update(counts)
    if os.name == "posix" and sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.mallinfo2.restype = _Mallinfo
        found = libc.mallinfo2()
        lines.append(
            f"malloc: {found.uordblks:,} bytes used, {found.fordblks:,} free, {found.hblkhd:,} "
            f"mapped"
        )
    lines += _traced()
    return {"lines": lines}


def _traced() -> list[str]:
    """Where it was allocated, with PYTHONTRACEMALLOC=8 in the environment.

    That makes the server ten times slower.
    """
    if not tracemalloc.is_tracing():
        return []
    snapshot = tracemalloc.take_snapshot().filter_traces(
        (tracemalloc.Filter(False, tracemalloc.__file__),)
    )
    lines: list[str] = []
    if _before:
        for found in snapshot.compare_to(_before[0], "traceback")[:SHOWN]:
            lines.append(f"{found.size_diff:+,} bytes in {found.count_diff:+,} blocks")
            lines.extend(f"    {line.strip()}" for line in found.traceback.format(8))
    _before[:] = [snapshot]
    return lines


def toolset() -> Toolset:
    tool = Tool(
        "memory_growth",
        "trace",
        "Growth",
        "Where memory was allocated.",
        Arguments,
        dict[str, Any],
        _growth,
    )
    return Toolset(
        "trace",
        "Memory of this process.",
        frozenset({"memory_growth"}),
        frozenset(),
        lambda: [tool],
        lambda: (),
    )
