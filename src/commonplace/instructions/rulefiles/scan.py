"""Find text in rules that a person does not see, or would not run unread.

Rule files are an attack surface: they reach an agent whole, and a person as rendered Markdown.
Every search here is linear in the length of the text.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from commonplace.instructions.rulefiles.markdown_code import blank_code
from commonplace.kernel.hidden_characters import find_hidden, name_of
from commonplace.kernel.secrets.detection import find_secrets

EXCERPT = 60
MOST_FINDINGS = 100  # of one kind in one text


class FindingSeverity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class ScanFinding:
    """Something concealed or dangerous in a text. Lines and columns begin at 1."""

    kind: str
    severity: FindingSeverity
    line: int
    column: int
    message: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class _Span:
    kind: str
    severity: FindingSeverity
    start: int
    end: int
    message: str


_TOOL = (
    r"/?#?(?:(?:markdown|es|style|html|type|pretty|text|re)?-?lint|prettier|toc|doctoc|vale|cspell|"
    r"spell-checker|cspell-checker|textlint|mcp-name|(?:end)?region|omit|all-contributors)[\w:-]*"
)
_ARGUMENT = r"(?:[A-Z]{1,5}\d+|[\w./*-]*[:=/.*_\d-][\w:=/.*-]*|on|off|in|toc|start|end|all)"
_DIRECTIVE = rf"(?i)\s*{_TOOL}(?:[\s,]+{_ARGUMENT})*\s*"
_OWN_MARKER = re.compile(
    r" commonplace (?:(?:rule|begin)=[a-z0-9._-]{1,120} hash|end)=[0-9a-f]{16} \Z"
)
_BOUNDARY = re.compile(r"\s*(?:end|begin|beginning|start) of (.{1,120}?)\s*\Z", re.I)
_BOUNDARY_WORDS = {"the", "this", "instructions", "rules", "file", "section", "document", "guide"}
_HEADINGS = re.compile(r"^#{1,6}[ \t]+(.{1,300})$", re.M)
_LONGEST_DIRECTIVE = 500
_SHORT_COMMENT = 2  # words that cannot say much
# Repetitions have no upper bound: RE2 is linear without, and needs a copy for each count with one.
_STYLED = (
    r"(?i)<[a-z][a-z0-9]{0,15}(?:\s[^<>]*?)?\s(?:hidden[\s=/>]|style\s*=[^<>]*?"
    r"(?:display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|font-size)\s*:\s*0[^.\d]|"
    r"(?:left|top|text-indent)\s*:\s*-\d{3,}|"
    r"[^-]color\s*:\s*(?:white|transparent|#fff(?:fff)?(?:[^0-9a-f]|$))))"
)
_DETAILS = r"(?i)<details(?:\s[^<>]*)?>"
_OPEN = re.compile(r"\sopen\b", re.I)
_BASE64 = r"[A-Za-z0-9+/_-]{40,}"
_HEX = r"(?:(?:\\x)?[0-9A-Fa-f]{2}){40,}"
_SPELLED = (  # characters by number, where each could be written as itself
    (r"(?:%[0-9A-Fa-f]{2}){16,}", "percent-encoded characters"),
    (r"(?i)(?:&#(?:x[0-9a-f]{2,6}|\d{2,7});){8,}", "character references"),
    (r"(?i)(?:\\u[0-9a-f]{4}|\\u\{[0-9a-f]{1,6}\}){8,}", "character escapes"),
)
_FETCHER = r"(?:curl|wget|fetch|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod)"
_ADDRESS = r"(?:https?:|ftp:|\$|\s-{1,2}\w|\w\.\w{2,}/)"
_SHELL = (
    r"(?:(?:sudo\s+(?:-\w+\s+){0,3}|env\s+)?(?:(?:ba|z|da|k|fi|pw)?sh|powershell|python[\d.]*|"
    r"node|perl|ruby|php)\b)"
)
_RUN = (
    rf"(?i)\b{_FETCHER}\b[^\n;]*?{_ADDRESS}[^\n;]*\|\s*"
    rf"(?:{_SHELL}|iex\b|invoke-expression\b)"
    rf"|\b{_FETCHER}\s[^\n]*?(?:&&|;)\s*(?:chmod\s[^\n;&]+(?:&&|;)\s*)?"
    rf"(?:{_SHELL}\s+(?:-\w+\s+)?|(?:sudo\s+)?)(?:\./|/tmp/|[\w-]+\.(?:sh|py|ps1|js)\b)"
    rf"|(?:{_SHELL}|\beval|\bsource)\s*(?:-c\s*|-e\s*)?[\"']?(?:<\(|\$\(|`)\s*{_FETCHER}\b"
    rf"|\b(?:iex|invoke-expression)\b[^\n]*\b{_FETCHER}\b"
    rf"|\b(?:iex|invoke-expression)\b[^\n]*downloadstring"
    r"|\bbase64\b[^\n|]*\s(?:-d|-D|--decode)\b[^\n|]*\|\s*(?:ba|z|da)?sh\b"
)
_GIVEN_PROGRAM = re.compile(r"[ \t]+-(?:m[ \t]+json\.tool\b|[cepn]+[ \t]+[^\n]{0,500})")
_EXECUTES = re.compile(r"exec|eval|compile|system|spawn|popen|subprocess|import\(|require|\|", re.I)
_OWN_SCRIPT = re.compile(r"(?:&&|;)\s*[\w. -]*?\s([\w-]+\.(?:sh|py|ps1|js))\Z")
_DRAWING = "data:image/svg+xml;base64,"
_DRAWN_TEXT = re.compile(rb"<(?:text|desc|title|metadata|foreignObject|script|!--)", re.I)
FAR_COLUMNS, FAR_LINES = 120, 40
_MIXED_WORD = re.compile(r"[^\W\d_]{2,64}")
_LATIN_TWINS = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501"
    "\u051b\u051d\u04bb\u04cf\u03bf\u03bd\u03b9\u03c1\u03b1"
)
_COMMAND_LINE = re.compile(r"`|\$ |(?:^|\s)-{1,2}\w|https?://|[|;&]|\.(?:sh|py|js|com|org|io)\b")
SHORTEST_IMITATION = 3
NEAR = 200  # characters of a line around a word
_LOOKALIKE_SCRIPTS = ("CYRILLIC", "GREEK", "CHEROKEE", "ARMENIAN", "COPTIC", "LISU")


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    import re2

    options = re2.Options()
    options.log_errors = False  # RE2 writes them to stderr
    compiled: re.Pattern[str] = re2.compile(pattern, options)
    return compiled


def _search(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Find a pattern by RE2, in linear time whatever the text."""
    yield from _compile(pattern).finditer(text)


