"""Places named in a text: frames of stack traces, hunks of diffs, paths with line numbers.

Every scanner reads a line once and gives up on long ones, so hostile text costs linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

MOST_PLACES = 60
MOST_LINE_CHARACTERS = 500


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_EXTENSIONS = _set(
    """
    py pyi pyx ipynb js jsx mjs cjs ts tsx mts cts vue svelte go java kt kts scala groovy rs
    c h cc cpp cxx hh hpp hxx m mm cs fs vb rb php pl pm lua swift dart ex exs erl hs ml r
    jl zig nim sh bash zsh ps1 sql proto graphql html htm css scss sass less xml json yaml
    yml toml ini cfg conf md mdx rst txt adoc tex lock mod sum gradle cmake mk tf nix el clj
    po csv tmpl tpl jinja
    """
)
_NAMES_OF_FILES = _set(
    """
    Makefile Dockerfile Rakefile Gemfile CMakeLists.txt Jenkinsfile Procfile
    """
)
# a word of a line that may be a path; brackets, quotes and commas separate words
_WORD = re.compile(r"[^\s\"'`<>()\[\]{},;|=*]+")
_LINE_NUMBERS = re.compile(r":(\d{1,7})(?::\d{1,7})?:?$")
_PYTHON_FRAME = re.compile(r'\s*File "([^"]{1,300})", line (\d{1,7})(?:, in (\S{1,120}))?')
_IPYTHON_FRAME = re.compile(
    r"\s*(?:File )?(\S{1,300}\.\w{1,5})(?::(\d{1,7}),)? in ([\w.<>]{1,120})\("
)
_AT_FRAME = re.compile(r"\s*at (?:async |new )?([\w$.<>\[\]/]{1,200}) ?\(([^()]{1,300})\)")
_NATIVE_FRAME = re.compile(
    r"\s*#?\d{1,4}:?\s+(?:0x[0-9a-f]+ (?:in |- )?)?([\w:~<>.]{1,200}) ?(?:\(.*\))?"
    r"(?: at | )(\S+:\d+)"
)
_CALL_OF_GO = re.compile(r"(?:[\w./-]+\.)?(?:\(\*?(\w+)\)\.)?(\w+)\([^)]*\)$")
_DIFF_FILE = re.compile(r"(?:diff --git a/(\S+) b/|(?:---|\+\+\+) (?:[ab]/)?(\S+))")
_HUNK = re.compile(r"@@ -(\d{1,7})(?:,\d+)? \+(\d{1,7})(?:,\d+)? @@ ?(.{0,200})")


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A file that a text names, with the line and the symbol if it names them.

    `depth` counts from the innermost frame of its stack trace; None outside of traces.
    """

    path: str
    line: int | None = None
    symbol: str | None = None
    depth: int | None = None


def looks_like_path(word: str) -> bool:
    """Return whether a word is the path or the name of a file."""
    name = word.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem, _, extension = name.rpartition(".")
    if name in _NAMES_OF_FILES:
        return True
    return bool(stem) and extension.lower() in _EXTENSIONS and "://" not in word


def read_place(word: str) -> NamedPlace | None:
    """Read `src/main.rs:12:3` and the like; None if the word is no path."""
    numbers = _LINE_NUMBERS.search(word)
    path = (word[: numbers.start()] if numbers else word).rstrip(".:").replace("\\", "/")
    if not looks_like_path(path):
        return None
    return NamedPlace(path.removeprefix("./"), int(numbers[1]) if numbers else None)


def find_frame(line: str) -> NamedPlace | None:
    """Return the place of a line that is a frame of a stack trace."""
    if len(line) > MOST_LINE_CHARACTERS:
        return None
    if found := _PYTHON_FRAME.match(line):
        return NamedPlace(_clean(found[1]), int(found[2]), _symbol(found[3]))
    if found := _IPYTHON_FRAME.match(line):
        return NamedPlace(_clean(found[1]), int(found[2]) if found[2] else None, _symbol(found[3]))
    if found := _AT_FRAME.match(line):
        place = read_place(found[2])
        return place and replace(place, symbol=_symbol(found[1]))
    if found := _NATIVE_FRAME.match(line):
        place = read_place(found[2])
        return place and replace(place, symbol=_symbol(found[1]))
    return _bare_frame(line)


