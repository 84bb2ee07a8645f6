"""Reading of a query: a look-up, a question, or a report with title, prose, code and logs.

A short query is read as it is. A long one (an issue with its template, examples, stack trace and
list of versions) says different things in different places, so its words are weighed by the place
they stand in, boilerplate is left out, and what it names (files, lines, symbols, error texts) is
read out of it. Pure, deterministic, and linear in the length of the query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from commonplace.search.lexical.text import analyze, query_terms
from commonplace.search.relevance.file_kind import FileKind
from commonplace.search.relevance.messages import has_values, telling_terms
from commonplace.search.relevance.traces import (
    MOST_LINE_CHARACTERS,
    NamedPlace,
    find_paths,
    read_diffs,
    read_place,
    read_traces,
)

LONG_CHARACTERS = 400  # a query above, or of more lines, is a report
LONG_LINES = 4
TITLED_CHARACTERS = 160  # from which a title and a paragraph are a report
MOST_SYMBOLS = 48
MOST_PHRASES = 12
MOST_MESSAGES = 4  # that are searched by themselves
LEAST_INLINE_WORDS = 3  # of code in a sentence that may be a message
KEPT_READINGS = 32
MODEL_CHARACTERS = 1_000  # what an embedding model is given of a report


class QueryShape(StrEnum):
    """What the asker wrote."""

    PATH = "path"  # the path or the name of a file, perhaps with a line
    LOOKUP = "look-up"  # code, a name or an error text
    QUESTION = "question"  # a few words of prose
    REPORT = "report"  # a long text: an issue, a stack trace, a log, a diff


class Zone(StrEnum):
    """Where in a report a word stands."""

    TITLE = "title"
    PROSE = "prose"
    INLINE = "inline code"
    CODE = "code"
    LOG = "log"


ZONE_WEIGHTS: Mapping[Zone, float] = {
    Zone.TITLE: 2.5,
    Zone.PROSE: 1.0,
    Zone.INLINE: 1.0,
    Zone.CODE: 0.4,
    Zone.LOG: 0.25,
}
SYMBOL_WEIGHTS: Mapping[Zone, float] = {
    Zone.TITLE: 3.0,
    Zone.PROSE: 1.5,
    Zone.INLINE: 2.0,
    Zone.CODE: 0.5,
    Zone.LOG: 0.25,
}
FRAME_WEIGHT = 1.5  # of the symbol of the innermost frame
PLAIN = 0.3  # of the weight of a symbol that is a plain word
REPEAT = 1.0  # how soon repetition in a zone stops counting


@dataclass(frozen=True, slots=True)
class QueryReading:
    """A query and what it names. All collections are bounded and in a fixed order."""

    text: str
    shape: QueryShape
    meaning: str  # what an embedding model should read
    terms: Mapping[str, float]  # distinct terms of the text analysis, and their weight
    symbols: Mapping[str, float] = field(default_factory=dict)  # names as written, best first
    places: tuple[NamedPlace, ...] = ()
    phrases: tuple[str, ...] = ()  # texts that may stand in a file as they are
    wants_tests: bool = False
    wants_prose: bool = False
    modules: tuple[NamedPlace, ...] = ()  # files that a qualified name may stand for, by stem

    @property
    def is_code(self) -> bool:
        return self.shape is not QueryShape.QUESTION

    @property
    def messages(self) -> tuple[tuple[str, ...], ...]:
        """Return the terms of messages that are not the whole query as it was typed.

        A message of a report, or the words of one around its values.
        """
        found = [
            telling_terms(phrase)
            for phrase in self.phrases
            if self.shape is QueryShape.REPORT or has_values(phrase)
        ]
        return tuple(dict.fromkeys(terms for terms in found if terms))[:MOST_MESSAGES]

    @property
    def asked_kinds(self) -> frozenset[str]:
        """Return the kinds of files that the query asks for, beside code."""
        tests = (FileKind.TEST,) if self.wants_tests else ()
        prose = (FileKind.PROSE, FileKind.HISTORY) if self.wants_prose else ()
        return frozenset((*tests, *prose))

    @property
    def is_weighed(self) -> bool:
        """Return whether some terms count more than others."""
        return self.shape is QueryShape.REPORT


_WORDS = re.compile(r"[^\W\d]\w*")
# a name, perhaps qualified, perhaps called; digits and a lone word are judged later
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*){0,8}(?:\(\)?)?")
_QUALIFIED = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*){1,8}")
_SEPARATORS = re.compile(r"\.|::|->|#")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")
_DEFINES = re.compile(
    r"(?:(?:export|default|public|private|protected|static|final|async|abstract|pub|inline)\s+)*"
    r"(?:def|class|func|fn|function|struct|enum|interface|trait|type|const|let|var|val|impl|module"
    r"|namespace|macro_rules!|#\s*define|#\s*include|import|from|package|use|require)\b"
)
_CODE_SIGNS = re.compile(r"[(){}\[\];]|[=!<>]=|::|->|=>|\w=\w|\$\w|&&|\|\|")
_ASIDE = re.compile(r"(?<!\S)\((?:[\w,.'-]+ ){2,60}[\w,.'-]+\)")  # words of prose in parentheses
_QUESTION = re.compile(
    r"\?\s*$|^\s*(?:how|what|where|when|why|who|which|is|are|can|could|does|do|did|should|will"
    r"|explain|describe|show|find|list)\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?:^|[\s(\[])(?:[\w.]{0,80}(?:Error|Exception|Warning|Panic|Fault)\b|panic|fatal|error"
    r"|warning|ERROR|FATAL|WARN|assertion failed|undefined reference|Caused by)"
    r"(?:\s?[\[(]\w{1,12}[\])])?\s?:\s"
)
_QUOTED = re.compile(r"(?:^|[\s(\[])\"([^\"\n]{8,200})\"|“([^”\n]{8,200})”")
_INLINE = re.compile(r"`([^`\n]{1,200})`")
_FENCE = re.compile(r"\s{0,6}(```+|~~~+)\s*(\w*)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_LINK = re.compile(r"\w{2,10}://\S+|!\[[^\]\n]{0,200}\]\([^)\n]{0,400}\)")
_NO_ANSWER = re.compile(r"_no response_|^n/?a$", re.IGNORECASE)
_HASH = re.compile(r"\b[0-9a-f]{12,64}\b|\b0x[0-9a-f]{4,16}\b")
_VERSION_LINE = re.compile(
    r"\s*[-*|]?\s*[^\W\d][\w .()/@_-]{0,39}\s*[:=|]+\s*"
    r"(?:v?\d[\w.+-]*|None|n/a|yes|no|true|false)\b.{0,60}$",
    re.IGNORECASE,
)
_LIST_OF_VERSIONS = re.compile(
    r"\b(?:versions?|environment|system info|platform|configuration|setup)\b", re.IGNORECASE
)
_CODE_LINE = re.compile(
    r"\s*(?:(?:from|import|class|def|func|fn|function|const|let|var|return|if|for|while|public"
    r"|private|static|struct|enum|type|use|using|package|include|async|await|assert|raise|throw"
    r"|try|except|with|print|elif|else|del|yield|pub|impl|match)\b[\s(:{].*[(:={;.]"
    r"|[\w.\[\]\"']+\s*(?:=|\+=|:=)\s*\S|[\w.]+\(.*\)[;:]?\s*$|[{}()\[\]]+[;,]?\s*$"
    r"|>>> |\.\.\. |@\w+|\$ |//|/\*|\w+\s*:\s*[{\[(].*$|<\w+[ >/]|[+-] {2,}|\.\w+\()"
)


@lru_cache(maxsize=KEPT_READINGS)
def read_query(text: str) -> QueryReading:
    """Read a query of any form and length; several searches of one call share the reading."""
    stripped = text.strip()
    lines = stripped.split("\n")
    is_titled = len(stripped) >= TITLED_CHARACTERS and "\n\n" in stripped
    if len(stripped) > LONG_CHARACTERS or len(lines) > LONG_LINES or is_titled:
        return _read_report(text, lines)
    return _read_short(text, stripped)


def symbols_of(text: str) -> Iterator[str]:
    """Yield the names in a text that look like code, as written, without qualifiers and calls."""
    for name in _NAME.findall(text):
        called = name.endswith(("(", "()"))
        parts = [part for part in _SEPARATORS.split(name.rstrip("()")) if part]
        qualified = len(parts) > 1 and all(len(part) > 1 for part in parts)
        for at, part in enumerate(parts, 1):
            looks_like_code = _is_name(part) or (called and at == len(parts))
            if len(part) > 2 and (looks_like_code or (qualified and len(part) > 3)):
                yield part


def is_code_line(line: str) -> bool:
    """Return whether a line of a report reads like a line of a program."""
    return len(line) <= MOST_LINE_CHARACTERS and _CODE_LINE.match(line) is not None


def _is_name(word: str) -> bool:
    inner = word.strip("_")
    return "_" in inner or _CAMEL.search(word) is not None or (word != inner and len(inner) > 2)


def _read_short(text: str, stripped: str) -> QueryReading:
    place = read_place(stripped) if not any(map(str.isspace, stripped)) else None
    if place is None and "/" in stripped and re.fullmatch(r"[\w./@+-]+", stripped):
        place = NamedPlace(stripped.strip("/"))
    lines = stripped.split("\n")
    frames, _ = read_traces(lines)
    places = (place,) if place is not None else (*frames, *_paths_in(lines))
    symbols = dict.fromkeys(symbols_of(stripped), 2.0)
    words = stripped.split()
    if _DEFINES.match(stripped) is not None:
        symbols |= dict.fromkeys(_WORDS.findall(stripped)[1:3], 2.0)
    elif len(words) == 1 and _WORDS.fullmatch(stripped.strip("()")):
        symbols |= {stripped.strip("()"): 2.0}
    return QueryReading(
        text,
        QueryShape.PATH if place is not None else _short_shape(stripped, words, bool(symbols)),
        text,
        dict.fromkeys(query_terms(text), 1.0),
        symbols,
        places,
        _short_phrases(stripped, words),
        *_wanted(stripped),
        _modules_of(stripped),
    )


def _modules_of(stripped: str) -> tuple[NamedPlace, ...]:
    """Read `org.acme.net.Client` as the name Client in org/acme/net/Client or org/acme/net."""
    if _QUALIFIED.fullmatch(stripped) is None:
        return ()
    parts = stripped.split(".")
    paths = ("/".join(parts[:length]) for length in range(len(parts), 1, -1))
    return tuple(NamedPlace(path, symbol=parts[-1]) for path in paths)


def _short_shape(stripped: str, words: list[str], named: bool) -> QueryShape:
    if _DEFINES.match(stripped) is not None and len(words) <= 6:
        return QueryShape.LOOKUP
    asks = _QUESTION.search(stripped) is not None
    if _ERROR.search(stripped) is not None and not asks:
        return QueryShape.LOOKUP
    if named and not asks and len(words) <= 3:
        return QueryShape.LOOKUP
    if not asks and len(_CODE_SIGNS.findall(_ASIDE.sub(" ", stripped))) >= 2:
        return QueryShape.LOOKUP
    return QueryShape.QUESTION


def _short_phrases(stripped: str, words: list[str]) -> tuple[str, ...]:
    phrases = [*_quoted_texts(stripped), *_error_texts(stripped)]
    if len(words) > 1 or not _WORDS.fullmatch(stripped):
        phrases.append(stripped)
    return tuple(phrase for phrase in dict.fromkeys(phrases) if phrase)[:MOST_PHRASES]


def _wanted(text: str) -> tuple[bool, bool]:
    """Return whether a text asks for tests, and whether it asks for documentation."""
    words = {word.lower() for word in _WORDS.findall(text[:2000])}
    return (
        bool(words & {"test", "tests", "pytest", "unittest", "testcase", "spec", "fixture"}),
        bool(words & {"docs", "documentation", "readme", "changelog", "tutorial", "guide"}),
    )


def _paths_in(lines: Iterable[str]) -> list[NamedPlace]:
    return list(dict.fromkeys(place for line in lines for place in find_paths(line)))[:20]


def _read_report(text: str, lines: list[str]) -> QueryReading:
    zones = _cut_zones(lines)
    frames, taken = read_traces(lines)
    hunks, hunk_lines = read_diffs(lines)
    title = lines[0] if zones.get(0) is Zone.TITLE else ""
    taken |= hunk_lines
    parts: dict[Zone, list[str]] = {zone: [] for zone in Zone}
    for number, zone in zones.items():
        if number not in taken:
            parts[zone].append(_HASH.sub(" ", _LINK.sub(" ", lines[number])))
    prose = " ".join(" ".join(parts[Zone.PROSE]).split())
    parts[Zone.INLINE] = [inline for line in parts[Zone.PROSE] for inline in _INLINE.findall(line)]
    named = [
        place for number in zones if number not in taken for place in find_paths(lines[number])
    ]
    places = tuple(dict.fromkeys((*frames, *hunks, *named)))
    return QueryReading(
        text,
        QueryShape.REPORT,
        f"{title}\n{prose}"[:MODEL_CHARACTERS].strip() or text[:MODEL_CHARACTERS],
        _weigh_terms(parts, places) or dict.fromkeys(query_terms(text), 1.0),
        _weigh_symbols(parts, frames),
        places,
        _phrases_of(parts),
        _wanted(title)[0],
        _wanted(title)[1],
    )


def _cut_zones(lines: list[str]) -> dict[int, Zone]:
    """Say of each line what it is; lines of boilerplate are left out."""
    zones: dict[int, Zone] = {}
    fence = ""
    comment = versions = False
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark is not None and not comment:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
            continue
        if not fence:
            if "<!--" in line:
                comment = "-->" not in line[line.find("<!--") :]
                line = line[: line.find("<!--")]
            elif comment:
                comment = "-->" not in line
                continue
        if not line.strip() or _NO_ANSWER.match(line.strip()):
            continue
        if not fence and (_HEADING.match(line) or line.lstrip().startswith("<details")):
            versions = _LIST_OF_VERSIONS.search(line) is not None
            if number:
                continue
        versions = versions or line.strip() == "INSTALLED VERSIONS"
        if versions or (number and _is_version(line[:160])):
            continue
        zones[number] = _zone_of(number, line, bool(fence))
    return zones


def _is_version(line: str) -> bool:
    """Return whether a line only says which version of something is used."""
    return _VERSION_LINE.match(line) is not None and _ERROR.search(line) is None


def _zone_of(number: int, line: str, fenced: bool) -> Zone:
    if number == 0 and not fenced and len(line) <= 300 and not is_code_line(line):
        return Zone.TITLE
    if fenced or is_code_line(line):
        return Zone.CODE
    return Zone.LOG if len(line) > 3 and _reads_like_log(line) else Zone.PROSE


def _reads_like_log(line: str) -> bool:
    """Return whether a line has more signs than words, or starts as log lines do."""
    signs = sum(not (char.isalnum() or char.isspace() or char in ".,'-`") for char in line[:200])
    return signs * 4 > len(line[:200]) or line[:4].isdigit() or line.startswith(("[", "#0", "-->"))


def _weigh_terms(parts: Mapping[Zone, list[str]], places: Iterable[NamedPlace]) -> dict[str, float]:
    """Weigh each term by the zones that hold it; repetition counts, less each time."""
    weights: dict[str, float] = {}
    for zone, weight in ZONE_WEIGHTS.items():
        for term, count in Counter(analyze("\n".join(parts[zone]))).items():
            gained = weight * count * (1 + REPEAT) / (count + REPEAT)
            weights[term] = weights.get(term, 0.0) + gained
    for place in places:
        if place.depth is not None and place.symbol:
            for term in analyze(place.symbol):
                weights[term] = weights.get(term, 0.0) + 0.5 / (1 + place.depth)
    return weights


def _weigh_symbols(
    parts: Mapping[Zone, list[str]], frames: Iterable[NamedPlace]
) -> dict[str, float]:
    weights: dict[str, float] = {}
    for zone, weight in SYMBOL_WEIGHTS.items():
        text = "\n".join(parts[zone])
        names = symbols_of(text) if zone is not Zone.INLINE else _WORDS.findall(text)
        for name, count in Counter(name for name in names if len(name) > 2).items():
            gained = weight * count * (1 + REPEAT) / (count + REPEAT)
            if not _is_name(name) and not name[0].isupper():
                gained *= PLAIN  # a common word may be anything
            weights[name] = weights.get(name, 0.0) + gained
    for frame in frames:
        if frame.symbol and frame.depth is not None and len(frame.symbol) > 2:
            gained = FRAME_WEIGHT / (1 + frame.depth)
            weights[frame.symbol] = weights.get(frame.symbol, 0.0) + gained
    best = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return dict(best[:MOST_SYMBOLS])


def _phrases_of(parts: Mapping[Zone, list[str]]) -> tuple[str, ...]:
    """Return error texts and quoted texts, in order."""
    phrases: list[str] = []
    for zone in (Zone.TITLE, Zone.LOG, Zone.PROSE, Zone.CODE):
        for line in parts[zone]:
            line = line[:MOST_LINE_CHARACTERS]
            phrases += [text for text in _error_texts(line) if len(text) > 8]
            if zone in (Zone.TITLE, Zone.PROSE):
                phrases += _quoted_texts(line)
    return tuple(phrase for phrase in dict.fromkeys(phrases) if " " in phrase)[:MOST_PHRASES]


def _error_texts(line: str) -> list[str]:
    """Return what stands behind the name of an error, and code in a sentence that reads like one.

    A sentence goes on behind code in it, so both are read apart.
    """
    texts: list[str] = []
    for inline in _INLINE.findall(line):
        error = _ERROR.search(inline)
        if error is not None:
            texts.append(inline[error.end() :].strip())
        elif len(inline.split()) >= LEAST_INLINE_WORDS and not is_code_line(inline):
            texts.append(inline.strip())
    bare = _INLINE.sub(_keep_value, line)
    error = _ERROR.search(bare)
    if error is not None:
        texts.append(bare[error.end() :].strip())
    return [text for text in texts if text]


def _keep_value(inline: re.Match[str]) -> str:
    """Keep one word in backticks: messages quote their values so."""
    return inline[0] if len(inline[1].split()) == 1 else " "


def _quoted_texts(line: str) -> list[str]:
    return [group for found in _QUOTED.findall(line) for group in found if group]
