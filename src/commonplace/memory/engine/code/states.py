"""Decide what became of the code of an anchor, from its file and the other files around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from commonplace.memory.anchors import AnchorState, AnchorVerdict, CodeAnchor, LineRange
from commonplace.memory.engine.code.fingerprint import Fingerprint, SourceText

SIMILAR = 0.5  # of the lines of a text: more of them elsewhere, and it changed there
TELLING_LINES = 2  # a shorter text is recognised at its own path only
UNMISTAKABLE_LINES = 4  # a shorter definition of another file and name may always have been there
LARGER = 3  # times the lines of a definition: something larger only contains some of it
NO_HASH = "no hash was kept: the repository could not be read"

Symbols = Mapping[str, Sequence[LineRange]]  # lines of each definition by qualified name


class CodeFile(Protocol):
    """A file as it is now."""

    @property
    def path(self) -> str: ...

    @property
    def text(self) -> SourceText: ...

    def symbols(self) -> Symbols | None:
        """Return what the file defines; None if it cannot be parsed."""
        ...


class OtherFiles(Protocol):
    """The other files of the same kind in a repository."""

    def with_line(self, number: int) -> Iterable[CodeFile]:
        """Return the files that have a line of this hash."""
        ...

    def renamed(self, wanted: Fingerprint, share: float) -> Iterable[CodeFile]:
        """Return the files with more than a share of the lines of a file, best first."""
        ...

    @property
    def gap(self) -> str:
        """Say why some files were not read; empty if all were."""
        ...


def decide(anchor: CodeAnchor, own: CodeFile | None, others: OtherFiles) -> AnchorVerdict:
    """Return the state of an anchor; `own` is the file at its path, None if there is none."""
    if not anchor.hash:
        return AnchorVerdict(anchor, AnchorState.UNKNOWN, reason=NO_HASH)
    wanted = Fingerprint.parse(anchor.hash)
    if own is not None:
        if wanted.file and own.text.digest == wanted.file:
            return _at(anchor, AnchorState.VALID, anchor.path, anchor.symbol, anchor.lines)
        symbol = anchor.symbol
        verdict = (
            _decide_symbol(anchor, symbol, wanted, own)
            if symbol is not None
            else _decide_lines(anchor, wanted, own)
        )
        if verdict is not None:
            return verdict
    return (
        _find_elsewhere(anchor, wanted, own, others)
        or _find_similar(anchor, wanted, own, others)
        or _conclude(anchor, own, others)
    )


def _decide_symbol(
    anchor: CodeAnchor, symbol: str, wanted: Fingerprint, own: CodeFile
) -> AnchorVerdict | None:
    symbols = own.symbols()
    if symbols is None:
        place = _find_text(anchor, wanted, own)
        if place is not None:
            return _at(anchor, AnchorState.VALID, own.path, symbol, place)
        reason = "the file cannot be parsed"
        return AnchorVerdict(anchor, AnchorState.UNKNOWN, own.path, symbol, reason=reason)
    spans = symbols.get(symbol)
    if spans:
        same = own.text.digest_of(spans) == wanted.digest
        state = AnchorState.VALID if same else AnchorState.CHANGED
        return _at(anchor, state, own.path, symbol, _around(spans))
    places = {
        name: _around(spans)
        for name, spans in symbols.items()
        if own.text.digest_of(spans) == wanted.digest
    }
    if not places or len(places) < wanted.copies:  # only copies of the text are left
        return None
    first = anchor.lines[0] if anchor.lines else 1
    name = min(places, key=lambda name: abs(places[name][0] - first))
    return _at(anchor, AnchorState.MOVED, own.path, name, places[name])


def _decide_lines(anchor: CodeAnchor, wanted: Fingerprint, own: CodeFile) -> AnchorVerdict | None:
    place = _find_text(anchor, wanted, own)
    if place is not None:
        return _at(anchor, AnchorState.VALID, own.path, None, place)
    # A whole file that is still there has changed; lines of it may have moved to another one.
    return None if anchor.lines else _at(anchor, AnchorState.CHANGED, own.path, None, None)


def _find_text(anchor: CodeAnchor, wanted: Fingerprint, file: CodeFile) -> LineRange | None:
    """Return the lines of a text in a file: where it was, or nearest to that."""
    text = file.text
    first, last = anchor.lines or (1, len(text.lines))
    if last <= len(text.lines) and text.digest_of([(first, last)]) == wanted.digest:
        return first, last
    return text.find(wanted, last - first + 1, first)


def _find_elsewhere(
    anchor: CodeAnchor, wanted: Fingerprint, own: CodeFile | None, others: OtherFiles
) -> AnchorVerdict | None:
    """Look for the same text in other files; the shorter it is, the more its name must be equal."""
    telling = len(wanted.sample)
    is_long = telling >= TELLING_LINES
    if wanted.head is None or not (is_long or _left_with_its_owner(anchor.symbol, own)):
        return None
    for file in others.with_line(wanted.head):
        if own is not None and file.path == own.path:
            continue
        symbols = file.symbols() if anchor.symbol else None
        for name, spans in (symbols or {}).items():
            is_it = name == anchor.symbol or telling >= UNMISTAKABLE_LINES
            if is_it and file.text.digest_of(spans) == wanted.digest:
                return _at(anchor, AnchorState.MOVED, file.path, name, _around(spans))
        place = _find_text(anchor, wanted, file) if symbols is None and is_long else None
        if place is not None:
            lines = place if anchor.lines else None
            return _at(anchor, AnchorState.MOVED, file.path, anchor.symbol, lines)
    return None


def _left_with_its_owner(symbol: str | None, own: CodeFile | None) -> bool:
    """Say whether the class of a method is not in its file any more."""
    owner = (symbol or "").rpartition(".")[0]
    return bool(owner) and own is not None and owner not in (own.symbols() or {})


def _find_similar(
    anchor: CodeAnchor, wanted: Fingerprint, own: CodeFile | None, others: OtherFiles
) -> AnchorVerdict | None:
    """Look for most of a text in its file, or in the file that was renamed and changed."""
    file = own if own is not None else next(iter(others.renamed(wanted, SIMILAR)), None)
    if file is None:
        return None
    symbol = anchor.symbol
    if symbol is None:
        if own is not None:
            return None
        place = _find_text(anchor, wanted, file) if anchor.lines else None
        state = AnchorState.CHANGED if place is None else AnchorState.MOVED
        return _at(anchor, state, file.path, None, place)
    symbols = file.symbols() or {}
    if symbol in symbols:  # a text of one line is recognised here, in the file of another name
        same = own is None and file.text.digest_of(symbols[symbol]) == wanted.digest
        state = AnchorState.MOVED if same else AnchorState.CHANGED
        return _at(anchor, state, file.path, symbol, _around(symbols[symbol]))
    enough = len(wanted.sample) >= TELLING_LINES and wanted.copies == 1
    if not enough or wanted.share_in(set(file.text.hashes)) <= SIMILAR:
        return None
    name, lines = _most_similar(anchor, wanted, file.text, symbols) or (None, None)
    return _at(anchor, AnchorState.CHANGED, file.path, name, lines)


def _most_similar(
    anchor: CodeAnchor, wanted: Fingerprint, text: SourceText, symbols: Symbols
) -> tuple[str, LineRange] | None:
    """Return the definition with most of the lines of a text, if it has more than SIMILAR."""
    least, most = SIMILAR, _count(anchor.lines) * LARGER if anchor.lines else 0
    best: tuple[str, LineRange] | None = None
    for name, spans in symbols.items():
        for span in spans:
            if most and _count(span) > most:
                continue
            share = wanted.share_in(text.hashes_of([span]))
            inside = best is not None and best[1][0] <= span[0] and span[1] <= best[1][1]
            if share > least or (inside and share == least):
                least, best = share, (name, span)
    return best


def _conclude(anchor: CodeAnchor, own: CodeFile | None, others: OtherFiles) -> AnchorVerdict:
    """Return the state of a text that is nowhere."""
    if own is not None and anchor.symbol is None:
        return _at(anchor, AnchorState.CHANGED, own.path, None, None)
    if others.gap:
        return AnchorVerdict(anchor, AnchorState.UNKNOWN, reason=others.gap)
    return AnchorVerdict(anchor, AnchorState.GONE)


def _at(
    anchor: CodeAnchor, state: AnchorState, path: str, symbol: str | None, lines: LineRange | None
) -> AnchorVerdict:
    return AnchorVerdict(anchor, state, path, symbol, lines)


def _around(spans: Sequence[LineRange]) -> LineRange:
    return min(first for first, _ in spans), max(last for _, last in spans)


def _count(span: LineRange) -> int:
    return span[1] - span[0] + 1
