"""Messages are found by their words, whatever values a program printed between them."""

from __future__ import annotations

from functools import partial

import pytest

from commonplace.search.relevance.messages import MessageText, has_values, telling_terms
from commonplace.search.relevance.query import read_query
from measuring import runs_within


def share(message: str, text: str) -> float:
    return MessageText.read(message, lambda token: 0.5 if token else 0.0).share_of(text)


@pytest.mark.parametrize(
    ("message", "source"),
    [
        ("buffer protocol for 'foo' not supported", "\"buffer protocol for '%s' not supported\""),
        ("cannot open /tmp/x.bin for reading", 'f"cannot open {self.path!r} for reading"'),
        (
            "Expected eth0 to be a list, got java.lang.String",
            'f"Expected {name} to be a list, got {type(value).__name__}"',
        ),
        ("lengths must be equal : 5 != 3", '"lengths must be equal : " << a << " != " << b'),
        ("Value None was too high", "`Value ${ x } was too high`"),
        ("index 7 of 0x7f3a is out of range", '"index %d of %p is out of range"'),
    ],
)
def test_values_of_a_message_are_not_expected_in_the_source(message: str, source: str) -> None:
    assert has_values(message)
    assert share(message, source) > 0.95


def test_a_message_of_other_words_is_not_there() -> None:
    assert share("buffer protocol for 'foo' not supported", "the protocol is not supported") < 0.7


@pytest.mark.parametrize(
    "text", ["can't find the file", "client/server and read/write locks", "the last one, please"]
)
def test_words_are_no_values(text: str) -> None:
    assert not has_values(text)


def test_terms_of_a_message_leave_its_values_out() -> None:
    assert telling_terms("cannot open '/tmp/x' of user 42 twice") == ("open", "user", "twice")
    assert telling_terms("error 42") == ()


TITLE = "It stopped working\n\nOur service does not start any more. "


@pytest.mark.parametrize(
    "report",
    [
        TITLE + "The log says `RuntimeError: lease of 'eth0' was lost twice` and it ends.",
        TITLE + "The log says `lease of 'eth0' was lost twice` and it ends.",
        TITLE + "\n```\n2024-05-01 12:00:02 ERROR: lease of 'eth0' was lost twice\n```\n",
        TITLE
        + "\n```\nError: 3 times the lease of 'eth0' was lost twice\n```\nThat is all there is.",
    ],
)
def test_messages_of_a_report_are_searched_by_themselves(report: str) -> None:
    messages = read_query(report).messages
    assert any({"leas", "lost", "twice"} <= set(terms) for terms in messages), messages
    assert not any("eth0" in terms for terms in messages)


def test_a_question_without_values_is_searched_once() -> None:
    assert read_query("how are leases of a network renewed").messages == ()


def test_hostile_messages_are_read_in_linear_time() -> None:
    for text in ("'" * 400, "{" * 400, "/a" * 200, "%(" * 200, "0x" * 200, "a.b" * 130, "[" * 400):
        assert runs_within(0.2, partial(telling_terms, text))
        assert runs_within(0.3, partial(share, text, text * 50)), text[:4]
