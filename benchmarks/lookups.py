"""Exact look-ups: identifiers, definitions, error texts and paths of three packages.

`data/lookups.json` holds 200 of them. An answer is right if the first result is in the file and
holds the text (for a path with a line: that line). Rankings were tuned on the half with parity 0.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from benchmarks.repositories import KeptVectors, Searcher, opened, unpack
from benchmarks.retrieval import parity
from commonplace.files.model import FoundChunk
from commonplace.kernel.json_types import JsonObject

LOOKUPS = Path(__file__).parent / "data" / "lookups.json"


def is_right(searcher: Searcher, chunk: FoundChunk, lookup: JsonObject) -> bool:
    if searcher.path(chunk) != lookup["path"]:
        return False
    if "line" in lookup:
        first, last = searcher.repository.lines(searcher.path(chunk), chunk.start, chunk.end)
        return bool(first <= lookup["line"] <= last)
    return lookup["text"] in chunk.content


def report_lookups(embedder: KeptVectors | None, each: bool) -> None:
    lookups: list[JsonObject] = json.loads(LOOKUPS.read_text("utf-8"))
    ranks: dict[tuple[str, int], list[int]] = defaultdict(list)
    for package in sorted({str(lookup["package"]) for lookup in lookups}):
        with opened(unpack(package), embedder) as searcher:
            for lookup in (lookup for lookup in lookups if lookup["package"] == package):
                query = str(lookup["query"])
                found = searcher.search(query)
                rank = next(
                    (at for at, chunk in enumerate(found, 1) if is_right(searcher, chunk, lookup)),
                    0,
                )
                ranks[str(lookup["kind"]), parity(query)].append(rank)
                if each and rank != 1:
                    first = f"{found[0].path} {found[0].content[:60]!r}" if found else ""
                    print(f"  half {parity(query)} rank {rank:>2}: {query!r}, first is {first}")
    print(f"\nLook-ups, the right chunk first: {'':<8}{'tuned on':>12}{'untouched':>12}{'all':>12}")
    kinds = sorted({kind for kind, _ in ranks})
    for kind in (*kinds, "all"):
        halves = [
            [
                rank
                for (named, at), row in ranks.items()
                if named == kind or kind == "all"
                for rank in row
                if at == half
            ]
            for half in (0, 1)
        ]
        parts = [_share(halves[0]), _share(halves[1]), _share(halves[0] + halves[1])]
        print(f"  {kind:<38}" + "".join(f"{part:>12}" for part in parts))


def _share(ranks: list[int]) -> str:
    right = sum(rank == 1 for rank in ranks)
    return f"{right}/{len(ranks)} {right / len(ranks):.0%}" if ranks else "-"
