"""Find characters that a reader cannot see and show them as visible text.

The set follows Unicode's properties (ADR 0220): control characters (Cc) except white space,
line and paragraph separators (Zl, Zp), every code point that is Default_Ignorable_Code_Point,
interlinear annotation, noncharacters and lone surrogates. Those that are part of ordinary writing
are allowed only where they have their function: joiners beside letters of scripts that need them
and inside emoji, one variation selector after a base that has variants, bidi marks near
right-to-left letters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Final

from commonplace.kernel.json_types import Json

MAX_NAMED = 4  # kinds of characters that a summary names
MAX_COUNTED = 1000  # counting stops after this many
MAX_SCANNED_CHARS = 4 * 1024 * 1024  # of one string: no stored text is longer
MAX_SCANNED_VALUES = 50_000  # of one value: an OpenAPI document has millions
_CONTROL_NAMES: Final = {
    "\x00": "NULL",
    "\x07": "BELL",
    "\x08": "BACKSPACE",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x85": "NEXT LINE",
    "\x9b": "CONTROL SEQUENCE INTRODUCER",
    "\x9d": "OPERATING SYSTEM COMMAND",
}

# Character classes of regular expressions. Sources: DerivedCoreProperties.txt, emoji-data.txt and
# StandardizedVariants.txt of Unicode 16.
_CONTROLS = r"\x00-\x08\x0e-\x1f\x7f-\x9f"
_SEPARATORS = r"\u2028\u2029"
_BIDI_CONTROLS = r"\u202a-\u202e\u2066-\u2069"
_BIDI_MARKS = r"\u061c\u200e\u200f"
_JOINERS = r"\u200c\u200d"
_SELECTORS = r"\ufe00-\ufe0f\U000e0100-\U000e01ef"
_MONGOLIAN_SELECTORS = r"\u180b-\u180f"
_TAGS = r"\U000e0020-\U000e007f"
_JAMO_FILLERS = r"\u115f\u1160"
_NONCHARACTERS = r"\ufdd0-\ufdef" + "".join(
    f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(17)
)
_NEVER = (
    _CONTROLS
    + _SEPARATORS
    + _BIDI_CONTROLS
    + r"\u17b4\u17b5\u2060-\u2065\u206a-\u206f\u3164\uffa0\ufff0-\ufffb\ud800-\udfff"
    + r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e001f\U000e0080-\U000e00ff"
    r"\U000e01f0-\U000e0fff" + _NONCHARACTERS
)
_IN_CONTEXT = (
    r"\u00ad\u034f\u200b\ufeff"
    + _BIDI_MARKS
    + _JOINERS
    + _SELECTORS
    + _MONGOLIAN_SELECTORS
    + _TAGS
    + _JAMO_FILLERS
)

_PICTOGRAPHS = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf"
    r"\u2900-\u297f\u2b00-\u2bff"
    r"\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_RIGHT_TO_LEFT = (
    r"\u0590-\u060b\u060d-\u061b\u061d-\u06ef\u06fa-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff"
    r"\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
)
# Arabic, Syriac, N'Ko, Mandaic; Devanagari to Sinhala; Tibetan, Myanmar, Khmer, Mongolian; beyond
# the BMP
_JOINING_SCRIPTS = (
    r"\u0600-\u060b\u060d-\u061b\u061d-\u077f\u07c0-\u07ff\u0840-\u08ff\ufb50-\ufdcf"
    r"\ufdf0-\ufdff\ufe70-\ufefc\u0900-\u0dff\u0f00-\u109f"
    r"\u1780-\u17b3\u17b6-\u17ff\u1800-\u180a\u1810-\u18af\u1a20-\u1cff\ua840-\ua877"
    r"\ua8e0-\ua8ff\ua930-\ua9ff\uaa60-\uaaff"
    r"\U00010a00-\U00010aff\U00010d00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_SPACELESS_SCRIPTS = (
    r"\u0e00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f"
    r"\ua980-\ua9df\uaa00-\uaadf"
)
_IDEOGRAPHS = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_VARIED = (  # bases of standardized variation sequences other than emoji
    _IDEOGRAPHS
    + r"0\u1000-\u109f\u2018-\u201d\u2200-\u22ff\u2a00-\u2aff\u3001\u3002\ua840-\ua877\uaa60-\uaa7f"
    r"\uff01-\uff1f\U00010ac0-\U00010aff\U00013000-\U0001345f"
)
_MONGOLIAN = r"\u1800-\u180a\u1810-\u18af"
_NEAR = 16  # characters between a bidi mark and the letter it belongs to

_FLAGS = tuple(  # the emoji tag sequences that Unicode recommends: England, Scotland, Wales
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
_IN_FLAG = (
    "|".join(f"(?<={flag[:at]}){flag[at:]}" for flag in _FLAGS for at in range(2, 7))
    + "|"
    + "|".join(f"(?<={flag})" for flag in _FLAGS)
)

_IN_EMOJI = rf"(?<=[{_PICTOGRAPHS}\ufe0f\U000e007f]\u200d)[{_PICTOGRAPHS}]"
_AFTER_BASE = "|".join(
    (
        rf"(?<=[{_PICTOGRAPHS}][\ufe0e\ufe0f])",
        r"(?<=[0-9#*]\ufe0f)\u20e3",
        rf"(?<=[{_VARIED}][\ufe00-\ufe06])",
        rf"(?<=[{_IDEOGRAPHS}][\U000e0100-\U000e01ef])",
    )
)

_MISPLACED_JOINER = (
    rf"(?<=[{_JOINERS}])(?:(?<=[{_JOINERS}]{{2}})|(?=[{_JOINERS}])|"
    rf"(?!(?<=[{_JOINING_SCRIPTS}].)|[{_JOINING_SCRIPTS}]|{_IN_EMOJI}))"
)
_CASES = (  # each begins with the class it is about, as a look-behind at the candidate
    rf"(?<=[{_NEVER}])",
    r"(?<=\ufeff)(?<!\A\ufeff)",
    r"(?<=\u00ad)(?!(?<=[^\W\d_]{2}\u00ad)[^\W\d_]{2})",
    r"(?<=\u034f)(?![\u0300-\u036f\u0591-\u05bd])",
    rf"(?<=\u200b)(?!(?<=[{_SPACELESS_SCRIPTS}]\u200b)|(?<!\u200b\u200b)[{_SPACELESS_SCRIPTS}])",
    _MISPLACED_JOINER,
    rf"(?<=[{_SELECTORS}])(?!{_AFTER_BASE})",
    rf"(?<=[{_MONGOLIAN_SELECTORS}])(?<![{_MONGOLIAN}].)",
    rf"(?<=[{_BIDI_MARKS}])(?:(?<=[{_BIDI_MARKS}]{{2}})|(?=[{_BIDI_MARKS}])|"
    rf"(?![^\n]{{0,{_NEAR}}}[{_RIGHT_TO_LEFT}])"
    + "".join(rf"(?<![{_RIGHT_TO_LEFT}]{'.' * (gap + 1)})" for gap in range(_NEAR))
    + ")",
    rf"(?<=[{_TAGS}])(?!{_IN_FLAG})",
    r"(?<=\u115f)(?![\u1160-\u11a7\ud7b0-\ud7c6])",
    r"(?<=\u1160)(?<![\u1100-\u115f\ua960-\ua97c].)",
)
_ON_TERMINAL = (
    r"(?<=[\x0b\x0c])",
    r"(?<=\r)(?!\n)",
)  # white space that moves a terminal's cursor over text

# A pattern that begins with one set is searched much faster than an alternation, and a set is fast
# as long as it has few ranges beyond the BMP: these contain some visible characters too, which the
# cases then let pass.
_BEYOND = (
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U0002fffe\U0002ffff"
    r"\U0003fffe-\U0010ffff"
)
_FIRST = (
    re.sub(
        r"\\U000[1-9a-f][0-9a-f]{4}(-\\U[0-9a-f]{8})?|\\U0010[0-9a-f]{4}", "", _NEVER + _IN_CONTEXT
    )
    + _BEYOND
)
_FIRST_BYTES: Final = (  # the same set in UTF-8: first byte, and what may follow it
    (0xC2, rb"[\x80-\x9f\xad]"),
    (0xCD, rb"\x8f"),
    (0xD8, rb"\x9c"),
    (0xE1, rb"\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f]"),
    (0xE2, rb"\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf]"),
    (0xE3, rb"\x85\xa4"),
    (0xEF, rb"\xb7[\x90-\xaf]|\xb8[\x80-\x8f]|\xbb\xbf(?<!\"...)|\xbe\xa0|\xbf[\xb0-\xbb\xbe\xbf]"),
    (0xF0, rb"\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba]|[\x9f\xaf\xbf]\xbf[\xbe\xbf]"),
    *((lead, b"...") for lead in range(0xF1, 0xF5)),
)
_MAYBE_CONTROL: Final = re.compile(rb"\\(?:b|u00)")  # faster than searching both by `in`
_ESCAPED_CONTROL: Final = re.compile(
    rb"(?<!\\)(?:\\\\)*\\(?:u00(?:0[0-8ef]|1[0-9a-f])|b)"
)  # controls of ASCII as JSON writes them
_MAX_WINDOWS: Final = 16  # candidates examined one by one; with more, the whole text is searched
_WINDOW: Final = 4 * (_NEAR + 4)  # bytes of context on each side
_PRINTABLE_ASCII: Final = b"\t\n" + bytes(range(32, 127))
_PLAIN_ASCII: Final = b"\t\n\v\f\r" + bytes(range(32, 127))


@dataclass(frozen=True, slots=True)
class _Patterns:
    hidden: re.Pattern[str]
    unprintable: re.Pattern[str]  # on a terminal
    candidate: re.Pattern[str]
    mark: re.Pattern[str]
    # Candidates in UTF-8 by first byte, which is searched before its pattern.
    encoded: tuple[tuple[bytes, re.Pattern[bytes]], ...]


@cache
def _patterns() -> _Patterns:
    """Compile on first use: it takes 30 ms, and most commands and answers are plain ASCII."""
    return _Patterns(
        hidden=re.compile(rf"[{_FIRST}](?:{'|'.join(_CASES)})"),
        unprintable=re.compile(rf"[{_FIRST}\x0b\x0c\r](?:{'|'.join((*_CASES, *_ON_TERMINAL))})"),
        candidate=re.compile(rf"[{_FIRST}]"),
        mark=re.compile(rf"[{_BIDI_MARKS}]"),
        encoded=tuple(
            (bytes([lead]), re.compile(b"\\x%02x(?:%b)" % (lead, rest), re.DOTALL))
            for lead, rest in _FIRST_BYTES
        ),
    )


def hidden_pattern_for_javascript() -> str:
    """Return the pattern as an ECMAScript regular expression with flag `u`, for browsers."""
    pattern = _patterns().hidden.pattern.replace(r"\A", "^").replace(r"[^\W\d_]", r"\p{L}")
    return re.sub(
        r"\\U000([0-9a-f]{5})|\\U00(10[0-9a-f]{4})",
        lambda match: f"\\u{{{match[1] or match[2]}}}",
        pattern,
    )


def find_hidden(text: str) -> list[tuple[int, str]]:
    """Return the hidden characters of a text with their offsets."""
    return (
        [(match.start(), match.group()) for match in _patterns().hidden.finditer(text)]
        if _suspicious(text)
        else []
    )


def has_hidden(text: str) -> bool:
    """Tell whether a text contains a hidden character."""
    return _suspicious(text) and _patterns().hidden.search(text) is not None


def reveal(text: str) -> str:
    """Show hidden characters, and white space that moves a cursor back, as `<U+202E>`."""
    return (
        text
        if _is_plain(text)
        else _patterns().unprintable.sub(lambda match: f"<U+{ord(match.group()):04X}>", text)
    )


def reveal_json(text: str) -> str:
    """Show the hidden characters of JSON text as JSON escapes; its value stays the same."""
    if _is_plain(text):
        return text
    return _patterns().unprintable.sub(
        lambda match: "".join(f"\\u{unit:04x}" for unit in _utf16(match.group())), text
    )


def json_may_hide(encoded: bytes) -> bool:
    """Tell whether JSON in UTF-8 may contain hidden characters. Fast; False is certain.

    A byte order mark at the start of a string does not count. What only the decoded text can tell
    (how near the letters on the same line are) is left to `count_hidden`.
    """
    if b"\x7f" in encoded or (
        _MAYBE_CONTROL.search(encoded) and _ESCAPED_CONTROL.search(encoded) is not None
    ):
        return True
    if encoded.isascii():
        return False
    patterns = _patterns()
    candidates: list[int] = []
    for lead, pattern in patterns.encoded:
        if lead in encoded:
            candidates += [
                match.start() for match in islice(pattern.finditer(encoded), _MAX_WINDOWS)
            ]
    if len(candidates) >= _MAX_WINDOWS:
        text = encoded.decode().replace('"\ufeff', '"')
        return (
            patterns.mark.search(text) is not None
            or "\\u00" in text
            or patterns.hidden.search(text) is not None
        )
    for at in candidates:
        before, after = (
            encoded[max(0, at - _WINDOW) : at].decode("utf-8", "ignore"),
            encoded[at : at + _WINDOW].decode("utf-8", "ignore"),
        )
        if (
            patterns.mark.match(after)
            or before[-6:-2] == "\\u00"
            or patterns.hidden.match(before + after, len(before)) is not None
        ):
            return True
    return False


def count_hidden(value: Json) -> Counter[str]:
    """Count the hidden characters in the strings and keys of a JSON value, within limits."""
    counted: Counter[str] = Counter()
    waiting = [value]
    total = scanned = 0
    while waiting and total < MAX_COUNTED and scanned < MAX_SCANNED_VALUES:
        item = waiting.pop()
        scanned += 1
        if isinstance(item, str):
            found = [character for _, character in find_hidden(item[:MAX_SCANNED_CHARS])]
            counted.update(found)
            total += len(found)
        elif isinstance(item, Mapping):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, Sequence) and not isinstance(item, (bytes, bytearray)):
            waiting.extend(item)
    return counted


def _suspicious(text: str) -> bool:
    """Tell quickly whether a text can contain a hidden character.

    Most text is plain, and deleting bytes is faster than searching.
    """
    rest = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_ASCII)
    return (
        bool(rest)
        and _patterns().candidate.search(rest.decode("utf-8", "surrogatepass")) is not None
    )


def _is_plain(text: str) -> bool:
    """Tell quickly whether a text is printable ASCII."""
    return text.isascii() and not text.encode().translate(None, _PRINTABLE_ASCII)


def name_of(character: str) -> str:
    """Return the Unicode name of a character: `U+202E RIGHT-TO-LEFT OVERRIDE`."""
    import unicodedata

    code = ord(character)
    name = _CONTROL_NAMES.get(character) or unicodedata.name(character, "")
    if not name:
        name = {"Cc": "control character", "Cs": "lone surrogate"}.get(
            unicodedata.category(character), "unassigned or noncharacter"
        )
    return f"U+{code:04X} {name}"


def summarize(counted: Mapping[str, int]) -> str:
    """Describe counted characters: `3 hidden characters (2 U+001B ESCAPE, 1 U+202E ...)`."""
    total = sum(counted.values())
    frequent = sorted(
        counted.items(), key=lambda item: (not _is_deceptive(item[0]), -item[1], item[0])
    )
    named = [f"{count} {name_of(character)}" for character, count in frequent[:MAX_NAMED]]
    if len(frequent) > MAX_NAMED:
        named.append(f"{len(frequent) - MAX_NAMED} other kinds")
    some = f"more than {MAX_COUNTED}" if total > MAX_COUNTED else str(total)
    return f"{some} hidden character{'s' if total != 1 else ''} ({', '.join(named)})"


def _is_deceptive(character: str) -> bool:
    """Tell whether a character can reorder text, control a terminal or hide a message."""
    code = ord(character)
    return (
        code in (0x1B, 0x9B)
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x2069
        or 0xE0000 <= code <= 0xE01EF
    )


def _utf16(character: str) -> tuple[int, ...]:
    code = ord(character)
    if code < 0x10000:
        return (code,)
    return (0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF))
