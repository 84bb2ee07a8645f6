"""`file_list` against a listing computed from the paths alone, at any depth and limit."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from files_box import Box

NAMES = ("a", "a-b", "a.b", "a0", "a_", "A", "b", "b.txt", "0", "-")


def paths_of(rng: random.Random, count: int) -> list[str]:
    """Return paths of files that do not conflict with each other."""
    paths: set[str] = set()
    while len(paths) < count:
        path = "".join(f"/{rng.choice(NAMES)}" for _ in range(rng.randint(1, 5)))
        if not any(other.startswith(path + "/") or path.startswith(other + "/") for other in paths):
            paths.add(path)
    return sorted(paths)


def expected(paths: list[str], base: str, depth: int) -> list[tuple[str, str]]:
    entries: dict[str, str] = {}
    for path in paths:
        if not path.startswith(base + "/"):
            continue
        segments = path[len(base) + 1 :].split("/")
        for level in range(1, min(depth, len(segments)) + 1):
            entries[base + "/" + "/".join(segments[:level])] = (
                "FILE" if level == len(segments) else "DIRECTORY"
            )
    return sorted(entries.items())


def listed(box: Box, **arguments: Any) -> tuple[list[tuple[str, str]], bool]:
    answer = box.call("file_list", **arguments)
    return [(entry["path"], entry["type"]) for entry in answer["entries"]], answer["has_more"]


@pytest.mark.parametrize("seed", [1, 2])
def test_every_listing_follows_from_the_paths(box: Box, seed: int) -> None:
    rng = random.Random(seed)
    paths = paths_of(rng, 60)
    for path in paths:
        box.write(path)
    for gone in rng.sample(paths, 10):
        box.call("file_delete", path=gone)
        paths.remove(gone)
    bases = {""} | {path[:at] for path in paths for at in range(1, len(path)) if path[at] == "/"}
    for base in sorted(bases):
        for depth in (1, 2, 3, 9):
            whole = expected(paths, base, depth)
            for limit in (1, 2, 5, 1000):
                assert listed(box, path=base, depth=depth, limit=limit) == (
                    whole[:limit],
                    len(whole) > limit,
                ), (base, depth, limit)


def test_unreached_directories_cost_a_listing_nothing(box: Box) -> None:
    """No file lies at the root, so looking for one must not visit every directory."""

    def seconds() -> float:
        times = []
        for _ in range(9):
            begun = time.perf_counter()
            assert len(box.paths(limit=5)) == 5
            times.append(time.perf_counter() - begun)
        return min(times)  # other programs cannot make it smaller

    for number in range(20):
        box.write(f"/d{number:04}/file")
    few = seconds()
    for number in range(20, 1200):
        box.write(f"/d{number:04}/file")
    assert seconds() < 6 * few + 0.002
