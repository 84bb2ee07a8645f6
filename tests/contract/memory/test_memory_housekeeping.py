"""Housekeeping on both databases: many decisions, merges, reports, timeline and purges."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest

from commonplace.kernel.auth import LOCAL_TENANT, Scope
from commonplace.kernel.settings import MemorySettings
from memory_calls import Calls, WordEmbedder

IDLE = "The gateway closes idle connections after 30 seconds, so clients must reconnect."
SECRET_WORD = "xylozq7"


def add_duplicates(memory: Calls, **more: Any) -> tuple[str, str, str]:
    """Add two entries that say the same; returns their ids and that of the suggestion."""
    first = memory.add("Idle connections", IDLE, **more)
    second = memory.add("Idle connections again", f"{IDLE} Seen on staging.", **more)
    found = memory("rekall_suggest_links")["suggestions"]
    [pair] = [s for s in found if {s["entry_a"]["id"], s["entry_b"]["id"]} == {first, second}]
    assert pair["suggestion_type"] == "duplicate"
    return first, second, pair["id"]


def add_pairs(memory: Calls, count: int, project: str) -> None:
    """Add pairs of related entries, each with words of its own."""
    for number in range(count):
        word = f"{project}topic{number}x"
        text = f"The {word} importer of the {word} queue {word} stopped at the {word} barrier"
        memory.add(f"Importer {word}", f"{text} when {word} restarted.", project=project)
        memory.add(
            f"Queue {word}",
            f"{text} because memory ran out, see {word} dashboards.",
            project=project,
            type="pattern",
        )


def find_traces(memory: Calls, url: str, folder: Path, word: str) -> list[str]:
    """Return the tables or files that hold a word."""
    if not url:
        needle = word.encode()
        files = [path for path in folder.rglob("*") if path.is_file()]
        return [path.name for path in files if needle in path.read_bytes().lower()]
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        ).fetchall()
        return [
            name
            for (name,) in tables
            if connection.execute(
                f'SELECT 1 FROM "{name}" AS row WHERE row::text ILIKE %s LIMIT 1', (f"%{word}%",)
            ).fetchone()
        ]


def test_suggestions_are_decided_in_bulk_by_type_score_and_project(memory: Calls) -> None:
    add_pairs(memory, 3, "shop")
    add_pairs(memory, 2, "blog")
    listed = memory("rekall_suggest_links", limit=50)
    assert listed["total_pending"] == 5
    counted = memory("memory_decide", decision="reject", project="shop", dry_run=True)
    assert (counted["matched"], counted["decided"], counted["dry_run"]) == (3, 0, True)
    assert len(counted["suggestions"]) == 3
    assert all(s["entries"][0]["title"] for s in counted["suggestions"])
    assert memory("memory_decide", decision="accept", min_score=1.0)["matched"] == 0
    assert memory("memory_decide", decision="accept", types=["generalize"])["matched"] == 0
    rejected = memory("memory_decide", decision="reject", project="shop")
    assert (rejected["decided"], rejected["remaining"]) == (3, 0)
    accepted = memory("memory_decide", decision="accept", types=["link"], max_score=1.0)
    assert (accepted["decided"], accepted["links_created"]) == (2, 2)
    assert memory("rekall_suggest_links")["total_pending"] == 0
    assert memory.run(memory.service.counts(LOCAL_TENANT)).links == 2


def test_only_the_named_suggestions_are_decided(memory: Calls) -> None:
    add_pairs(memory, 3, "shop")
    ids = [s["id"] for s in memory("rekall_suggest_links")["suggestions"]]
    assert memory("memory_decide", decision="reject", ids=ids[:2])["decided"] == 2
    assert memory("memory_decide", decision="reject", ids=[])["matched"] == 0
    left = memory("rekall_suggest_links")["suggestions"]
    assert [s["id"] for s in left] == ids[2:]
    assert memory("memory_decide", decision="reject", ids=[ids[0], "01NONE"])["decided"] == 0


def test_a_dry_run_needs_only_the_scope_to_read(memory: Calls) -> None:
    decide, purge = (memory.registry.tool(name) for name in ("memory_decide", "memory_purge"))
    for tool, arguments, needed in (
        (decide, {"decision": "accept"}, Scope.WRITE),
        (purge, {"older_than_days": 0}, Scope.ADMIN),
    ):
        assert callable(tool.scope)
        assert tool.scope(tool.input(**arguments)) is needed
        assert tool.scope(tool.input(**arguments, dry_run=True)) is Scope.READ


def test_an_accepted_duplicate_is_merged_and_keeps_both_histories(memory: Calls) -> None:
    first, second, suggestion = add_duplicates(memory, tags=["net"])
    memory("memory_update", id=first, tags=["net", "gateway"], confidence=5)
    linked = memory.add("Timeouts of proxies", "Unrelated words about proxies and budgets.")
    cause = memory.add("Kernel setting", "Another unrelated sentence about sockets.")
    memory("rekall_link", source_id=first, target_id=linked)
    memory("rekall_link", source_id=cause, target_id=first, relation_type="derived_from")
    memory("rekall_show", id=first)
    memory("memory_confirm", id=first)
    accepted = memory("rekall_accept_suggestion", suggestion_id=suggestion)
    assert accepted["merged_into"]["id"] == second
    assert accepted["link_created"] == {
        "source_id": second,
        "target_id": first,
        "relation_type": "supersedes",
    }
    kept = memory("rekall_show", id=second)
    assert kept["content"] == f"{IDLE} Seen on staging."
    assert kept["tags"] == ["net", "gateway"]
    assert (kept["confidence"], kept["reliability"]["confirmed"]) == (3, 1)
    outgoing = {(end["target_id"], end["relation_type"]) for end in kept["links"]["outgoing"]}
    assert outgoing == {(first, "supersedes"), (linked, "related")}
    assert [end["source_id"] for end in kept["links"]["incoming"]] == [cause]
    other = memory("rekall_show", id=first)
    assert (other["status"], other["superseded_by"]["id"]) == ("obsolete", second)
    history = [
        [r.action for r in memory.run(memory.service.history(LOCAL_TENANT, id_))]
        for id_ in (first, second)
    ]
    assert history == [["update", "supersede"], ["merge"]]
    assert memory.error("rekall_accept_suggestion", suggestion_id=suggestion).details["status"] == (
        "accepted"
    )


def test_merged_entries_form_a_chain_that_leads_to_the_living_one(memory: Calls) -> None:
    first, second, _ = add_duplicates(memory)
    old = memory.add("Gateway before", "Other words entirely about the retired appliance.")
    memory("rekall_link", source_id=first, target_id=old, relation_type="supersedes")
    memory("memory_decide", decision="accept", types=["duplicate"])
    third = memory.add(
        "Idle connections once more", f"{IDLE} Seen on staging. Also behind the second balancer."
    )
    done = memory("memory_decide", decision="accept", types=["duplicate"])
    assert done["merged"] == 1
    for id_ in (old, first, second):
        assert memory("rekall_show", id=id_)["superseded_by"]["id"] == third
    results = memory("rekall_search", query="gateway idle connections")["results"]
    assert results[0]["id"] == third
    assert all(r["superseded_by"]["id"] == third for r in results[1:])


def test_a_merged_entry_is_found_by_the_meaning_of_both(embedding_memory: Calls) -> None:
    memory = embedding_memory
    _first, second, _ = add_duplicates(memory)
    memory("memory_decide", decision="accept", types=["duplicate"])
    best = memory("rekall_search", query="seen on staging", mode="meaning")["results"][0]
    assert best["id"] == second
    assert memory("rekall_show", id=second)["vectors"]["embedded"] == 1


def test_a_duplicate_of_a_retired_entry_is_not_offered_any_more(memory: Calls) -> None:
    first, _second, suggestion = add_duplicates(memory)
    memory("memory_update", id=first, status="obsolete")
    assert memory("rekall_suggest_links")["total_pending"] == 0
    error = memory.error("rekall_accept_suggestion", suggestion_id=suggestion)
    assert error.code.name == "SUGGESTION_NOT_FOUND"
    memory("memory_update", id=first, status="active")
    assert memory("rekall_suggest_links")["total_pending"] == 1


def test_reports_move_the_strength_and_leave_the_confidence(memory: Calls) -> None:
    entry = memory.add("Pool size", "Forty connections.", confidence=4)
    shown = memory("rekall_show", id=entry)
    assert shown["reliability"] == {
        "strength": 0.8,
        "freshness": 1.0,
        "confirmed": 0,
        "refuted": 0,
    }
    confirmed = memory("memory_confirm", id=entry, note="It held under load.")
    refuted = memory("memory_confirm", id=entry, outcome="refuted")
    assert confirmed["strength"] > 0.8 > refuted["strength"]
    assert (refuted["confidence"], refuted["confirmed"], refuted["refuted"]) == (4, 1, 1)
    assert memory.error("memory_confirm", id="01NOSUCHENTRY").code.name == "ENTRY_NOT_FOUND"


def test_decay_changes_the_order_and_nothing_else(memory: Calls) -> None:
    old = memory.add("Cache of pages", "Empty the cache of pages on Fridays.", type="config")
    memory.clock.pass_days(400)
    new = memory.add("Cache of images", "Empty the cache of images on Mondays.", type="config")
    found = memory("rekall_search", query="empty the cache", why=True)["results"]
    assert [r["id"] for r in found] == [new, old]
    weights = {r["id"]: r["why"] for r in found}
    assert weights[new]["order_weight"] == 1.0 > weights[old]["order_weight"]
    assert weights[old]["freshness"] < 0.1
    assert found[0]["score"] == found[1]["score"]
    memory("memory_confirm", id=old)
    memory("memory_confirm", id=new, outcome="refuted")
    again = memory("rekall_search", query="empty the cache", why=True)["results"]
    assert [r["id"] for r in again] == [old, new]
    assert {r["id"]: r["score"] for r in again} == {r["id"]: r["score"] for r in found}


def test_the_timeline_tells_by_day_what_happened(memory: Calls) -> None:
    first = memory.add("Port", "The importer listens on port 8080.", project="shop")
    memory.clock.pass_days(1)
    second = memory.add("Port again", "The importer listens on port 9090.", project="shop")
    memory("memory_update", id=first, tags=["net"])
    memory.clock.pass_days(1)
    memory("rekall_link", source_id=second, target_id=first, relation_type="supersedes")
    memory("memory_confirm", id=second, note="Seen in the log.")
    other = memory.add("Elsewhere", "Nothing to do with it.", project="blog")
    memory("memory_delete", id=other)
    found = memory("memory_timeline", project="shop")
    kinds = [event["kind"] for event in found["events"]]
    assert kinds == ["confirmed", "superseded", "changed", "contradicted", "added", "added"] or (
        kinds == ["confirmed", "superseded", "changed", "added", "added"]
    )
    assert [day["day"] for day in found["by_day"]] == ["2026-01-03", "2026-01-02", "2026-01-01"]
    assert found["by_day"][0]["counts"] == {"confirmed": 1, "superseded": 1}
    assert found["events"][0]["detail"] == "Seen in the log."
    assert found["events"][1]["other"] == {"id": second, "title": "Port again"}
    everything = memory("memory_timeline", limit=2)
    assert (everything["events"][0]["kind"], everything["has_more"]) == ("deleted", True)
    assert everything["events"][0]["entry"] == {"id": other, "title": "Elsewhere"}
    added = memory("memory_timeline", kinds=["added"], until="2026-01-02", days=1)
    assert [event["entry"]["id"] for event in added["events"]] == [second]
    own = memory("memory_timeline", id=first)["events"]
    assert {event["kind"] for event in own} >= {"superseded", "changed", "added"}


def test_a_contradiction_is_on_the_timeline_with_both_sides(memory: Calls) -> None:
    first = memory.add("Region", "Production runs in eu-west-1.", project="shop")
    second = memory.add("Region", "Production runs in eu-central-1.", project="shop")
    [event] = memory("memory_timeline", kinds=["contradicted"])["events"]
    assert {event["entry"]["id"], event["other"]["id"]} == {first, second}
    suggestion = memory("rekall_suggest_links")["suggestions"][0]["id"]
    memory("rekall_accept_suggestion", suggestion_id=suggestion)
    assert memory("memory_timeline", kinds=["contradicted"])["total"] == 1


def test_a_purge_leaves_no_trace_of_a_deleted_entry(tmp_path: Path, url: str) -> None:
    memory = Calls(tmp_path, embedder=WordEmbedder(), url=url)
    word = SECRET_WORD
    text = f"The {word} gateway closes idle {word} connections after thirty seconds."
    entry = memory.add(
        f"About {word}",
        f"{text} " + "Filler sentence. " * 60,
        tags=[word, "net"],
        context=f"Somebody said {word}.",
        project=word,
    )
    memory.add(f"About {word} again", f"{text} Twice.", project=word)
    memory("memory_update", id=entry, title=f"Changed {word}", content=f"{text} Changed.")
    memory("memory_confirm", id=entry, note=f"The {word} note.")
    kept = memory.add("Something else", "Words that stay.")
    memory("rekall_link", source_id=kept, target_id=entry)
    memory.run(memory.service.settle())
    assert find_traces(memory, url, tmp_path, word)
    for listed in memory("memory_list", project=word)["entries"]:
        memory("memory_delete", id=listed["id"])
    counted = memory("memory_purge", older_than_days=0, dry_run=True)
    assert (counted["purged"], counted["dry_run"]) == (2, True)
    purged = memory("memory_purge", older_than_days=0)
    assert (purged["purged"], purged["revisions"]) == (2, counted["revisions"])
    assert entry in purged["ids"]
    assert "hint" not in purged
    assert find_traces(memory, url, tmp_path, word) == []
    assert memory.error("memory_delete", id=entry, restore=True).code.name == "ENTRY_NOT_FOUND"
    assert memory("rekall_search", query="words that stay")["results"][0]["id"] == kept
    assert memory("rekall_show", id=kept)["links"]["outgoing"] == []
    assert memory("memory_timeline", kinds=["purged"])["total"] == 1
    assert memory("memory_purge", older_than_days=0)["purged"] == 0
    memory.close()
    assert find_traces(memory, url, tmp_path, word) == []


def test_a_purge_removes_earlier_texts_of_an_entry_that_stays(
    memory: Calls, url: str, tmp_path: Path
) -> None:
    entry = memory.add("Password rules", f"The token was {SECRET_WORD} until May.")
    memory("memory_update", id=entry, content="The token is in the vault.")
    assert find_traces(memory, url, tmp_path, SECRET_WORD)
    done = memory("memory_purge", ids=[entry[:12]])
    assert (done["purged"], done["revisions"]) == (0, 1)
    assert find_traces(memory, url, tmp_path, SECRET_WORD) == []
    [revision] = memory.run(memory.service.history(LOCAL_TENANT, entry))
    assert (revision.action, revision.before["status"]) == ("update", "active")
    assert memory("rekall_show", id=entry)["content"] == "The token is in the vault."
    assert memory("memory_purge", ids=[entry])["revisions"] == 0


def test_a_file_from_before_deletions_were_overwritten_is_compacted_once(tmp_path: Path) -> None:
    folder = Path(__file__).parents[3] / "src/commonplace/memory/migrations/sqlite"
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        connection.execute("PRAGMA secure_delete = 0")
        for name in ("0001_entries.sql", "0002_listed_suggestions.sql"):
            connection.executescript((folder / name).read_text())
        connection.execute(
            "CREATE TABLE schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL) "
            "WITHOUT ROWID"
        )
        connection.execute("INSERT INTO schema_version VALUES ('memory', 2)")
        values = ("local", "t", f"{SECRET_WORD} " * 2_000, "[]", "", 3, "active", "episodic")
        for number in range(3):
            connection.execute(
                "INSERT INTO memory_entries (id, digest, type, created_at, updated_at, tenant, "
                "title, content, tags, context, confidence, status, memory_type) VALUES "
                f"('01J{number:023d}', x'0{number}', 'bug', '2026-01-01T00:00:00.000Z', "
                "'2026-01-01T00:00:00.000Z', ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        connection.commit()
        connection.execute("UPDATE memory_entries SET content = 'short'")
    memory = Calls(tmp_path)
    assert find_traces(memory, "", tmp_path, SECRET_WORD)
    first = memory("memory_list")["entries"][0]["id"]
    memory("memory_delete", id=first)
    assert memory("memory_purge", older_than_days=0)["purged"] == 1
    assert find_traces(memory, "", tmp_path, SECRET_WORD) == []
    assert memory("memory_list")["total"] == 2
    memory.close()


def test_only_what_is_older_than_the_days_is_purged(memory: Calls) -> None:
    old, new = memory.add("Old"), memory.add("New")
    memory("memory_delete", id=old)
    memory.clock.pass_days(40)
    memory("memory_delete", id=new)
    assert memory("memory_purge", older_than_days=30)["ids"] == [old]
    memory("memory_delete", id=new, restore=True)
    assert memory("memory_list")["total"] == 1


def test_what_a_purged_entry_superseded_leads_to_its_successor(memory: Calls) -> None:
    first = memory.add("First", "One way to do it.")
    second = memory.add("Second", "Another manner entirely.")
    third = memory.add("Third", "A final approach with nothing shared.")
    memory("rekall_link", source_id=second, target_id=first, relation_type="supersedes")
    memory("rekall_link", source_id=third, target_id=second, relation_type="supersedes")
    memory("rekall_link", source_id=third, target_id=first, relation_type="supersedes")
    memory("memory_delete", id=second)
    memory("memory_purge", ids=[second])
    assert memory("rekall_show", id=first)["superseded_by"]["id"] == third


def test_a_deleted_entry_leads_to_the_successor_of_two_that_are_purged(memory: Calls) -> None:
    ids = [memory.add(f"Entry {number}", f"Text of number {number}.") for number in range(4)]
    for old, new in itertools.pairwise(ids):
        memory("rekall_link", source_id=new, target_id=old, relation_type="supersedes")
    for deleted in ids[:3]:
        memory("memory_delete", id=deleted)
    memory("memory_purge", ids=ids[1:3])
    memory("memory_delete", id=ids[0], restore=True)
    assert memory("rekall_show", id=ids[0])["superseded_by"]["id"] == ids[3]


def test_a_purge_says_that_an_entry_which_is_not_deleted_stays(memory: Calls) -> None:
    kept, deleted = memory.add("Kept", "Quartz."), memory.add("Deleted", "Topaz.")
    memory("memory_update", id=kept, content="Garnet.")
    memory("memory_delete", id=deleted)
    counted = memory("memory_purge", ids=[kept, deleted], dry_run=True)
    done = memory("memory_purge", ids=[kept, deleted])
    for answer in (counted, done):
        assert (answer["purged"], answer["revisions"]) == (1, 2)
        assert "not deleted: 1" in answer["hint"]
    assert memory("rekall_show", id=kept)["content"] == "Garnet."


def test_a_purge_needs_entries_or_an_age(memory: Calls) -> None:
    entry = memory.add("Kept")
    assert memory.error("memory_purge").code.name == "INVALID_ARGUMENT"
    both = memory.error("memory_purge", ids=[entry], older_than_days=3)
    assert both.code.name == "INVALID_ARGUMENT"
    assert memory("memory_list")["total"] == 1


def test_one_tenant_neither_sees_nor_purges_what_another_has(memory: Calls) -> None:
    mine = memory.add("Mine")
    memory("memory_delete", id=mine)
    assert memory("memory_purge", tenant="other", older_than_days=0)["purged"] == 0
    assert memory("memory_timeline", tenant="other")["total"] == 0
    assert memory("memory_decide", tenant="other", decision="reject")["matched"] == 0
    error = memory.error("memory_purge", tenant="other", ids=[mine])
    assert error.code.name == "ENTRY_NOT_FOUND"


@pytest.mark.parametrize("days", [0, 30])
def test_the_retention_is_a_setting(days: int) -> None:
    assert MemorySettings(retention_days=days).retention_days == days