def scan(text: str, *, secrets: bool = True) -> tuple[ScanFinding, ...]:
    """Find concealed and dangerous passages, in the order of the text.

    `secrets` looks for credentials too, which takes longer than the rest together.
    """
    lines = [0, *(found.end() for found in re.finditer("\n", text))]
    findings = []
    for span in sorted(_spans(text, secrets), key=lambda span: (span.start, span.kind)):
        line = bisect_right(lines, span.start)
        excerpt = " ".join(text[span.start : span.start + EXCERPT].split())
        findings.append(
            ScanFinding(
                span.kind,
                span.severity,
                line,
                span.start - lines[line - 1] + 1,
                span.message,
                "" if span.kind == "secret" else excerpt,
            )
        )
    return tuple(findings)


def _spans(text: str, secrets: bool) -> Iterator[_Span]:
    for search in (
        _hidden_characters,
        _comments,
        _invisible_markup,
        _find_off_screen_text,
        _find_encoded,
        _fetch_and_run,
        _lookalikes,
        *((_secrets,) if secrets else ()),
    ):
        for count, span in enumerate(search(text)):
            if count == MOST_FINDINGS:
                break
            yield span


def _hidden_characters(text: str) -> Iterator[_Span]:
    for start, character in find_hidden(text):
        message = f"{name_of(character)} is not visible."
        yield _Span("hidden-character", FindingSeverity.ERROR, start, start + 1, message)


