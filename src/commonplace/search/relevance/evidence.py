"""Evidence in the text and the path of a candidate, beside its words and its meaning.

A look-up is answered by the passage that holds its text, a name by its definition, a frame of a
stack trace by the function it names. Each finding adds to the evidence that words and meaning gave,
in the same unit (see `search/fusion.py`); what kind of file it stands in moves the odds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.search.lexical.text import analyze
from commonplace.search.relevance.file_kind import FileKind, kind_of_path
from commonplace.search.relevance.messages import LEAST_RUN, MessageText
from commonplace.search.relevance.query import QueryReading, QueryShape
from commonplace.search.relevance.traces import NamedPlace

_PREFIX_CHARACTERS = 200  # of a line before a name that tell a definition
_DEFINED = re.compile(
    r"^\s*(?:[\w@#()<>\[\],:*&\"'. ]{0,120}\s)?#?(?:def|class|func|fn|fun|function\*?|struct|enum"
    r"|interface|trait|type|const|let|var|val|module|namespace|record|object|protocol|union"
    r"|typedef|define|sub|proc|macro_rules!|mod|static|impl)\s+(?:\([^()]{0,120}\)\s*)?$"
)
_AT_START = re.compile(
    r"^\s*(?:[\w$]+\.)*(?:(?:export|public|private|protected|static|async|get|set)\s+)*$"
)
_TYPED = re.compile(r"^(?:[A-Za-z_][\w:<>,*&\[\]. ]{0,120}[\s*&>\]])$")
_ASSIGNED = re.compile(r"(?::[^=\n]{1,120}|\s*)=(?!=)|:\s+[A-Z]\w*[\[\w]*$")
_CALLABLE = re.compile(r"\s*(?:<[^<>\n]{0,80}>)?\([^;\n]*$|\s*\([^;\n]*\)[^;\n]*\{\s*$")

_STATEMENTS = frozenset(
    (
        *("return", "raise", "throw", "new", "else", "await", "yield", "case", "goto", "delete"),
        *("assert", "if", "while", "for", "switch", "not", "print", "echo", "import", "from"),
    )
)


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """How much each finding adds, as a share of a full match by words; see ADR 0285."""

    exact: float = 1.5  # the whole text of a look-up, as it was typed
    phrase: float = 0.8  # the longest run of its words
    defines: float = 0.8  # the definition of a name
    frame: float = 0.8  # the function or line of the innermost frame
    path: float = 0.25  # a file that the query names
    file_name: float = 0.25  # a file whose name the query spells in words
    same_file: float = 0.15  # of the evidence of the other candidates of a file
    wrong_kind: float = 0.7  # log odds: code for a question, prose for a look-up
    asked_kind: float = 1.5  # log odds of a kind that a short query asks for
    history: float = 1.5  # log odds of change logs, unless a question or asked for
    test: float = 0.7  # log odds of tests, unless asked for
    generated: float = 2.0  # log odds of generated, vendored and lock files
    built: float = 0.4  # log odds of built code: its source is the answer, where there is one


WEIGHTS = EvidenceWeights()


@dataclass(frozen=True, slots=True)
class CandidateText:
    """A candidate with its text; `lines` are the first and the last one, where known."""

    key: str
    path: str
    text: str
    lines: tuple[int, int] | None = None
    defines: frozenset[str] = frozenset()  # names that the symbol index has for it


@dataclass(slots=True)
class TextFinding:
    """What a candidate's text adds to its evidence and to its log odds, and why."""

    evidence: float = 0.0
    log_odds: float = 0.0
    reasons: JsonObject = field(default_factory=dict)

    def add(self, name: str, evidence: float, reason: Json) -> None:
        if evidence > 0:
            self.evidence += evidence
            self.reasons[name] = reason


