"""The two dialects of memory's SQL define the same statements, and the two databases give the
same answers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.memory.store.postgres import QUERIES as POSTGRES
from commonplace.memory.store.sqlite import QUERIES as SQLITE
from memory_calls import Calls
from servers import empty_tables

WORDS = (
    "gateway",
    "timeout",
    "safari",
    "cookie",
    "deploy",
    "runner",
    "disk",
    "cache",
    "30",
    "90",
    "never",
    "always",
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
KINDS = st.sampled_from(("bug", "config", "decision"))


def test_both_dialects_define_the_same_statements_with_the_same_parameters() -> None:
    assert set(SQLITE) == set(POSTGRES)
    for name in SQLITE:
        in_sqlite = set(re.findall(r":([a-z_]+)", SQLITE[name]))
        in_postgres = set(re.findall(r"%\(([a-z_]+)\)s", POSTGRES[name]))
        assert in_sqlite == in_postgres, name


@pytest.fixture
def pair(tmp_path: Path, postgres_url: str) -> Any:
    """Memory in each database.

    Without vectors: those are rounded differently, so that a cosine at a threshold may fall either
    way.
    """
    both = Calls(tmp_path), Calls(tmp_path, url=postgres_url)
    yield both
    for calls in both:
        calls.close()


class Named:
    """Names ids by the order in which they appear, since two databases have different ids."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: self(item) for key, item in value.items() if not key.endswith("_at")
            }  # the clocks differ
        if isinstance(value, list):
            return [self(item) for item in value]
        if isinstance(value, float):
            return round(value, 6)
        if isinstance(value, str) and re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", value):
            return self._seen.setdefault(value, f"id {len(self._seen)}")
        return value


def script(calls: Calls, texts: list[tuple[str, str]]) -> list[Any]:
    """Return the answers to a series of calls."""
    seen, answers = Named(), []
    ids = []
    for number, (kind, text) in enumerate(texts):
        added = calls(
            "rekall_add",
            type=kind,
            title=f"{text} ({number})",
            content=f"{text}.",
            context=text if number % 2 else "",
        )
        ids.append(added["id"])
        answers.append(
            {key: added[key] for key in ("created", "embeddings_calculated", "suggestions_created")}
        )
    seen(ids)
    for query in ("gateway timeout", "safari cookie never", "disk"):
        found = calls("rekall_search", query=query, limit=20)
        answers.append([(seen(r["id"]), r["score"]) for r in found["results"]])
    if len(ids) > 1:
        calls("rekall_link", source_id=ids[0], target_id=ids[1], relation_type="supersedes")
        calls("memory_update", id=ids[0], tags=["one", "two"], project="p")
        calls("memory_delete", id=ids[-1])
    answers.append(seen(calls("memory_list", limit=200)))
    answers.append(seen(calls("memory_related", id=ids[0], depth=3)["links"]))
    pairs = calls("rekall_suggest_links", limit=50)
    answers.append(pairs["total_pending"])
    answers.append(
        sorted(
            tuple(sorted(seen([s["entry_a"]["id"], s["entry_b"]["id"]])))
            for s in pairs["suggestions"]
        )
    )
    return answers


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=7))
def test_the_same_calls_have_the_same_answers_in_both_databases(
    pair: tuple[Calls, Calls], texts: list[tuple[str, str]]
) -> None:
    answers = []
    for calls in pair:
        calls.tenant = f"tenant {calls.count}"
        calls.count += 1
        answers.append(script(calls, texts))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("statement", ["entries_by_id", "usage", "links_among", "clusters_with"])
def test_lookups_by_id_use_an_index_in_a_large_memory(
    migrated_postgres: str, statement: str
) -> None:
    """On PostgreSQL, for one tenant with thousands of entries: the plan must not go through all
    of them for five.
    """
    ids = [f"01{number:024d}" for number in range(4000)]
    with psycopg.connect(migrated_postgres, autocommit=True) as connection:
        empty_tables(migrated_postgres)
        connection.execute(
            """INSERT INTO memory_entries (tenant, id, type, title, content, tags, context,
                   confidence, status, memory_type, digest, created_at, updated_at)
               SELECT 'local', id, 'bug', id, repeat('text ', 50), '[]', '', 3, 'active',
                   'episodic', id::bytea, now(), now()
               FROM unnest(%s::text[]) AS id""",
            (ids,),
        )
        connection.execute(
            """INSERT INTO memory_links (tenant, id, source_id, target_id, relation, created_at)
               SELECT 'local', id, id, '01' || lpad((right(id, 6)::int / 2)::text, 24, '0'),
                   'related', now()
               FROM unnest(%s::text[]) AS id WHERE right(id, 6)::int > 0""",
            (ids,),
        )
        connection.execute("ANALYZE")
        given = {"tenant": "local", "ids": json.dumps(ids[5:10])}
        answer = connection.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {POSTGRES[statement]}", given
        ).fetchone()
        empty_tables(migrated_postgres)
    assert answer is not None
    assert largest(answer[0][0]["Plan"]) < 100, answer


def largest(node: dict[str, Any]) -> float:
    """Return the most rows that any part of a plan read."""
    own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return max([own, *(largest(child) for child in node.get("Plans", ()))])
