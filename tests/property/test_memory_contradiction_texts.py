"""Whatever two entries say, they are compared, in either order, and in bounded time."""

from __future__ import annotations

import os
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.memory.engine.contradiction import Statement, find_contradiction
from commonplace.memory.engine.lexicon import words
from measuring import runs_within

EXAMPLES = 20_000 if os.environ.get("COMMONPLACE_SOAK") == "1" else 500
PIECES = st.sampled_from(
    [
        *sorted(
            words(
                "the The a le les ledger client port 30 1,000 5432 days heures MB % not never "
                "jamais sans without is are uses UTF-8 latin-1 Redis redis eu-west-1 before after "
                "avant on off : ; , . ? ! ( ) ` `a` - -- _ v2 v1.2.3 `` was removed only seul "
                "unless also forbidden allowed peut at à 02:15 14 h x= =y a=1 PHP 8.1 Build 12 "
                "owned by The Team branch main master é İ ß"
            )
        ),
        "\n",
        "\t",
    ]
)
TEXTS = st.lists(PIECES, max_size=24).map(" ".join) | st.text(max_size=80)


@settings(max_examples=EXAMPLES, deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS, st.booleans())
def test_any_two_entries_can_be_compared(
    title_a: str, a: str, title_b: str, b: str, decides: bool
) -> None:
    first, second = Statement(title_a, a, decides), Statement(title_b, b, decides)
    found, other = find_contradiction(first, second), find_contradiction(second, first)
    assert (found is None) == (other is None)
    if found is not None:
        assert 0 < found.strength <= 1
        assert found.detail


def test_long_entries_of_many_sentences_are_compared_in_bounded_time() -> None:
    claims = " ".join(
        f"The queue {n} of the mailer on Kafka keeps 30 messages and never drops them."
        for n in range(400)
    )
    run_on = "not the client of the API is on and off before it was removed " * 3_000
    pairs = [(claims, claims.replace("30", "40").replace("Kafka", "NATS")), (run_on, run_on + "x")]
    for a, b in pairs:
        first, second = Statement("Queues", a), Statement("Kept messages", b)
        assert runs_within(2.0, partial(find_contradiction, first, second))