class EvidenceReader:
    """Judges candidates of one query. Cost: one pass over each text per phrase and name."""

    def __init__(
        self,
        reading: QueryReading,
        idf: Mapping[str, float],
        documents: int,
        weights: EvidenceWeights = WEIGHTS,
        definers: Mapping[str, int] | None = None,
    ) -> None:
        """`idf`: of the query's terms; `definers`: how often the symbol index has a name."""
        self._reading = reading
        # emphasis of a report's words says what it is about, not how rare they are
        self._idf = (
            {term: value / (reading.terms.get(term) or 1.0) for term, value in idf.items()}
            if reading.is_weighed
            else idf
        )
        self._rarest = math.log1p(max(1, documents))
        self._weights = weights
        self._phrases = [MessageText.read(text, self._rarity) for text in reading.phrases]
        self._definers = definers or {}
        self._symbols = {
            name: min(1.0, weight / 2) * self._rarity(name) / self._definers.get(name, 1)
            for name, weight in reading.symbols.items()
        }
        self._title_terms = {term for term, weight in reading.terms.items() if weight >= 1.0}

    def judge(self, candidate: CandidateText) -> TextFinding:
        finding = TextFinding()
        weights = self._weights
        for phrase in self._phrases:
            if phrase.stands_in(candidate.text):
                finding.add("exact", weights.exact * phrase.worth, phrase.text[:80])
            else:
                share = phrase.share_of(candidate.text)
                gained = weights.phrase * phrase.words_worth * share**2
                if share >= LEAST_RUN and gained > finding.evidence:
                    finding.add("phrase", gained, round(share, 2))
        self._judge_symbols(candidate, finding)
        self._judge_path(candidate, finding)
        self._judge_kind(candidate, finding)
        return finding

    def _rarity(self, text: str) -> float:
        """Return the information in a text's terms, from 0 to 1, half at one rare word."""
        told = sum(self._idf.get(term, 0.0) for term in set(analyze(text)))
        return told / (told + self._rarest)

    def _defines(self, candidate: CandidateText, name: str) -> bool:
        """Return whether a candidate defines a name: by the index if it knows it, else by text."""
        if name in self._definers:
            return name in candidate.defines
        return name in candidate.text and defines(candidate.text, name)

    def _judge_symbols(self, candidate: CandidateText, finding: TextFinding) -> None:
        defined = [
            (worth, name) for name, worth in self._symbols.items() if self._defines(candidate, name)
        ]
        if defined:
            defined.sort(key=lambda item: (-item[0], item[1]))
            # the first definition counts most: a class names many of its methods
            total = sum(worth / (1 + at) for at, (worth, _) in enumerate(defined[:4]))
            finding.add("defines", self._weights.defines * total, [name for _, name in defined[:4]])

    def _judge_path(self, candidate: CandidateText, finding: TextFinding) -> None:
        best, reason = 0.0, ""
        for place in self._reading.places:
            share = path_share(candidate.path, place.path)
            if share <= 0:
                continue
            worth = self._weights.path * share
            if self._reading.shape is QueryShape.PATH:
                worth = 2 * self._weights.exact * share
            at_line = (
                place.line is not None
                and candidate.lines is not None
                and candidate.lines[0] <= place.line <= candidate.lines[1]
            )
            named = place.symbol is not None and self._defines(candidate, place.symbol)
            if at_line or named:
                worth += self._weights.frame * share
            worth /= 1 + 0.35 * (place.depth or 0)
            if worth > best:
                best, reason = worth, _name_place(place)
        for place in self._reading.modules:
            share = module_share(candidate.path, place.path)
            if share and place.symbol is not None and self._defines(candidate, place.symbol):
                worth = (self._weights.path + self._weights.exact) * share
                if worth > best:
                    best, reason = worth, _name_place(place)
        finding.add("path", best, reason)
        stem = candidate.path.rpartition("/")[2].partition(".")[0]
        words = (
            set(analyze(stem)) if stem.strip("_") not in ("init", "index", "main", "mod") else set()
        )
        if words and words <= self._title_terms:
            finding.add("file_name", self._weights.file_name * self._rarity(stem), stem)

    def _judge_kind(self, candidate: CandidateText, finding: TextFinding) -> None:
        kind = kind_of_path(candidate.path)
        reading, weights = self._reading, self._weights
        if reading.shape is not QueryShape.REPORT and (
            (kind is FileKind.TEST and reading.wants_tests)
            or (kind in (FileKind.PROSE, FileKind.HISTORY) and reading.wants_prose)
        ):
            finding.log_odds += weights.asked_kind
            finding.reasons["file_kind"] = kind.value
            return
        lost = 0.0
        if kind is FileKind.GENERATED:
            lost = weights.generated
        elif kind is FileKind.BUILT:
            lost = weights.built
        elif kind is FileKind.TEST and not reading.wants_tests:
            lost = weights.test
        elif kind is FileKind.HISTORY and reading.is_code and not reading.wants_prose:
            lost = weights.history
        elif (
            kind in (FileKind.PROSE, FileKind.DATA) and reading.is_code and not reading.wants_prose
        ):
            lost = weights.wrong_kind
        # a text that names a test or a vendored file asks for it
        asked = any(kind_of_path(place.path) is kind for place in reading.places)
        if lost and not (asked and "path" in finding.reasons):
            finding.log_odds -= lost
            finding.reasons["file_kind"] = kind.value


