"""Choice of candidates: a report's are in its best files, and whole matches are not crowded out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from commonplace.search.model import LexicalMatch, QueryTerm
from commonplace.search.relevance.file_kind import FileKind, kind_of_path

MOST_OF_FILE = 6  # candidates of one side that a file may have while others wait
READ_AHEAD = 3  # times as many are retrieved by meaning to choose from for a report
FILES_AHEAD = 6  # times as many by words, so that a file's other passages are known
MEANING_PLACES = 0.2  # of the candidates by a local model that a report has
FILE_MATCHES = 3  # best matches of a file that say what the file is worth
FILE_SHARE = 0.65  # of the file's other best matches that is added to a match
NEW_FILES = 0.2  # of the places that are kept for files without another place
COVERING_AHEAD = 2  # and for other queries
LEAST_COVERED_TERMS = 3  # of a query; with fewer, the best by score have them all
COVERED = 0.95  # of the weight of a query's terms that a match holds as a whole
COVERING_SHARE = 1 / 3  # of the places that are set aside for such matches
MESSAGE_AHEAD = 100  # matches of a message to choose from
MESSAGE_COVERED = 0.6  # of the weight of its terms that a text holds
MESSAGE_SHARE = 1 / 5  # of the places that the messages in a query may have
KIND_WORTHS = {  # of a match of a report in such a file, unless it asks for the kind
    FileKind.TEST: 0.7,
    FileKind.PROSE: 0.7,
    FileKind.DATA: 0.7,
    FileKind.HISTORY: 0.4,
    FileKind.GENERATED: 0.4,
    FileKind.BUILT: 0.8,
}


def spread_over_files(keys: Sequence[str], limit: int) -> frozenset[str]:
    """Choose at most `limit` of the keys `path#chunk`, best first.

    A change log or a large table has a passage for every word of a long text. Its further passages
    are chosen only where other files do not fill the places.
    """
    counts: Counter[str] = Counter()
    chosen: list[str] = []
    further: list[str] = []
    for key in keys:
        path = _path(key)
        counts[path] += 1
        (chosen if counts[path] <= MOST_OF_FILE else further).append(key)
    return frozenset([*chosen, *further][:limit])


def choose_in_files(
    matches: Sequence[LexicalMatch],
    limit: int,
    taken: Collection[str] = (),
    asked_kinds: Collection[str] = (),
) -> frozenset[str]:
    """Choose the keys of at most `limit` matches of a report, those in the best files first.

    Long texts match many single passages of files that are about something else. The file that is
    meant has several passages that match, each of them less. `taken` are keys that have a place
    already: they count for their file only. `asked_kinds`: kinds of files that the report is about.
    """
    worths = _worths(matches, asked_kinds)
    counts: Counter[str] = Counter()
    ranked: list[str] = []
    further: list[str] = []
    for key in sorted(worths, key=lambda key: (-worths[key], key)):
        if key not in taken:
            path = _path(key)
            counts[path] += 1
            (ranked if counts[path] <= MOST_OF_FILE else further).append(key)
    first = limit - int(NEW_FILES * limit)
    known = {_path(key) for key in ranked[:first]}
    new = [key for key in ranked[first:] if _is_new(key, known)]
    return frozenset(list(dict.fromkeys([*ranked[:first], *new, *ranked, *further]))[:limit])


def _worths(matches: Sequence[LexicalMatch], asked_kinds: Collection[str]) -> dict[str, float]:
    """Return what each match is worth with the best others of its file, and its kind of file."""
    of_file: dict[str, list[float]] = {}
    for match in sorted(matches, key=lambda match: -match.score):
        of_file.setdefault(_path(match.key), []).append(match.score)
    best = {path: sum(scores[:FILE_MATCHES]) for path, scores in of_file.items()}
    worths = {}
    for match in matches:
        path = _path(match.key)
        kind = kind_of_path(path)
        others = max(0.0, best[path] - match.score)
        trust = 1.0 if kind in asked_kinds else KIND_WORTHS.get(kind, 1.0)
        worths[match.key] = trust * (match.score + FILE_SHARE * others)
    return worths


def _is_new(key: str, known: set[str]) -> bool:
    """Return whether the file of a key is not known yet; it is from now on."""
    path = _path(key)
    is_new = path not in known
    known.add(path)
    return is_new


def _path(key: str) -> str:
    return key.rpartition("#")[0]


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
