"""Values of code anchors: the code that an entry speaks of, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from commonplace.kernel.json_types import Json, JsonObject

ANCHORS = 25  # of one entry
REPOSITORY_CHARACTERS = 200
PATH_CHARACTERS = 1_024
SYMBOL_CHARACTERS = 512
LAST_LINE = 10_000_000
# The digest of a text; then that of its file, its first line, and samples of its lines and of
# those of the file, and how many definitions have it if several do.
HASH = re.compile(
    r"[0-9a-f]{32}"
    r"(?:\.[0-9a-f]{16}\.(?:[0-9a-f]{8}){1,13}\.(?:[0-9a-f]{8}){0,12}(?:\.[1-9][0-9]{0,3})?)?"
)
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ADDRESS = re.compile(r".*[/\\]|[^@\s]+@[^:\s]+:")  # of a folder or of a remote
_LAST_PART = re.compile(r"([^/\\:]+?)(?:\.git)?[/\\]*\Z")

LineRange = tuple[int, int]  # first and last line, from 1


class AnchorState(StrEnum):
    """What became of the code of an anchor."""

    VALID = "valid"  # the same text, maybe on other lines
    MOVED = "moved"  # the same text at another path or under another symbol
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"  # it could not be compared


STALE_STATES = frozenset((AnchorState.CHANGED, AnchorState.GONE))


@dataclass(frozen=True, slots=True)
class CodeAnchor:
    """A place in a repository: a symbol or lines of a file, or a whole file.

    `hash` describes its text without white space (`engine/code/fingerprint.py`); it is empty if
    the repository could not be read. `lines` of a symbol are those it had. `commit` was checked
    out.
    """

    repository: str
    path: str
    symbol: str | None = None
    lines: LineRange | None = None
    hash: str = ""
    commit: str = ""

    def __post_init__(self) -> None:
        problem = anchor_problem(self)
        if problem:
            raise ValueError(problem)

    @property
    def digest(self) -> str:
        """Return the hash of the text alone."""
        return self.hash[:32]

    @property
    def key(self) -> tuple[str, str, str | None, LineRange | None]:
        """Identify the place; an entry has one anchor for each."""
        return self.repository, self.path, self.symbol, None if self.symbol else self.lines

    @property
    def place(self) -> str:
        """Return the place as it is shown: `src/a.py:Store.add` or `src/a.py:10-20`."""
        return show_place(self.path, self.symbol, self.lines)


@dataclass(frozen=True, slots=True)
class AnchorVerdict:
    """The state of an anchor, where its text is now, and why nothing could be said."""

    anchor: CodeAnchor
    state: AnchorState
    path: str = ""
    symbol: str | None = None
    lines: LineRange | None = None
    reason: str = ""

    @property
    def is_stale(self) -> bool:
        return self.state in STALE_STATES

    @property
    def now(self) -> str:
        """Return where the text is now, as it is shown; empty if nowhere."""
        return show_place(self.path, self.symbol, self.lines) if self.path else ""


def show_place(path: str, symbol: str | None, lines: LineRange | None) -> str:
    """Return a path with its symbol or its lines."""
    if symbol:
        return f"{path}:{symbol}"
    if lines is None:
        return path
    return f"{path}:{lines[0]}" if lines[0] == lines[1] else f"{path}:{lines[0]}-{lines[1]}"


def anchor_record(anchor: CodeAnchor) -> JsonObject:
    """Return an anchor as JSON, for the store and for exports."""
    record: JsonObject = {"repository": anchor.repository, "path": anchor.path}
    if anchor.symbol is not None:
        record["symbol"] = anchor.symbol
    if anchor.lines is not None:
        record["lines"] = list(anchor.lines)
    record |= {"hash": anchor.hash} if anchor.hash else {}
    return record | ({"commit": anchor.commit} if anchor.commit else {})


def read_anchor(record: Json) -> CodeAnchor:
    """Make an anchor from JSON. Raises ValueError, also for a record of another shape."""
    if not isinstance(record, dict):
        raise ValueError("an anchor is an object")
    texts = {name: record.get(name) for name in ("repository", "path", "hash", "commit", "symbol")}
    if any(value is not None and not isinstance(value, str) for value in texts.values()):
        raise ValueError("the fields of an anchor are texts")
    lines = record.get("lines")
    if lines is not None:
        if not isinstance(lines, list) or [type(line) for line in lines] != [int, int]:
            raise ValueError("lines are the first and the last line")
        lines = (lines[0], lines[1])
    return CodeAnchor(
        texts["repository"] or "",
        texts["path"] or "",
        texts["symbol"] or None,
        lines,
        texts["hash"] or "",
        texts["commit"] or "",
    )


def repository_name(text: str) -> str:
    """Return the name of a repository from its name, its path or the address of a remote.

    `git@github.com:acme/shop.git`, `acme/shop` and `/home/ann/shop` are `shop`.
    """
    text = text.strip()
    is_address = _ADDRESS.match(text) and ".." not in text
    return (last_part(text) if is_address else "") or text


def last_part(address: str) -> str:
    """Return the last part of a path or an address, without `.git`; empty if there is none."""
    found = _LAST_PART.search(address.strip())
    return unquote(found[1]).strip() if found else ""


def is_one_of(name: str, names: Iterable[str]) -> bool:
    """Say whether a repository has a name, in capitals or not."""
    return name.casefold() in {other.casefold() for other in names}


def anchor_problem(anchor: CodeAnchor) -> str:
    """Return what is wrong with the values of an anchor; empty if nothing is."""
    name = anchor.repository
    if not 1 <= len(name) <= REPOSITORY_CHARACTERS or name in (".", ".."):
        return f"a repository is a name of 1 to {REPOSITORY_CHARACTERS} characters"
    if _CONTROL.search(name) or "/" in name or "\\" in name:
        return "a repository is the name of a folder or a project, not a path or an address"
    if problem := path_problem(anchor.path):
        return problem
    symbol = anchor.symbol
    if symbol is not None and (
        not 1 <= len(symbol) <= SYMBOL_CHARACTERS or _CONTROL.search(symbol)
    ):
        return f"a symbol has 1 to {SYMBOL_CHARACTERS} characters, such as Store.add"
    if anchor.lines is not None and not 1 <= anchor.lines[0] <= anchor.lines[1] <= LAST_LINE:
        return "lines are counted from 1, the first before the last"
    if anchor.hash and not HASH.fullmatch(anchor.hash):
        return "the hash is not one that memory computed"
    if anchor.commit and not COMMIT.fullmatch(anchor.commit):
        return "a commit has 40 or 64 hexadecimal digits"
    return ""


def path_problem(path: str) -> str:
    """Return why a path is not one inside a repository; empty if it is."""
    if not 1 <= len(path) <= PATH_CHARACTERS or _CONTROL.search(path):
        return f"a path has 1 to {PATH_CHARACTERS} characters"
    parts = path.split("/")
    if path.startswith("/") or any(part in ("", ".", "..") for part in parts):
        return "a path starts at the top of the repository and stays inside: src/a.py"
    if ".git" in parts:
        return "a path inside .git is not code"
    return ""
