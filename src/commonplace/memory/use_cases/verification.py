"""Compare all anchors of a repository with a folder, for continuous integration."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace.kernel.auth import LOCAL_TENANT, Tenant
from commonplace.memory.anchors import AnchorState, CodeAnchor, is_one_of, path_problem
from commonplace.memory.code.checker import CodeChecker
from commonplace.memory.code.git import find_top, is_bare, repository_names
from commonplace.memory.code.repositories import Repositories
from commonplace.memory.errors import ANCHOR_NOT_FOUND, failure
from commonplace.memory.model import Entry, EntryStatus
from commonplace.memory.results import AnchoredEntry
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.use_cases.anchoring import PAGE, AnchorReview

_LINES = re.compile(r"\d+(?:-\d+)?")
_LIKE_LINES = re.compile(r"(?=.*\d)[\d-]+")


@dataclass(frozen=True, slots=True)
class VerifiedFolder:
    """The entries that speak of a folder, the names that it has, and the other names in anchors."""

    rows: tuple[AnchoredEntry, ...]
    names: tuple[str, ...]
    others: Mapping[str, int]  # entries by the name of another repository


async def verify_folder(
    store: MemoryStore,
    tenant: Tenant,
    folder: Path,
    name: str | None = None,
    entries: Iterable[Entry] | None = None,
) -> VerifiedFolder:
    """Compare the entries that speak of a repository with a checkout of it.

    Of `entries` if they are given, else of all entries of the tenant. If none speaks of the folder
    and no name is given, the checkout around it is compared.
    """
    given = None if entries is None else list(entries)
    found = await _verify(store, tenant, folder, name, given)
    top = find_top(folder)
    if found.rows or name or top is None or top == folder:
        return found
    return await _verify(store, tenant, top, name, given)


async def _verify(
    store: MemoryStore,
    tenant: Tenant,
    folder: Path,
    name: str | None,
    entries: Sequence[Entry] | None,
) -> VerifiedFolder:
    names = (name,) if name else repository_names(folder)
    checker = CodeChecker(Repositories(given=folder, names=names))
    try:
        review = AnchorReview(store, checker)
        if entries is None:
            found = [row async for row in review.list_all(tenant)]
        else:
            found = await _compare(review, tenant, entries)
    finally:
        checker.close()
    own: list[AnchoredEntry] = []
    others: Counter[str] = Counter()
    for row in found:
        about = tuple(v for v in row.verdicts if is_one_of(v.anchor.repository, names))
        own += [AnchoredEntry(row.entry, about)] if about else []
        others.update({v.anchor.repository for v in row.verdicts if v not in about})
    return VerifiedFolder(tuple(own), names, dict(others.most_common()))


async def _compare(
    review: AnchorReview, tenant: Tenant, entries: Sequence[Entry]
) -> list[AnchoredEntry]:
    active = [entry for entry in entries if entry.anchors and entry.status is EntryStatus.ACTIVE]
    found: list[AnchoredEntry] = []
    for at in range(0, len(active), PAGE):
        page = active[at : at + PAGE]
        states = await review.compare(tenant, page, fresh=True)
        found += [AnchoredEntry(entry, states[entry.id]) for entry in page]
    return found


def count_states(rows: Iterable[AnchoredEntry]) -> dict[AnchorState, int]:
    """Return how many anchors have each state."""
    counts = dict.fromkeys(AnchorState, 0)
    for row in rows:
        for verdict in row.verdicts:
            counts[verdict.state] += 1
    return counts


def take_from_checkout(place: str, working: Path) -> CodeAnchor:
    """Return the anchor of `PATH`, `PATH:10-20` or `PATH:SYMBOL` in the checkout around it.

    Raises ANCHOR_NOT_FOUND.
    """
    if not place.strip(":"):
        raise failure(
            ANCHOR_NOT_FOUND, "No path is given.", hint="Write PATH, PATH:10-20 or PATH:SYMBOL."
        )
    path, part = _split_place(place, working)
    top = find_top(path.parent) or working
    if top not in path.parents:
        raise failure(ANCHOR_NOT_FOUND, f"{place} is not below the working folder.")
    relative = path.relative_to(top).as_posix()
    if path_problem(relative) or is_bare(top):
        raise failure(ANCHOR_NOT_FOUND, f"{place} is not a checked-out file of a repository.")
    names = repository_names(top)
    if _LIKE_LINES.fullmatch(part) and not _LINES.fullmatch(part):
        raise failure(ANCHOR_NOT_FOUND, f"{place}: lines are written 10 or 10-20.")
    lines, symbol = _read_part(part)
    checker = CodeChecker(Repositories(given=top, names=names))
    try:
        return checker.take_now(LOCAL_TENANT, CodeAnchor(names[0], relative, symbol, lines))
    except ValueError as error:
        raise failure(ANCHOR_NOT_FOUND, f"{place}: {error}.") from error
    finally:
        checker.close()


def _split_place(place: str, working: Path) -> tuple[Path, str]:
    """Return the path without links resolved, and what follows it."""
    whole = _absolute(working, place)
    if whole.exists() or whole.is_symlink() or ":" not in place:
        return whole, ""
    for at in (at for at, character in enumerate(place) if character == ":"):
        path = _absolute(working, place[:at])
        if path.is_file() or path.is_symlink():
            return path, place[at + 1 :]
    head, _, part = place.partition(":")
    return _absolute(working, head), part


def _absolute(working: Path, path: str) -> Path:
    return Path(os.path.normpath(working / path))


def _read_part(part: str) -> tuple[tuple[int, int] | None, str | None]:
    if _LINES.fullmatch(part):
        first, _, last = part.partition("-")
        return (int(first), int(last or first)), None
    return None, part or None
