"""A report finds candidates in its best files; whole matches are not crowded out."""

from __future__ import annotations

from commonplace.search.model import LexicalMatch, QueryTerm
from commonplace.search.relevance.candidates import (
    choose_in_files,
    choose_message_holders,
    keep_covering,
    spread_over_files,
)

LOG = [f"/CHANGELOG.md#{number}" for number in range(40)]
CODE = [f"/src/{number}.ts#0" for number in range(30)]


def test_a_file_with_many_passages_leaves_room_for_others() -> None:
    chosen = spread_over_files([*LOG, *CODE], 30)
    assert len(chosen) == 30
    assert chosen.issuperset(LOG[:6])
    assert len(chosen.intersection(CODE)) == 24


def test_places_that_no_other_file_wants_are_filled() -> None:
    assert spread_over_files([*LOG, *CODE[:5]], 30) == {*LOG[:25], *CODE[:5]}
    assert spread_over_files(LOG[:3], 30) == set(LOG[:3])
    assert spread_over_files([], 30) == frozenset()


TERMS = [QueryTerm("body", 90, 1.0), QueryTerm("empty", 40, 2.0), QueryTerm("json", 90, 1.0)]


def matches(*terms: str, count: int, score: float) -> list[LexicalMatch]:
    return [LexicalMatch(f"/{score}-{number}#0", score, terms) for number in range(count)]


def test_a_match_of_the_whole_query_takes_the_place_of_a_part() -> None:
    parts = matches("body", "json", count=40, score=9.0)
    whole = matches("body", "empty", "json", count=1, score=5.0)
    kept = keep_covering([*parts, *whole], TERMS, 30)
    assert kept == (*parts[:29], *whole)


def test_most_places_stay_with_the_best_by_score() -> None:
    parts = matches("body", "json", count=30, score=9.0)
    whole = matches("body", "empty", "json", count=30, score=5.0)
    assert keep_covering([*parts, *whole], TERMS, 30) == (*parts[:20], *whole[:10])


def test_terms_that_no_text_has_do_not_count() -> None:
    terms = [*TERMS, QueryTerm("/srv/data/7.json", 0, 9.0)]
    whole = matches("body", "empty", "json", count=1, score=5.0)
    kept = keep_covering([*matches("body", count=9, score=9.0), *whole], terms, 6)
    assert kept[-1:] == tuple(whole)


def test_holders_of_a_message_come_by_how_much_of_it_they_hold() -> None:
    little = matches("body", count=2, score=9.0)
    most = matches("body", "empty", count=1, score=8.0)
    whole = matches("body", "empty", "json", count=1, score=5.0)
    chosen = choose_message_holders([*little, *most, *whole], TERMS, 30)
    assert chosen == [whole[0].key, most[0].key]
    assert choose_message_holders([*most, *whole], TERMS, 1) == [whole[0].key]
    assert choose_message_holders(little, [QueryTerm("absent", 0, 7.0)], 30) == []


def match(path: str, number: int, score: float) -> LexicalMatch:
    return LexicalMatch(f"{path}#{number}", score, ("body",))


def test_a_file_with_several_matches_comes_before_a_single_better_one() -> None:
    about = [match("/src/parser.go", number, 6.0) for number in range(3)]
    singles = [match(f"/src/{number}.go", 0, 8.0) for number in range(40)]
    chosen = choose_in_files([*singles, *about], 30)
    assert len(chosen) == 30
    assert chosen.issuperset(row.key for row in about)


def test_a_part_of_the_places_is_for_files_without_another() -> None:
    large = [match(f"/src/{number // 8}.rs", number, 9.0) for number in range(64)]
    small = [match(f"/src/small/{number}.rs", 0, 1.0) for number in range(20)]
    chosen = choose_in_files([*large, *small], 30)
    paths = [key.rpartition("#")[0] for key in sorted(chosen)]
    assert len(chosen) == 30
    assert max(paths.count(path) for path in paths) == 6
    assert len(set(paths)) == 10  # four files with six places each, and six with one


def test_matches_of_one_file_fill_the_places_that_nobody_wants() -> None:
    rows = [match("/src/only.c", number, 9.0) for number in range(9)]
    assert choose_in_files(rows, 30) == {row.key for row in rows}
    assert len(choose_in_files(rows, 7)) == 7
    assert choose_in_files([], 30) == frozenset()


def test_tests_and_change_logs_leave_places_to_code_unless_they_are_asked_for() -> None:
    tests = [match(f"/tests/{number}_test.go", 0, 9.0) for number in range(30)]
    code = [match(f"/src/{number}.go", 0, 7.0) for number in range(30)]
    assert choose_in_files([*tests, *code], 30) == {row.key for row in code}
    asked = choose_in_files([*tests, *code], 30, asked_kinds=("test",))
    assert asked == {row.key for row in tests}


def test_keys_that_have_a_place_count_for_their_file_only() -> None:
    named = match("/src/named.ts", 0, 20.0)
    beside = match("/src/named.ts", 1, 2.0)
    others = [match(f"/src/{number}.ts", 0, 8.0) for number in range(30)]
    chosen = choose_in_files([named, *others, beside], 10, {named.key})
    assert beside.key in chosen
    assert named.key not in chosen
