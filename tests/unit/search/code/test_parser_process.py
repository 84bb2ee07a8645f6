"""Parsing in a process of its own: what it answers, and what a bad file costs."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator

import pytest

from commonplace.search.code.parser_process import ParserProcess
from commonplace.search.code.reading import read_structure
from commonplace.search.code.structure import Span, Structure
from commonplace.search.code.wire import MalformedAnswerError, decode_answer, encode_answer

SOURCE = b"import os\n\n\ndef load(path):\n    return os.stat(path)\n"
# Random tokens of several languages: one of the grammars needs minutes for them.
_TOKENS = """( ) { } [ ] < > ; , . : = if for class def function return x y 1 "a" ' + - * / => ->
:: && fn let var SELECT FROM INSERT VALUES <div> </div> @ # $"""


@pytest.fixture(scope="module")
def parser() -> Iterator[ParserProcess]:
    process = ParserProcess()
    yield process
    process.close()


def test_a_structure_is_the_same_as_in_this_process(parser: ParserProcess) -> None:
    assert parser.structure("/a.py", SOURCE) == read_structure("python", SOURCE)
    assert parser.structure("/a.md", b"# One\n") == read_structure("markdown", b"# One\n")


def test_files_without_a_grammar_need_no_process() -> None:
    process = ParserProcess()
    assert process.structure("/notes.txt", b"text").note == "no grammar for this kind of file"
    assert process.structure("/a.py", b"") == Structure("python")
    assert process.process_id is None


def test_a_source_that_takes_too_long_is_given_up_and_the_next_one_is_read(
    parser: ParserProcess,
) -> None:
    chance = random.Random(1)
    tokens = [*_TOKENS.split(), "\n"]
    slow = " ".join(chance.choice(tokens) for _ in range(50_000)).encode()
    structure = parser.structure("/slow.tsx", slow)
    assert structure.spans == ()
    assert structure.note == "parsing takes too long"
    assert parser.structure("/a.py", SOURCE).definitions[0].name == "load"


def test_a_crash_of_the_process_costs_nothing_but_a_new_one(parser: ParserProcess) -> None:
    parser.structure("/a.py", SOURCE)
    killed = parser.process_id
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    until = time.monotonic() + 10
    while parser.process_id is not None and time.monotonic() < until:
        os.sched_yield()
    assert parser.structure("/a.py", SOURCE).definitions[0].name == "load"
    assert parser.process_id != killed


def test_a_process_that_answers_too_late_is_ended() -> None:
    process = ParserProcess(parse_seconds=0.0)
    assert process.structure("/a.py", SOURCE).note == "parsing takes too long"
    assert process.process_id is None


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b'{"spans": [{"start": 1, "end": 5}]}',
        b'{"definitions": [{"name": 1}]}',
        encode_answer(Structure("python", (Span(0, 3), Span(4, 5)))),
        encode_answer(Structure("python", (Span(0, 3),))),
        encode_answer(Structure("python", (Span(0, 9),))),
    ],
)
def test_an_answer_that_does_not_fit_the_source_is_refused(answer: bytes) -> None:
    with pytest.raises(MalformedAnswerError):
        decode_answer(answer, 5)