def _comments(text: str) -> Iterator[_Span]:
    if "<!--" not in text:
        return
    visible = blank_code(text)
    headings: set[str] | None = None
    start = visible.find("<!--")
    while start >= 0:
        end = visible.find("-->", start)
        end = len(text) if end < 0 else end
        comment = text[start + 4 : end]
        if len(comment.split(maxsplit=_SHORT_COMMENT)) > _SHORT_COMMENT:
            if headings is None:
                headings = {
                    word.lower() for found in _HEADINGS.findall(visible) for word in found.split()
                }
            if not _is_technical(comment, headings):
                message = (
                    "An HTML comment reaches agents, and readers of the rendered page miss it."
                )
                yield _Span("html-comment", FindingSeverity.WARNING, start, end, message)
        start = visible.find("<!--", end)


def _is_technical(comment: str, headings: set[str]) -> bool:
    """Tell whether a comment is for a tool, or marks a section in words of the headings only."""
    if len(comment) > _LONGEST_DIRECTIVE:
        return False
    if _compile(_DIRECTIVE).fullmatch(comment) or _OWN_MARKER.match(comment):
        return True
    boundary = _BOUNDARY.match(comment)
    return (
        boundary is not None
        and {word.lower() for word in boundary[1].split()} <= headings | _BOUNDARY_WORDS
    )


def _invisible_markup(text: str) -> Iterator[_Span]:
    if "<" not in text:
        return
    visible = blank_code(text)
    for found in _search(_STYLED, visible):
        message = "This markup hides its text from readers of the rendered page."
        yield _Span("invisible-text", FindingSeverity.ERROR, *found.span(), message)
    for found in _search(_DETAILS, visible):
        if _OPEN.search(found[0]):
            continue
        message = "A collapsed section reaches agents, and readers see it only when they open it."
        yield _Span("collapsed-text", FindingSeverity.NOTE, *found.span(), message)


_RULER = re.compile(r"\|(?:[ \t]*:?-+:?[ \t]*\|)+\s*\Z")


def _find_table_widths(lines: list[str]) -> dict[int, int]:
    """Return how wide the ruler of a Markdown table is, for the number of each of its lines."""
    widths: dict[int, int] = {}
    table: list[int] = []
    width = 0
    for number, line in enumerate([*lines, ""]):
        if line.startswith("|"):
            table.append(number)
            width = len(line) if not width and _RULER.match(line) else width
        else:
            widths |= dict.fromkeys(table, width)
            table, width = [], 0
    return widths


