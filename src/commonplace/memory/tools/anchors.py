"""Wire shapes of anchors: the code that an entry speaks of, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments
from commonplace.memory.anchors import (
    ANCHORS,
    PATH_CHARACTERS,
    REPOSITORY_CHARACTERS,
    SYMBOL_CHARACTERS,
    AnchorVerdict,
    CodeAnchor,
    LineRange,
    repository_name,
)
from commonplace.memory.errors import INVALID_ANCHOR, failure

MOST_ANCHORS = ANCHORS
FORM = '{"path": "src/a.py", "symbol": "Store.add"}, or "lines": "10-20" in place of the symbol'
SHOWN_STALE = 3  # anchors that a mark names
_LINES = re.compile(r"(\d{1,8})(?:-(\d{1,8}))?")


class AnchorInput(Arguments):
    path: str = Field(min_length=1, max_length=PATH_CHARACTERS, description="src/a.py")
    symbol: str | None = Field(None, max_length=SYMBOL_CHARACTERS, description="Store.add")
    lines: str | None = Field(None, max_length=1_000, description="10-20")
    repository: str | None = Field(None, max_length=REPOSITORY_CHARACTERS)
    hash: str | None = Field(None, max_length=1_000)


class AnchorOutput(TypedDict):
    repository: str
    path: str
    symbol: NotRequired[str]
    lines: NotRequired[str]
    hash: NotRequired[str]
    commit: NotRequired[str]
    state: str
    now: NotRequired[str]
    reason: NotRequired[str]


class StaleAnchorOutput(TypedDict):
    place: str
    state: str
    repository: str
    now: NotRequired[str]
    commit: NotRequired[str]
    committed_at: NotRequired[str]


def read_anchor_inputs(
    given: Sequence[AnchorInput], repository: str | None
) -> tuple[CodeAnchor, ...]:
    """Make anchors; `repository` is for those that name none. Raises INVALID_ANCHOR."""
    anchors = []
    for number, anchor in enumerate(given):
        name = repository_name(anchor.repository or repository or "")
        if not name:
            raise failure(
                INVALID_ANCHOR,
                "An anchor names no repository, and the entry no project.",
                hint="Give the name of the repository's folder, or of a project of files.",
                field=f"anchors.{number}.repository",
            )
        try:
            anchors.append(
                CodeAnchor(
                    name,
                    anchor.path.removeprefix("./"),
                    anchor.symbol or None,
                    _parse_lines(anchor.lines) if anchor.lines else None,
                    *_split_hash(anchor.hash or ""),
                )
            )
        except ValueError as error:
            raise failure(
                INVALID_ANCHOR,
                f"Anchor {number + 1}: {error}.",
                hint=f"Write {FORM}.",
                field=f"anchors.{number}",
            ) from error
    return tuple(anchors)


def join_hash(anchor: CodeAnchor) -> str:
    """Return the hash as tools take it: with the commit behind it, if there is one."""
    return f"{anchor.hash}@{anchor.commit}" if anchor.commit else anchor.hash


def _split_hash(text: str) -> tuple[str, str]:
    digest, _, commit = text.partition("@")
    return digest, commit


def _parse_lines(text: str) -> LineRange:
    """Read `10` or `10-20`. Raises ValueError."""
    found = _LINES.fullmatch(text)
    if found is None:
        raise ValueError("lines are written 10-20")
    return int(found[1]), int(found[2] or found[1])


def show_anchor(verdict: AnchorVerdict) -> AnchorOutput:
    """Return an anchor whole, with its state."""
    anchor = verdict.anchor
    output: AnchorOutput = {
        "repository": anchor.repository,
        "path": anchor.path,
        "state": verdict.state.value,
    }
    if anchor.symbol is not None:
        output["symbol"] = anchor.symbol
    if anchor.lines is not None:
        output["lines"] = "-".join(str(line) for line in anchor.lines)
    if anchor.hash:
        output["hash"] = anchor.digest
    if anchor.commit:
        output["commit"] = anchor.commit[:12]
    if verdict.now and verdict.now != anchor.place:
        output["now"] = verdict.now
    elif verdict.lines is not None and verdict.lines != anchor.lines:
        output["now"] = f"{verdict.path}:{verdict.lines[0]}-{verdict.lines[1]}"
    if verdict.reason:
        output["reason"] = verdict.reason
    return output


def stale_mark(verdicts: Iterable[AnchorVerdict]) -> str:
    """Return which code changed or is gone, in one short line; empty if none."""
    stale = [verdict for verdict in verdicts if verdict.is_stale]
    parts = [f"{verdict.state} {verdict.anchor.place}" for verdict in stale[:SHOWN_STALE]]
    if len(stale) > SHOWN_STALE:
        parts.append(f"{len(stale) - SHOWN_STALE} more")
    return ", ".join(parts)
