"""Texts are compared as `git diff -w` compares them, and found again by their fingerprints."""

from __future__ import annotations

import pytest

from commonplace.memory.anchors import HASH
from commonplace.memory.engine.code.fingerprint import Fingerprint, SourceText

CODE = b"import os\n\n\ndef f(x):\n    y = x + 1\n    return y\n"


def test_white_space_inside_lines_does_not_count() -> None:
    other = CODE.replace(b"    ", b"\t").replace(b"x + 1", b"x+1").replace(b"\n", b"\r\n")
    assert SourceText(CODE).digest == SourceText(other).digest
    assert SourceText(CODE).digest == SourceText(CODE.rstrip(b"\n")).digest


@pytest.mark.parametrize(
    "other",
    [CODE.replace(b"x + 1", b"x + 2"), CODE.replace(b"\n    return", b"\n\n    return")],
    ids=["another character", "an empty line more"],
)
def test_characters_and_empty_lines_count(other: bytes) -> None:
    assert SourceText(CODE).digest != SourceText(other).digest


def test_form_feeds_count_as_they_do_in_git() -> None:
    assert SourceText(b"a\x0cb").digest != SourceText(b"ab").digest


def test_a_fingerprint_survives_being_written_and_read() -> None:
    made = SourceText(CODE).fingerprint([(4, 6)])
    assert Fingerprint.parse(str(made)) == made
    assert HASH.fullmatch(str(made))
    assert Fingerprint.parse(made.digest) == Fingerprint(made.digest)
    copied = SourceText(CODE).fingerprint([(4, 6)], [[(4, 6)], [(1, 2)], [(4, 6)]])
    assert (copied.copies, Fingerprint.parse(str(copied))) == (2, copied)
    assert HASH.fullmatch(str(copied))


def test_a_text_is_found_on_other_lines_nearest_to_where_it_was() -> None:
    wanted = SourceText(CODE).fingerprint([(4, 6)])
    twice = SourceText(CODE + b"\n" + CODE)
    assert twice.find(wanted, 3, 4) == (4, 6)
    assert twice.find(wanted, 3, 12) == (11, 13)
    assert twice.find(wanted, 2, 4) is None


def test_ranges_are_trimmed_of_empty_lines() -> None:
    text = SourceText(CODE)
    assert text.trim(2, 5) == (4, 5)
    assert text.trim(2, 3) is None
    assert text.trim(5, 99) == (5, 6)


def test_a_file_that_took_in_another_one_does_not_resemble_it() -> None:
    small = SourceText(b"".join(b"line_%d = 1\n" % n for n in range(40)))
    wanted = small.fingerprint([(1, 40)])
    large = SourceText(b"".join(b"line_%d = 1\n" % n for n in range(800)))
    assert wanted.resembles_file(small.hashes)
    assert not wanted.resembles_file(large.hashes)