def _find_off_screen_text(text: str) -> Iterator[_Span]:
    start = blank_lines = 0
    lines = text.split("\n")
    widths = _find_table_widths(lines) if len(max(lines, key=len)) > FAR_COLUMNS else {}
    for number, line in enumerate(lines):
        words = line.strip()
        if not words:
            blank_lines += 1
        else:
            if blank_lines >= FAR_LINES:
                message = f"The text continues below {blank_lines} empty lines."
                yield _Span("off-screen-text", FindingSeverity.ERROR, start, start + 1, message)
            blank_lines = 0
            gap = line.find(" " * FAR_COLUMNS) if len(line) > FAR_COLUMNS else -1
            gap = line.find("\t" * (FAR_COLUMNS // 4)) if gap < 0 else gap
            padded = len(line) <= widths.get(number, 0)  # a cell of a table whose ruler is as wide
            if gap >= 0 and line[gap:].strip() and not padded:
                at = start + len(line) - len(line[gap:].lstrip())
                message = "The text continues far to the right, outside the usual view."
                yield _Span("off-screen-text", FindingSeverity.ERROR, at, at + 1, message)
        start += len(line) + 1


def _find_encoded(text: str) -> Iterator[_Span]:
    for pattern, decode in ((_BASE64, _from_base64), (_HEX, _from_hex)):
        for found in _search(pattern, text):
            data = decode(found[0])
            if _is_prose(data) and not _is_drawing(text, found.start(), data):
                message = "This encoded text decodes to readable text."
                yield _Span("encoded-text", FindingSeverity.ERROR, *found.span(), message)
    for pattern, what in _SPELLED:
        for found in _search(pattern, text):
            if _is_address(text, found):
                continue
            message = f"This run of {what} hides what it says."
            yield _Span("encoded-text", FindingSeverity.WARNING, *found.span(), message)


def _is_drawing(text: str, start: int, data: bytes) -> bool:
    """Tell whether encoded text is an SVG picture without words."""
    before = text[max(0, start - len(_DRAWING)) : start]
    return before == _DRAWING and not _DRAWN_TEXT.search(data)


def _is_address(text: str, found: re.Match[str]) -> bool:
    """Tell whether percent-encoded characters are letters of an address that need it."""
    before = text[max(0, found.start() - NEAR) : found.start()].rpartition(" ")[2]
    if "://" not in before or not found[0].startswith("%"):
        return False
    return all(not character.isascii() for character in unquote(found[0], errors="replace"))


def _from_base64(blob: str) -> bytes:
    body = blob.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(body[: len(body) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return b""


def _from_hex(blob: str) -> bytes:
    try:
        return bytes.fromhex(blob.replace("\\x", ""))
    except ValueError:
        return b""


def _is_prose(data: bytes) -> bool:
    """Tell whether bytes are ASCII text with words, rather than a picture or a digest."""
    printable = all(32 <= byte < 127 or byte in b"\r\n\t" for byte in data)
    return len(data) >= 24 and printable and len(data.split()) > 2


def _is_data(text: str, found: re.Match[str]) -> bool:
    """Tell whether what a command fetches is data for a script that stands here or is here."""
    program = _GIVEN_PROGRAM.match(text, found.end())
    if program is not None:
        return not _EXECUTES.search(program[0])
    script = _OWN_SCRIPT.search(found[0])
    return script is not None and script[1] not in found[0][: script.start()]


def _fetch_and_run(text: str) -> Iterator[_Span]:
    for found in _search(_RUN, text):
        if _is_data(text, found):
            continue
        message = "This command runs what it fetches or decodes, unread."
        yield _Span("fetch-and-run", FindingSeverity.ERROR, *found.span(), message)


def _lookalikes(text: str) -> Iterator[_Span]:
    if text.isascii():
        return
    for found in _MIXED_WORD.finditer(text):
        word = found[0]
        if word.isascii():
            continue
        latin = any(character.isascii() for character in word)
        foreign = next((c for c in word if _is_lookalike(c)), None)
        if latin and foreign is not None:
            message = f"The word mixes Latin letters with {unicodedata.name(foreign, 'others')}."
            yield _Span("lookalike-letters", FindingSeverity.ERROR, *found.span(), message)
        elif not latin and _imitates_command(text, found.start(), found.end()):
            message = "In a command, the word looks Latin and is not."
            yield _Span("lookalike-letters", FindingSeverity.ERROR, *found.span(), message)


def _imitates_command(text: str, start: int, end: int) -> bool:
    """Tell whether a word without Latin letters reads as Latin, in a line that is Latin."""
    word = text[start:end]
    styled = unicodedata.normalize("NFKC", word).isascii()
    if len(word) < SHORTEST_IMITATION or not (styled or all(c in _LATIN_TWINS for c in word)):
        return False
    first = max(0, start - NEAR)
    before = text[first:start].rpartition("\n")[2]
    line = before + word + text[end : end + NEAR].partition("\n")[0]
    others = line.replace(word, "")
    return others.isascii() and bool(_COMMAND_LINE.search(others))


def _is_lookalike(character: str) -> bool:
    name = unicodedata.name(character, "")
    return name.startswith(_LOOKALIKE_SCRIPTS) and character not in "µμΩπλΔΣσ"


def _secrets(text: str) -> Iterator[_Span]:
    for secret in find_secrets(text):
        severity = (
            FindingSeverity.WARNING if secret.kind == "assigned secret" else FindingSeverity.ERROR
        )
        message = f"A possible credential ({secret.kind})."
        yield _Span("secret", severity, secret.start, secret.end, message)
