"""Texts of code compared without white space, as `git diff -w` compares them.

Blanks, tabs and carriage returns do not count, lines do: `a b` equals `ab`, but an empty line more
is a difference.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from commonplace.memory.anchors import LineRange

RESEMBLING = 0.2  # of the lines of two files together; a third, if half of each are the same
SAMPLE = 12  # lines of a text whose hashes are kept
LEAST_SAMPLE = 2
COPIES = 9_999  # that are counted
TELLING_BYTES = 4
COMMON = frozenset((b"else:", b"try:", b"pass", b"return", b"finally:", b"break", b"continue"))
_BLANKS = b" \t\r"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is kept of a text: enough to find it again, and to tell how much of it is left.

    `file` is the digest of the whole file. `head` is the hash of the first line; `sample` has
    those of up to SAMPLE telling lines that the file has nowhere else, chosen by their hashes and
    so without regard to order; `file_sample` those of lines of the whole file, by which it is known
    under another name. `copies` is how many definitions of the file have this text.
    """

    digest: str
    file: str = ""
    head: int | None = None
    sample: tuple[int, ...] = ()
    file_sample: tuple[int, ...] = ()
    copies: int = 1

    def __str__(self) -> str:
        if self.head is None:
            return self.digest
        hashes = _write_hashes((self.head, *self.sample))
        text = f"{self.digest}.{self.file}.{hashes}.{_write_hashes(self.file_sample)}"
        return text if self.copies == 1 else f"{text}.{self.copies}"

    @classmethod
    def parse(cls, text: str) -> Fingerprint:
        """Read what `str` wrote, or a digest alone."""
        digest, _, rest = text.partition(".")
        file, _, rest = rest.partition(".")
        hashes, _, rest = rest.partition(".")
        others, _, copies = rest.partition(".")
        numbers = _read_hashes(hashes)
        head = numbers[0] if numbers else None
        return cls(digest, file, head, numbers[1:], _read_hashes(others), int(copies or 1))

    def share_in(self, hashes: Container[int]) -> float:
        """Return how much of the sample is among the hashes of lines."""
        if not self.sample:
            return 0.0
        return sum(number in hashes for number in self.sample) / len(self.sample)

    def resembles_file(self, hashes: Iterable[int]) -> bool:
        """Say whether the lines of a file are about as many and mostly those of the old file.

        A file that took in another one has its lines too, but is no new name of it. The lowest
        hashes of both together are a sample of all lines: in how many of them do they agree?
        """
        lines = set(hashes)
        both = sorted(lines | set(self.file_sample))[: len(self.file_sample)]
        same = sum(number in lines for number in both if number in self.file_sample)
        return same > RESEMBLING * len(both)


def _write_hashes(numbers: Iterable[int]) -> str:
    return "".join(f"{number:08x}" for number in numbers)


def _read_hashes(text: str) -> tuple[int, ...]:
    return tuple(int(text[at : at + 8], 16) for at in range(0, len(text), 8))


def _sample(lines: Sequence[bytes]) -> tuple[int, ...]:
    telling = {line for line in lines if len(line) >= TELLING_BYTES} - COMMON
    return tuple(sorted(map(zlib.crc32, telling or filter(None, lines)))[:SAMPLE])


class SourceText:
    """The lines of a text without white space, and their hashes."""

    __slots__ = ("_hashes", "digest", "lines", "size")

    def __init__(self, content: bytes) -> None:
        squeezed = content.translate(None, _BLANKS)
        self.lines = squeezed.split(b"\n")
        if self.lines and not self.lines[-1]:
            self.lines.pop()
        self.digest = hashlib.sha256(b"\n".join(self.lines)).hexdigest()[:16]
        self.size = len(content)
        self._hashes: array[int] | None = None

    @property
    def hashes(self) -> array[int]:
        """The hash of each line."""
        if self._hashes is None:
            self._hashes = array("I", map(zlib.crc32, self.lines))
        return self._hashes

    def trim(self, first: int, last: int) -> LineRange | None:
        """Return a range without its empty lines at both ends; None if it has no other lines."""
        last = min(last, len(self.lines))
        while first <= last and not self.lines[first - 1]:
            first += 1
        while last >= first and not self.lines[last - 1]:
            last -= 1
        return (first, last) if first <= last else None

    def digest_of(self, spans: Iterable[LineRange]) -> str:
        """Return the digest of the lines of ranges."""
        return hashlib.sha256(b"\n".join(self._select(spans))).hexdigest()[:32]

    def fingerprint(
        self, spans: Sequence[LineRange], definitions: Iterable[Sequence[LineRange]] = ()
    ) -> Fingerprint:
        """Return what is kept of the lines of ranges, those of a definition among all of a file."""
        lines = list(self._select(spans))
        head = zlib.crc32(lines[0]) if lines else 0
        digest = self.digest_of(spans)
        counts = Counter(self.lines)
        own = [line for line in lines if counts[line] == 1]  # what is left of these is left of it
        sample = _sample(own)
        if len(sample) < LEAST_SAMPLE:
            sample = _sample(lines)
        copies = sum(self.digest_of(others) == digest for others in definitions)
        return Fingerprint(
            digest, self.digest, head, sample, _sample(self.lines), min(max(1, copies), COPIES)
        )

    def find(self, wanted: Fingerprint, count: int, near: int) -> LineRange | None:
        """Return where a text of `count` lines is, nearest to a line; None if nowhere."""
        if wanted.head is None:
            return None
        starts = (at + 1 for at, number in enumerate(self.hashes) if number == wanted.head)
        places = ((start, start + count - 1) for start in starts)
        inside = [place for place in places if place[1] <= len(self.lines)]
        inside.sort(key=lambda place: abs(place[0] - near))
        return next((p for p in inside if self.digest_of([p]) == wanted.digest), None)

    def hashes_of(self, spans: Iterable[LineRange]) -> set[int]:
        """Return the hashes of the lines of ranges."""
        return {number for first, last in spans for number in self.hashes[first - 1 : last]}

    def _select(self, spans: Iterable[LineRange]) -> Iterator[bytes]:
        for first, last in spans:
            yield from self.lines[first - 1 : last]
