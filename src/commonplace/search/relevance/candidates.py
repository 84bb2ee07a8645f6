"""Choice of candidates: no file takes all places of a report, whole matches are not crowded out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from commonplace.search.model import LexicalMatch, QueryTerm

MOST_OF_FILE = 6  # candidates of one side that a file may have while others wait
READ_AHEAD = 3  # times as many are retrieved to choose from for a report
COVERING_AHEAD = 2  # and for other queries
LEAST_COVERED_TERMS = 3  # of a query; with fewer, the best by score have them all
COVERED = 0.95  # of the weight of a query's terms that a match holds as a whole
COVERING_SHARE = 1 / 3  # of the places that are set aside for such matches
MESSAGE_AHEAD = 100  # matches of a message to choose from
MESSAGE_COVERED = 0.6  # of the weight of its terms that a text holds
MESSAGE_SHARE = 1 / 5  # of the places that the messages in a query may have


def spread_over_files(keys: Sequence[str], limit: int) -> frozenset[str]:
    """Choose at most `limit` of the keys `path#chunk`, best first.

    A change log or a large table has a passage for every word of a long text. Its further passages
    are chosen only where other files do not fill the places.
    """
    counts: Counter[str] = Counter()
    chosen: list[str] = []
    further: list[str] = []
    for key in keys:
        path = key.rpartition("#")[0]
        counts[path] += 1
        (chosen if counts[path] <= MOST_OF_FILE else further).append(key)
    return frozenset([*chosen, *further][:limit])


def keep_covering(
    matches: Sequence[LexicalMatch], terms: Sequence[QueryTerm], limit: int
) -> tuple[LexicalMatch, ...]:
    """Keep the best `limit` matches, and among them those that hold the whole query.

    A long passage with every word of a message once, such as a table of errors, scores less than
    passages that repeat some of the words. Matches stay in their order.
    """
    weights = {term.term: term.idf for term in terms if term.documents}
    least = COVERED * sum(weights.values())
    covering = [match for match in matches[limit:] if _covered(match, weights) >= least]
    covering = covering[: int(limit * COVERING_SHARE)]
    return (*matches[: limit - len(covering)], *covering)


def choose_message_holders(
    matches: Sequence[LexicalMatch], terms: Sequence[QueryTerm], limit: int
) -> list[str]:
    """Return the keys of at most `limit` matches that hold most of a message, the most first.

    A word of a message may be a value, so none of them is required.
    """
    weights = {term.term: term.idf for term in terms if term.documents}
    least = MESSAGE_COVERED * sum(weights.values())
    covered = {match.key: round(_covered(match, weights), 6) for match in matches}
    holders = [match.key for match in matches if covered[match.key] >= least > 0]
    return sorted(holders, key=lambda key: -covered[key])[:limit]


def _covered(match: LexicalMatch, weights: Mapping[str, float]) -> float:
    return sum(weights.get(term, 0.0) for term in match.terms)
