"""Split what was said into sentences; code, quotations and logs are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.context.capture.transcript import Speaker, SpokenText

LONGEST = 500  # characters of a sentence that is considered
_LONG_MESSAGE = 4_000  # a longer text of a user contains something pasted
_ENDS = 1_200  # characters at both ends of such a text that are read
_MOST_SENTENCES = 400  # of one text
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_BULLET = re.compile(r"^\s{0,12}(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_LOG = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:|\[\d|\d\d:\d\d:\d\d|(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|"
    r"FATAL)\b[ :\]]|"
    r"at [\w$.]+\(|File \"|[+-]{3} |@@ |[{}\[\]();]+\s*$|<[/?!\w][^>]{0,200}>\s*$|\||\$ |> |>>> )"
)
_BOUNDARY = re.compile(
    r"(?<=[.!?…。\uff01\uff1f])[\"'”\u2019)\]]{0,2}"
    r"(?:\s+(?=[\"'“\u2018(`*\[]{0,2}[A-ZÀ-ÖØ-Þ0-9`¡¿]|(?:i|we|but|so|and|then|"
    r"also|please|no|yes)\b)|(?<=[。\uff01\uff1f]))"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|z\.B|d\.h|bzw|p\.ex|no|nr|fig)\.|\b[A-Z]\.)$", re.I
)
_EMPHASIS = re.compile(
    r"(?<![\w*])\*{1,3}([^*\n]{1,300}?)\*{1,3}(?![\w*])|(?<!\w)__([^_\n]{1,300}?)__(?!\w)"
)
_CODE_SPAN = re.compile(r"`[^`\n]{1,300}`")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\n]{1,500}\)")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """One sentence. `step` is the position of its text in the session, `number` its own there."""

    speaker: Speaker
    text: str
    step: int
    number: int = 0

    @property
    def place(self) -> tuple[int, int]:
        return self.step, self.number

    @property
    def bare(self) -> str:
        """The sentence without its code, in which words mean nothing."""
        return _CODE_SPAN.sub("`x`", self.text)


def split_sentences(said: SpokenText, step: int) -> list[SpokenSentence]:
    """Return the sentences of a text, in order."""
    text = said.text
    if said.speaker is Speaker.USER and len(text) > _LONG_MESSAGE:
        text = f"{text[:_ENDS].rsplit(chr(10), 1)[0]}\n\n{text[-_ENDS:].split(chr(10), 1)[-1]}"
    found: list[SpokenSentence] = []
    for paragraph in _paragraphs(text):
        for part in _split(paragraph):
            part = part.strip(' \t"“”').strip()
            if 8 <= len(part) <= LONGEST and any(map(str.isalpha, part)):
                found.append(SpokenSentence(said.speaker, part, step, len(found)))
                if len(found) >= _MOST_SENTENCES:
                    return found
    return found


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and list items as single lines."""
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            is_code = not is_code
            continue
        if is_code:
            continue
        starts = bool(_BULLET.match(line))
        is_pasted = bool(_LOG.match(line)) or (line.startswith(("    ", "\t")) and not starts)
        if not line.strip() or is_pasted or _HEADING.match(line):
            yield from _flush(lines)
            continue
        if starts:
            yield from _flush(lines)
            line = _BULLET.sub("", line, count=1)
        lines.append(line.strip())
        if len(lines) > 60:
            yield from _flush(lines)
    yield from _flush(lines)


def _flush(lines: list[str]) -> Iterator[str]:
    if lines:
        text = " ".join(lines)
        lines.clear()
        text = _EMPHASIS.sub(lambda match: match[1] or match[2], _LINK.sub(r"\1", text))
        yield _SPACES.sub(" ", text).strip()


def _split(paragraph: str) -> Iterator[str]:
    start = 0
    for match in _BOUNDARY.finditer(paragraph):
        part = paragraph[start : match.start()]
        if _ABBREVIATION.search(part[-12:]) or part.count("`") % 2:
            continue
        yield paragraph[start : match.end()].strip()
        start = match.end()
    yield paragraph[start:]