def add_file_evidence(
    evidence: Mapping[str, float], paths: Mapping[str, str], share: float = WEIGHTS.same_file
) -> dict[str, float]:
    """Return for each candidate what the other candidates of its file add.

    A file with several good passages is the likelier place; each further one counts half.
    """
    by_path: dict[str, list[float]] = {}
    for key, value in evidence.items():
        by_path.setdefault(paths[key], []).append(value)
    for values in by_path.values():
        values.sort(reverse=True)
    added = {}
    for key, value in evidence.items():
        others = list(by_path[paths[key]])
        others.remove(value)
        added[key] = share * sum(other / 2**at for at, other in enumerate(others[:4]))
    return added


def path_share(path: str, named: str) -> float:
    """Return how well a named path fits a file: 1 if one is the end of the other.

    The same file name in another folder fits the less, the more folders differ.
    """
    ours, theirs = (
        path.strip("/").split("/"),
        [p for p in named.split("/") if p not in ("", ".", "..")],
    )
    same = 0
    while same < min(len(ours), len(theirs)) and ours[-1 - same] == theirs[-1 - same]:
        same += 1
    if not same:
        return 0.0
    if same == min(len(ours), len(theirs)):
        return 1.0 if same > 1 or len(theirs) == 1 else 0.7
    return 0.2 + 0.15 * (same - 1)


def module_share(path: str, module: str) -> float:
    """Return how well a module, a path without an extension, fits a file; see `path_share`."""
    folder, _, name = path.rpartition("/")
    return path_share(f"{folder}/{name.partition('.')[0]}", module)


def defines(text: str, name: str) -> bool:
    """Return whether a text defines a name, judged by the line it stands in."""
    at = text.find(name)
    tries = 0
    while at >= 0 and tries < 20:
        tries += 1
        end = at + len(name)
        if not (_is_word(text[at - 1 : at]) or _is_word(text[end : end + 1])):
            start = text.rfind("\n", 0, at) + 1
            if at - start <= _PREFIX_CHARACTERS and _is_definition(text, start, at, end):
                return True
        at = text.find(name, end)
    return False


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _is_definition(text: str, start: int, at: int, end: int) -> bool:
    before = text[start:at]
    if _DEFINED.match(before):
        return True
    line_end = text.find("\n", end)
    after = text[end : end + 200 if line_end < 0 else min(line_end, end + 200)]
    if _AT_START.match(before):
        if _ASSIGNED.match(after) and not after.rstrip().endswith((",", "(")):
            # an assignment deep inside a function is no definition to look for
            return len(before) - len(before.lstrip()) <= 4
        opens = after.rstrip().endswith("{") or text[line_end : line_end + 3].startswith("\n{")
        return opens and _CALLABLE.match(after) is not None
    # a function of C, Java or C#: a type, the name, and no semicolon
    if _TYPED.match(before) is None or _CALLABLE.match(after) is None:
        return False
    return before.split()[0] not in _STATEMENTS


def _name_place(place: NamedPlace) -> str:
    named = place.path.rpartition("/")[2]
    if place.line is not None:
        named += f":{place.line}"
    return f"{named} {place.symbol}" if place.symbol else named
