"""Any text can be added, shown and used as a query."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))

from commonplace.dispatch.call import to_json
from memory_calls import Calls

HOSTILE = st.sampled_from(
    [
        '"',
        "'",
        "NEAR(a b)",
        "a AND",
        "* OR (",
        "col:value",
        "^",
        "%_\\",
        "NULL",
        "\x1f\x00",
        "{}[]",
        "é\u0301",
        "\U0001d56c",
        "\u202e",
        "-" * 300,
        "a" * 5000,
    ]
)
TEXT = st.one_of(st.text(max_size=200), HOSTILE, st.lists(HOSTILE, max_size=6).map(" ".join))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest) -> Iterator[Calls]:
    url = request.getfixturevalue("migrated_postgres") if request.param == "postgresql" else ""
    with tempfile.TemporaryDirectory() as folder:
        calls = Calls(Path(folder), url=url)
        calls.tenant = "any text"
        yield calls
        calls.close()


LAX = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


@LAX
@given(query=TEXT, context=TEXT, project=st.none() | TEXT)
def test_any_text_is_a_valid_query(
    shared: Calls, query: str, context: str, project: str | None
) -> None:
    answer = shared(
        "rekall_search", query=query, context=context, project=project, why=True, max_tokens=2000
    )
    assert answer["query"] == query
    assert all(0 <= result["score"] <= 1 for result in answer["results"])


@LAX
@given(
    title=TEXT.map(lambda text: text[:100]),
    content=TEXT,
    context=TEXT,
    tags=st.lists(TEXT.map(lambda text: text[:50]), max_size=5),
)
def test_any_text_can_be_stored_and_shown(
    shared: Calls, title: str, content: str, context: str, tags: list[str]
) -> None:
    outcome = shared.outcome(
        "rekall_add", type="bug", title=title, content=content, context=context, tags=tags
    )
    if not title.replace("\x00", "").strip():
        assert outcome.error is not None
        assert outcome.error.code.name == "INVALID_ARGUMENT"
        return
    assert outcome.error is None
    added = to_json(outcome.output)
    shown = shared("rekall_show", id=added["id"])
    assert shown["title"]
    if added["created"] and "secrets_masked" not in added:
        assert shown["content"] == content.replace("\x00", "")


@LAX
@given(word=st.text(alphabet="bcdfghjklmnpqrstvwxz", min_size=6, max_size=20))
def test_a_word_that_was_added_is_found(shared: Calls, word: str) -> None:
    added = shared("rekall_add", type="reference", title=f"about {word}", content="")
    assert added["id"] in [
        result["id"] for result in shared("rekall_search", query=word, limit=20)["results"]
    ]