def find_paths(line: str) -> Iterator[NamedPlace]:
    """Yield the paths that a line of any text names."""
    if "." not in line or len(line) > 8 * MOST_LINE_CHARACTERS:
        return
    for word in _WORD.findall(line):
        if "." in word and "://" not in word:
            place = read_place(word)
            if place is not None:
                yield place


def read_traces(lines: Iterable[str]) -> tuple[list[NamedPlace], set[int]]:
    """Return the frames of the stack traces in a text, and the numbers of their lines.

    The innermost frame of a trace has depth 0. Python prints it last, others print it first.
    """
    places: list[NamedPlace] = []
    taken: set[int] = set()
    trace: list[NamedPlace] = []
    last_frame, outermost_first, previous = -9, False, ""
    for number, line in enumerate(lines):
        frame = find_frame(line)
        # Python shows source between the frames, and IPython blank lines
        ended = number - last_frame > (20 if outermost_first else 4)
        if trace and (ended or not (outermost_first or line.strip())):
            places += _number_frames(trace, outermost_first)
            trace = []
        if frame is not None:
            if not trace:
                outermost_first = _PYTHON_FRAME.match(line) is not None or (
                    _IPYTHON_FRAME.match(line) is not None
                )
            if frame.symbol is None and (call := _CALL_OF_GO.match(previous.strip())):
                frame = replace(frame, symbol=call[2])
                taken.add(number - 1)
            trace.append(frame)
            taken.add(number)
            last_frame = number
        previous = line if len(line) <= MOST_LINE_CHARACTERS else ""
    places += _number_frames(trace, outermost_first)
    return places[:MOST_PLACES], taken


def read_diffs(lines: Iterable[str]) -> tuple[list[NamedPlace], set[int]]:
    """Return the files, lines and enclosing symbols of the hunks of a diff, and its line numbers.

    The bodies of the hunks are not among the numbers: they are code.
    """
    places: list[NamedPlace] = []
    taken: set[int] = set()
    path = ""
    for number, line in enumerate(lines):
        if len(line) > MOST_LINE_CHARACTERS:
            continue
        if found := _DIFF_FILE.match(line):
            named = found[1] or found[2]
            if named != "/dev/null" and looks_like_path(named):
                path = named
                if all(place.path != path for place in places):
                    places.append(NamedPlace(path))
            taken.add(number)
        elif path and (hunk := _HUNK.match(line)):
            places.append(NamedPlace(path, int(hunk[1])))
            taken.add(number)
    return places[:MOST_PLACES], taken


def _number_frames(trace: list[NamedPlace], outermost_first: bool) -> list[NamedPlace]:
    if outermost_first:
        trace = trace[::-1]
    return [replace(frame, depth=depth) for depth, frame in enumerate(trace)]


def _bare_frame(line: str) -> NamedPlace | None:
    """Read a frame that is only a place: `at src/a.rs:1:2`, `--> a.rs:3`, `/a/b.go:12 +0x1d`."""
    words = line.split()
    if words and words[0] in ("at", "-->", "in", "from"):
        words = words[1:]
    if not words or len(words) > 2 or ":" not in words[0]:
        return None
    if len(words) == 2 and not words[1].startswith("+0x"):
        return None
    place = read_place(words[0])
    return place if place is not None and place.line is not None else None


def _clean(path: str) -> str:
    return path.replace("\\", "/")


def _symbol(name: str | None) -> str | None:
    """Return the last part of a qualified name; None for `<module>` and the like."""
    if name is None or name.startswith("<"):
        return None
    last = re.split(r"[.:#/$]", name.split("<")[0].rstrip("."))[-1]
    return last or None
