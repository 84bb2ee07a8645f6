"""BM25 over the posting tables: exact scores, closed partitions, deterministic order."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from commonplace.search.lexical.retriever import LexicalRetriever
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import IndexDocument, LexicalResult, Partition, upper_bound
from commonplace.storage.sqlite.database import Database

HERE = Partition("a", "things", "p")
THERE = Partition("b", "things", "p")
BODY = {"body": 1.0}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "s.db", durable=False)
    yield opened
    opened.close()


@pytest.fixture
def postings(database: Database) -> SqlitePostings:
    return SqlitePostings(database)


def put(
    database: Database,
    postings: SqlitePostings,
    texts: Mapping[str, str],
    partition: Partition = HERE,
) -> None:
    documents = [IndexDocument(key, {"body": text.split()}) for key, text in texts.items()]
    database.write_now(lambda connection: postings.put(connection, partition, documents))


def search(
    postings: SqlitePostings,
    terms: str,
    partition: Partition = HERE,
    limit: int = 10,
    prefix: str = "",
    weights: Mapping[str, float] = BODY,
) -> LexicalResult:
    return asyncio.run(
        postings.search(partition, terms.split(), limit=limit, weights=weights, prefix=prefix)
    )


def reference(texts: Mapping[str, str], terms: Sequence[str]) -> list[tuple[str, float]]:
    """Compute BM25 over plain lists."""
    words = {key: text.split() for key, text in texts.items()}
    average = sum(map(len, words.values())) / len(words)
    scores = {}
    for key, tokens in words.items():
        counts, score = Counter(tokens), 0.0
        for term in dict.fromkeys(terms):
            holders = sum(term in tokens_ for tokens_ in words.values())
            weight = math.log(1 + (len(words) - holders + 0.5) / (holders + 0.5))
            score += (
                weight
                * 2.5
                * counts[term]
                / (counts[term] + 1.5 * (0.25 + 0.75 * len(tokens) / average))
            )
        if score > 0:
            scores[key] = score
    return sorted(scores.items(), key=lambda item: (-round(item[1], 9), item[0]))


def test_scores_and_order_are_those_of_bm25(database: Database, postings: SqlitePostings) -> None:
    rng = random.Random(7)
    words = [f"w{n}" for n in range(30)]
    texts = {
        f"d{n:03}": " ".join(rng.choices(words, weights=range(30, 0, -1), k=rng.randint(3, 40)))
        for n in range(200)
    }
    put(database, postings, texts)
    for _ in range(20):
        terms = rng.sample(words, 3)
        expected = reference(texts, terms)[:10]
        found = search(postings, " ".join(terms)).matches
        assert [match.key for match in found] == [key for key, _ in expected]
        assert [match.score for match in found] == pytest.approx([score for _, score in expected])


def test_removed_and_replaced_documents_leave_no_trace_in_scores(
    database: Database, postings: SqlitePostings
) -> None:
    rng = random.Random(3)
    texts = {f"d{n}": " ".join(rng.choices("abcdefgh", k=12)) for n in range(40)}
    put(database, postings, {**texts, **{f"x{n}": "a a b" for n in range(30)}, "d1": "a"})
    database.write_now(
        lambda connection: postings.remove(
            connection, HERE, [f"x{n}" for n in range(30)] + ["unknown"]
        )
    )
    put(database, postings, {"d1": texts["d1"]})
    found = search(postings, "a b c", limit=50).matches
    assert [(m.key, pytest.approx(m.score)) for m in found] == reference(texts, ["a", "b", "c"])[
        :50
    ]


def test_text_of_another_tenant_changes_no_score(
    database: Database, postings: SqlitePostings
) -> None:
    put(database, postings, {"one": "alpha beta", "two": "beta gamma"})
    before = search(postings, "alpha beta")
    put(database, postings, {f"n{n}": "alpha alpha alpha delta" for n in range(50)}, THERE)
    put(database, postings, {"n": "alpha"}, Partition("a", "other", "p"))
    put(database, postings, {"n": "alpha"}, Partition("a", "things", "q"))
    assert search(postings, "alpha beta") == before
    assert {match.key for match in search(postings, "gamma", THERE).matches} == set()


def test_ties_are_ordered_by_key_whatever_the_insertion_order(
    database: Database, postings: SqlitePostings
) -> None:
    for key in ("c", "a", "d", "b"):
        put(database, postings, {key: "same words"})
    assert [match.key for match in search(postings, "same", limit=3).matches] == ["a", "b", "c"]


@pytest.mark.parametrize("count", [100, 2500])
def test_a_hundred_equal_documents_are_ordered_by_key(
    database: Database, postings: SqlitePostings, count: int
) -> None:
    """Through SQL, and through cached lists where many more documents match less well."""
    keys = [f"k{n:03}" for n in range(100)]
    random.Random(4).shuffle(keys)
    put(
        database,
        postings,
        {f"other{n:05}": "same and a good deal more text" for n in range(count - 100)},
    )
    put(database, postings, dict.fromkeys(keys, "same words"))
    assert [match.key for match in search(postings, "same", limit=5).matches] == sorted(keys)[:5]


def test_a_prefix_is_a_string_prefix_and_metacharacters_are_ordinary(
    database: Database, postings: SqlitePostings
) -> None:
    put(database, postings, dict.fromkeys(["/a_b/x", "/aXb/x", "/a%b/x", "/ab", "/a"], "word"))
    for prefix, expected in (
        ("/a_", ["/a_b/x"]),
        ("/a%", ["/a%b/x"]),
        ("/a", ["/a", "/a%b/x", "/aXb/x", "/a_b/x", "/ab"]),
        ("/z", []),
    ):
        assert [match.key for match in search(postings, "word", prefix=prefix).matches] == expected


def test_a_prefix_of_many_documents_gives_the_same_result(
    database: Database, postings: SqlitePostings
) -> None:
    put(
        database,
        postings,
        {f"/{'in' if n % 3 else 'out'}/{n:05}": f"word w{n % 50}" for n in range(4000)},
    )
    found = search(postings, "word w7", prefix="/in", limit=20).matches
    assert len(found) == 20
    assert all(match.key.startswith("/in") for match in found)
    assert {match.terms for match in found} == {("w7", "word")}


def test_fields_are_weighted_and_others_are_not_searched(
    database: Database, postings: SqlitePostings
) -> None:
    documents = [
        IndexDocument("t", {"title": ["apple"], "body": ["pear", "plum"]}),
        IndexDocument("b", {"title": ["pear"], "body": ["apple", "plum"]}),
    ]
    database.write_now(lambda connection: postings.put(connection, HERE, documents))
    assert [
        m.key for m in search(postings, "apple", weights={"title": 3.0, "body": 1.0}).matches
    ] == ["t", "b"]
    assert [
        m.key for m in search(postings, "apple", weights={"title": 1.0, "body": 3.0}).matches
    ] == ["b", "t"]
    assert [m.key for m in search(postings, "apple", weights={"body": 1.0}).matches] == ["b"]
    assert search(postings, "apple", weights={"none": 1.0}).matches == ()


def test_a_cleared_partition_is_empty_and_its_neighbour_is_not(
    database: Database, postings: SqlitePostings
) -> None:
    put(database, postings, {"one": "alpha"})
    put(database, postings, {"one": "alpha"}, THERE)
    database.write_now(lambda connection: postings.clear(connection, HERE))
    assert search(postings, "alpha").matches == ()
    assert len(search(postings, "alpha", THERE).matches) == 1
    assert postings.count(database.reader(), HERE) == 0
    put(database, postings, {"one": "alpha"})
    assert len(search(postings, "alpha").matches) == 1


def test_a_failed_transaction_leaves_the_index_as_it_was(
    database: Database, postings: SqlitePostings
) -> None:
    put(database, postings, {"one": "alpha beta"})
    before = search(postings, "alpha")

    def broken(connection: object) -> None:
        postings.put(connection, HERE, [IndexDocument("two", {"body": ["alpha"]})])  # type: ignore[arg-type]
        raise RuntimeError("the caller's own change failed")

    with pytest.raises(RuntimeError):
        database.write_now(broken)
    assert search(postings, "alpha") == before


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "'; DROP TABLE search_term; --",
        '* OR NEAR(a) "',
        "%_%",
        "\x00\x01",
        "a" * 100_000,
        "😀 🤖",
        "((((",
    ],
)
def test_any_query_text_is_legal(database: Database, postings: SqlitePostings, query: str) -> None:
    put(database, postings, {"one": "alpha beta"})
    retrieval = asyncio.run(LexicalRetriever(postings).retrieve(HERE, query, limit=5, weights=BODY))
    assert retrieval.hits == ()


def test_a_megabyte_of_query_is_cut_and_noted(database: Database, postings: SqlitePostings) -> None:
    put(database, postings, {"one": "alpha beta"})
    query = "alpha " + " ".join(f"word{n}" for n in range(100_000))
    retrieval = asyncio.run(LexicalRetriever(postings).retrieve(HERE, query, limit=5, weights=BODY))
    assert retrieval.notes
    assert all(0 <= hit.score <= 1 for hit in retrieval.hits)


def test_scores_lie_between_zero_and_one_and_missing_terms_lower_them(
    database: Database, postings: SqlitePostings
) -> None:
    put(database, postings, {"one": "alpha beta", "two": "alpha gamma", "three": "delta"})
    retriever = LexicalRetriever(postings)
    full = asyncio.run(retriever.retrieve(HERE, "alpha beta", limit=5, weights=BODY)).hits
    half = asyncio.run(retriever.retrieve(HERE, "alpha beta zebra", limit=5, weights=BODY)).hits
    assert full[0].key == half[0].key == "one"
    assert 0 < half[0].score < full[0].score <= 1
    assert half[0].explain["missing"] == ["zebra"]
    assert half[0].lexical == half[0].score
    assert half[0].semantic is None


@pytest.mark.parametrize("prefix", ["", "a", "/x_", "é", "\ud7ff", "\U0010ffff", "a\U0010ffff"])
def test_the_upper_bound_is_above_every_string_with_the_prefix(prefix: str) -> None:
    for tail in ("", "a", "zzz", "\U0010ffff"):
        assert prefix <= prefix + tail < upper_bound(prefix)


def test_cached_lists_rank_as_the_tables_do(database: Database, postings: SqlitePostings) -> None:
    """Cached lists follow additions and removals; the ranking statement is the oracle."""
    rng = random.Random(11)
    words = [f"w{n}" for n in range(12)]

    def text() -> str:
        return " ".join(rng.choices(words, k=rng.randint(2, 15)))

    put(database, postings, {f"/d{n:05}": text() for n in range(2500)})
    without = SqlitePostings(database, in_memory=False)
    for step in range(6):
        for terms, prefix in (
            ("w0 w1", ""),
            ("w2 w3 w4", "/d0"),
            ("w5 nowhere", ""),
            ("w1 w7", "/d"),
        ):
            assert search(postings, terms, prefix=prefix) == search(
                without, terms, prefix=prefix
            ), (step, terms)
        best = [match.key for match in search(postings, "w0 w1").matches]
        database.write_now(
            lambda connection, best=best: postings.remove(connection, HERE, best[:5])
        )  # type: ignore[misc]
        put(database, postings, {f"/e{step}-{n}": text() for n in range(40)})
        put(database, postings, {best[6]: text()})
        newest = [best[6], f"/e{step}-39", f"/s{step}-0"]
        for number in range(step % 3):  # buffered now, in the lists after the next step
            document = IndexDocument(f"/s{step}-{number}", {"body": text().split()})
            database.write_now(
                lambda connection, document=document: postings.put_soon(connection, HERE, document)
            )  # type: ignore[misc]
        for store in (postings, without):
            assert asyncio.run(
                store.score_keys(HERE, ["w0", "w1", "w2"], newest, weights=BODY)
            ) == asyncio.run(without.score_keys(HERE, ["w0", "w1", "w2"], newest, weights=BODY))


def pack(postings: SqlitePostings) -> int:
    """Steps until there is nothing to pack."""

    async def steps() -> int:
        count = 0
        while await postings.tidy():
            count += 1
        return count

    return asyncio.run(steps())


def test_packed_lists_rank_as_the_tables_do(database: Database) -> None:
    """Each search opens the store again to read lists from disk; SQL is the oracle."""
    rng = random.Random(12)
    words = [f"w{n}" for n in range(12)]

    def text() -> str:
        return " ".join(rng.choices(words, k=rng.randint(2, 9)))

    put(database, SqlitePostings(database), {f"/d{n:05}": text() for n in range(4200)})
    put(database, SqlitePostings(database), {f"/d{n:05}": "w1 w1 w2" for n in range(4200)}, THERE)
    without = SqlitePostings(database, in_memory=False)
    assert pack(SqlitePostings(database)) > 0
    held = database.reader().execute("SELECT count(*) FROM search_packed").fetchone()
    assert held == (14,)
    for step in range(4):
        for terms, prefix in (
            ("w0 w1", ""),
            ("w2 w3 w4", "/d0"),
            ("w5 nowhere", ""),
            ("w1 w7", "/d"),
        ):
            for partition in (HERE, THERE):
                expected = search(without, terms, partition, prefix=prefix)
                assert (
                    search(SqlitePostings(database), terms, partition, prefix=prefix) == expected
                ), (step, terms)
        best = [match.key for match in search(without, "w0 w1", limit=100).matches][: 5 + 20 * step]
        database.write_now(lambda connection, best=best: without.remove(connection, HERE, best))  # type: ignore[misc]
        put(database, without, {f"/e{step}-{n}": text() for n in range(40)})
        put(database, without, {best[0]: text()})


def test_lists_are_repacked_only_when_enough_has_changed(database: Database) -> None:
    put(database, SqlitePostings(database), {f"/d{n:05}": "alpha beta" for n in range(4200)})
    assert pack(SqlitePostings(database)) > 0
    assert pack(SqlitePostings(database)) == 0
    put(database, SqlitePostings(database), {f"/e{n:05}": "alpha gamma" for n in range(1000)})
    assert pack(SqlitePostings(database)) == 0
    put(database, SqlitePostings(database), {f"/f{n:05}": "alpha gamma" for n in range(300)})
    assert pack(SqlitePostings(database)) > 0
    replaced = {
        f"/d{n:05}": "alpha delta" for n in range(600)
    }  # as many documents as before, and other ones
    put(database, SqlitePostings(database), replaced)
    assert pack(SqlitePostings(database)) > 0
    assert pack(SqlitePostings(database)) == 0


def test_packed_lists_are_removed_with_their_partition(
    database: Database, postings: SqlitePostings
) -> None:
    put(database, postings, {f"/d{n:05}": "alpha beta" for n in range(4200)})
    assert pack(postings) > 0
    database.write_now(lambda connection: postings.clear(connection, HERE))
    assert database.reader().execute(
        "SELECT (SELECT count(*) FROM search_packed), (SELECT count(*) FROM search_packing)"
    ).fetchone() == (
        0,
        0,
    )
    put(database, postings, {f"/d{n:05}": "alpha gamma" for n in range(10)})
    assert len(search(postings, "alpha", limit=20).matches) == 10
