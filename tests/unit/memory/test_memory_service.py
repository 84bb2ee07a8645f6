"""The rules of memory's use cases, through its tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.settings import MemorySettings
from memory_calls import Calls

NO_SPACE = "OSError: [Errno 28] No space left on device"
IDLE = "The gateway closes idle connections after {} seconds, so clients must reconnect."


def test_an_exact_duplicate_returns_the_existing_entry(memory: Calls) -> None:
    first = memory("rekall_add", type="bug", title="Same", content="text", project="p")
    again = memory("rekall_add", type="bug", title=" Same ", content="text\n", project="p")
    assert (again["created"], again["id"]) == (False, first["id"])
    assert (
        memory("rekall_add", type="bug", title="Same", content="text", project="other")["created"]
        is True
    )
    assert memory("memory_list")["total"] == 2


def test_a_duplicate_of_a_deleted_or_obsolete_entry_is_new(memory: Calls) -> None:
    first = memory.add("Same", "text")
    memory("memory_delete", id=first)
    second = memory.add("Same", "text")
    assert second != first
    assert memory.error("memory_delete", id=first, restore=True).code.name == "DUPLICATE_ENTRY"
    memory("memory_update", id=second, status="obsolete")
    third = memory.add("Same", "text")
    assert memory.error("memory_update", id=second, status="active").code.name == "DUPLICATE_ENTRY"
    assert memory("rekall_show", id=third)["status"] == "active"


def test_a_long_context_is_cut_and_reported(memory: Calls) -> None:
    assert (
        memory("rekall_add", type="bug", title="a", context="c" * 10_001)["context_truncated"]
        is True
    )
    assert "context_truncated" not in memory(
        "rekall_add", type="bug", title="b", context="c" * 10_000
    )


def test_the_context_is_searched_but_not_shown(memory: Calls) -> None:
    entry = memory.add(
        "Retry with backoff", "Wait longer each time.", context="the zookeeper quorum was lost"
    )
    memory.add("Another thing", "about lunch")
    assert [r["id"] for r in memory("rekall_search", query="zookeeper")["results"]] == [entry]
    assert "zookeeper" not in str(memory("rekall_show", id=entry))


def test_the_conversation_helps_a_vague_question(memory: Calls) -> None:
    memory.add("Apple pie", "The browser of the kitchen tablet shows recipes.")
    wanted = memory.add("Fix CORS Safari header", "Safari needs each custom header listed.")
    alone = memory("rekall_search", query="browser problem")["results"]
    assert wanted not in [r["id"] for r in alone]
    helped = memory(
        "rekall_search", query="browser problem", context="Safari drops our custom CORS header"
    )["results"]
    assert wanted in [r["id"] for r in helped]


def test_showing_counts_as_an_access_and_searching_does_not(memory: Calls) -> None:
    entry = memory.add("Counted", "words to find")
    memory("rekall_search", query="words")
    first = memory("rekall_show", id=entry)
    assert first["access_count"] == 1
    memory.clock.pass_days(30)
    second = memory("rekall_show", id=entry)
    assert second["access_count"] == 2
    assert second["last_accessed"] > first["last_accessed"]
    assert 0 < second["consolidation_score"] < first["consolidation_score"]


def test_accesses_survive_a_restart(tmp_path: Path) -> None:
    memory = Calls(tmp_path)
    entry = memory.add("Counted")
    for _ in range(3):
        memory("rekall_show", id=entry)
    memory.close()
    again = Calls(tmp_path)
    assert again("rekall_show", id=entry)["access_count"] == 4
    again.close()


def test_a_superseded_entry_ranks_lower_and_names_its_successor(memory: Calls) -> None:
    old = memory.add("Pool size", "The connection pool of the api holds ten connections.")
    new = memory.add("Connection pool", "Forty are held since the api moved.")
    before = memory("rekall_search", query="connection pool holds ten connections")["results"]
    assert before[0]["id"] == old
    memory("rekall_link", source_id=new, target_id=old, relation_type="supersedes")
    after = {r["id"]: r for r in memory("rekall_search", query="connection pool api")["results"]}
    assert after[old]["superseded_by"] == {"id": new, "title": "Connection pool"}
    assert after[old]["status"] == "obsolete"
    assert after[new]["score"] > after[old]["score"]
    shown = memory("rekall_show", id=old)
    assert shown["status"] == "obsolete"
    assert shown["superseded_by"]["id"] == new


def test_similar_entries_are_reported_and_suggested_once(memory: Calls) -> None:
    first = memory.add("Idle connections", IDLE.format(30))
    added = memory(
        "rekall_add",
        type="bug",
        title="Idle connections again",
        content=IDLE.format(30) + " Seen twice.",
    )
    assert [near["id"] for near in added["similar_entries"]] == [first]
    assert added["similar_entries"][0]["score"] > 0.55
    assert added["suggestions_created"] == 1
    assert memory("rekall_suggest_links")["total_pending"] == 1


def test_reasons_quote_words_as_written(memory: Calls) -> None:
    for place in ("checkout", "invoices", "refunds"):
        text = (
            f"Calling the billing service from {place} failed; connections were refused by "
            f"PostgreSQL and retrying cured it."
        )
        memory.add(f"Billing calls from {place}", text)
    reasons = [s["reason"] for s in memory("rekall_suggest_links", limit=50)["suggestions"]]
    reasons += [s["reason"] for s in memory("rekall_suggest_generalize")["suggestions"]]
    assert reasons
    written = {
        "billing",
        "calling",
        "calls",
        "service",
        "failed",
        "connections",
        "refused",
        "PostgreSQL",
        "retrying",
        "cured",
        "were",
    }
    for reason in reasons:
        assert set(reason.split(": ")[-1].split(" about ")[-1].split(", ")) <= written


def test_a_rejected_pair_never_returns(memory: Calls) -> None:
    first = memory.add("Idle connections", IDLE.format(30))
    second = memory.add("Idle connections again", IDLE.format(30) + " Seen twice.")
    [suggestion] = memory("rekall_suggest_links")["suggestions"]
    assert memory("rekall_reject_suggestion", suggestion_id=suggestion["id"]) == {
        "rejected": True,
        "suggestion_id": suggestion["id"],
    }
    store, service = memory.service.store, memory.service
    for entry_id in (first, second):
        entry = memory.run(store.get(LOCAL_TENANT, entry_id))
        near = memory.run(service.suggestions.neighbours(LOCAL_TENANT, entry))
        assert memory.run(service.suggestions.propose(LOCAL_TENANT, entry, near))[0] == 0
    assert memory("rekall_suggest_links") == {"suggestions": [], "total_pending": 0}


def test_linked_entries_are_not_suggested(memory: Calls) -> None:
    first = memory.add("Idle connections", IDLE.format(30))
    second = memory.add("Unrelated for now", "nothing shared here")
    memory("rekall_link", source_id=first, target_id=second)
    memory("memory_update", id=second, content=IDLE.format(30))
    entry = memory.run(memory.service.store.get(LOCAL_TENANT, second))
    near = memory.run(memory.service.suggestions.neighbours(LOCAL_TENANT, entry))
    assert near
    assert memory.run(memory.service.suggestions.propose(LOCAL_TENANT, entry, near))[0] == 0


def test_entries_of_two_projects_do_not_contradict_each_other(memory: Calls) -> None:
    memory.add("Gateway timeout", IDLE.format(30), project="a")
    memory.add("Gateway timeout", IDLE.format(90), project="b")
    kinds = [s["suggestion_type"] for s in memory("rekall_suggest_links")["suggestions"]]
    assert "contradiction" not in kinds


def test_three_episodes_become_one_cluster_and_a_fourth_joins_it(memory: Calls) -> None:
    for day in ("Monday", "Tuesday", "Friday"):
        memory.add(
            f"Deploy failed on {day}",
            f"The deploy failed: disk full on the build runner. Cleared the docker cache ({day}).",
        )
    [cluster] = memory("rekall_suggest_generalize")["suggestions"]
    assert len(cluster["entries"]) == 3
    memory.add(
        "Deploy failed on Sunday",
        "The deploy failed: disk full on the build runner. Cleared the docker cache (Sunday).",
    )
    [grown] = memory("rekall_suggest_generalize")["suggestions"]
    assert len(grown["entries"]) == 4
    memory("rekall_reject_suggestion", suggestion_id=grown["id"])
    memory.add(
        "Deploy failed on Thursday",
        "The deploy failed: disk full on the build runner. Cleared the docker cache (Thursday).",
    )
    assert memory("rekall_suggest_generalize")["total_pending"] == 0


def test_semantic_entries_are_not_generalised(memory: Calls) -> None:
    for day in ("Monday", "Tuesday", "Friday"):
        memory.add(
            f"Deploy failed on {day}",
            "The deploy failed: disk full on the build runner.",
            memory_type="semantic",
        )
    assert memory("rekall_suggest_generalize")["total_pending"] == 0


def test_generalising_drafts_a_pattern_from_its_sources(memory: Calls) -> None:
    ids = [
        memory.add(
            f"Deploy failed on {day}",
            f"{NO_SPACE}\nCleared the docker cache ({day}).",
            tags=["ci", day],
        )
        for day in ("monday", "tuesday", "friday")
    ]
    dry = memory.run(memory.service.generalize(LOCAL_TENANT, ids, None, dry_run=True))
    assert dry.added is None
    assert memory("memory_list")["total"] == 3
    made = memory.run(memory.service.generalize(LOCAL_TENANT, ids, None, dry_run=False))
    shown = memory("rekall_show", id=made.added.entry.id)
    assert (shown["type"], shown["memory_type"], shown["confidence"], shown["tags"]) == (
        "pattern",
        "semantic",
        3,
        ["ci"],
    )
    assert "`OSError: [Errno 28] No space left on device`" in shown["content"]
    assert "docker" in shown["content"]
    assert all(id_ in shown["content"] for id_ in ids)
    assert {end["target_id"] for end in shown["links"]["outgoing"]} == set(ids)
    assert {end["relation_type"] for end in shown["links"]["outgoing"]} == {"derived_from"}
    memory.add("Deploy failed on sunday", f"{NO_SPACE}\nCleared the docker cache (sunday).")
    assert all(len(c["entries"]) < 4 for c in memory("rekall_suggest_generalize")["suggestions"])


def test_history_has_the_earlier_states(memory: Calls) -> None:
    entry = memory.add("Before", "old text", tags=["a"])
    changed = memory("memory_update", id=entry, title="After", content="new text", tags=["b"])
    assert changed["changed"] == ["content", "tags", "title"]
    assert changed["revisions"] == 1
    assert [r["id"] for r in memory("rekall_search", query="new text")["results"]] == [entry]
    assert memory("rekall_search", query="old")["results"] == []
    [revision] = memory.run(memory.service.history(LOCAL_TENANT, entry))
    assert (revision.action, revision.before["title"], revision.before["tags"]) == (
        "update",
        "Before",
        ["a"],
    )


def test_a_deleted_entry_is_hidden_until_it_is_restored(memory: Calls) -> None:
    entry, other = memory.add("Gone soon", "findable words"), memory.add("Stays", "other things")
    memory("rekall_link", source_id=other, target_id=entry)
    memory("memory_delete", id=entry)
    assert memory("rekall_search", query="findable words")["results"] == []
    assert memory.error("rekall_show", id=entry).code.name == "ENTRY_NOT_FOUND"
    assert [e["id"] for e in memory("memory_list")["entries"]] == [other]
    assert [e["id"] for e in memory("memory_list", deleted=True)["entries"]] == [entry]
    assert memory("rekall_show", id=other)["links"]["outgoing"] == []
    assert memory("memory_delete", id=entry, restore=True)["deleted"] is False
    assert [r["id"] for r in memory("rekall_search", query="findable words")["results"]] == [entry]
    assert len(memory("rekall_show", id=other)["links"]["outgoing"]) == 1


def test_suggestions_about_deleted_entries_are_hidden(memory: Calls) -> None:
    memory.add("Idle connections", IDLE.format(30))
    second = memory.add("Idle connections again", IDLE.format(30) + " Seen twice.")
    [suggestion] = memory("rekall_suggest_links")["suggestions"]
    memory("memory_delete", id=second)
    assert memory("rekall_suggest_links")["total_pending"] == 0
    refused = memory.error("rekall_accept_suggestion", suggestion_id=suggestion["id"])
    assert (refused.code.name, second in refused.message) == ("SUGGESTION_NOT_FOUND", True)
    memory("memory_delete", id=second, restore=True)
    assert memory("rekall_suggest_links")["total_pending"] == 1
    assert memory("rekall_accept_suggestion", suggestion_id=suggestion["id"])["accepted"]


@pytest.mark.parametrize("relation", ["related", "supersedes"])
def test_a_linked_pair_is_no_longer_suggested(memory: Calls, relation: str) -> None:
    first = memory.add("Idle connections", IDLE.format(30))
    second = memory.add("Idle connections again", IDLE.format(90))
    assert memory("rekall_suggest_links")["total_pending"] == 1
    memory("rekall_link", source_id=first, target_id=second, relation_type=relation)
    assert memory("rekall_suggest_links") == {"suggestions": [], "total_pending": 0}


def test_a_generalised_cluster_is_no_longer_suggested(memory: Calls) -> None:
    ids = [
        memory.add(f"Idle connections {word}", IDLE.format(30) + f" {word}.")
        for word in ("first", "second", "third")
    ]
    assert memory("rekall_suggest_generalize")["total_pending"] == 1
    memory.run(memory.service.generalize(LOCAL_TENANT, ids, None, dry_run=False))
    assert memory("rekall_suggest_generalize") == {"suggestions": [], "total_pending": 0}


def test_lists_are_filtered_and_paged_newest_first(memory: Calls) -> None:
    ids = [
        memory.add(
            f"Entry {n}", type="config" if n % 2 else "bug", tags=["even"] if n % 2 == 0 else []
        )
        for n in range(6)
    ]
    page = memory("memory_list", limit=2)
    assert [e["id"] for e in page["entries"]] == ids[:3:-1]
    assert (page["total"], page["has_more"]) == (6, True)
    assert memory("memory_list", type="config")["total"] == 3
    assert memory("memory_list", tag="even")["total"] == 3
    assert memory("memory_list", status="obsolete")["total"] == 0
    assert memory("memory_list", limit=2, offset=4)["has_more"] is False


def test_the_graph_around_an_entry_is_walked_breadth_first(memory: Calls) -> None:
    a, b, c, d = (memory.add(f"Node {n}") for n in "abcd")
    for source, target in ((a, b), (b, c), (c, d)):
        memory("rekall_link", source_id=source, target_id=target)
    near = memory("memory_related", id=a, depth=2)
    assert [(node["id"], node["distance"]) for node in near["entries"]] == [(a, 0), (b, 1), (c, 2)]
    assert memory("memory_related", id=a, relation_type="contradicts")["links"] == []


def test_stale_entries_were_neither_read_nor_changed(memory: Calls) -> None:
    old, read = memory.add("Old"), memory.add("Read")
    memory.clock.pass_days(100)
    memory("rekall_show", id=read)
    fresh = memory.add("Fresh")
    stale = memory("memory_stale")
    assert [e["id"] for e in stale["entries"]] == [old]
    assert (stale["total"], stale["days"]) == (1, 90)
    assert {e["id"] for e in memory("memory_stale", days=1)["entries"]} == {old}
    assert fresh not in [e["id"] for e in stale["entries"]]


def test_tenants_do_not_see_each_other(memory: Calls) -> None:
    mine = memory.add("Mine", "shared words")
    assert memory("rekall_search", tenant="other", query="shared words")["results"] == []
    assert memory.error("rekall_show", tenant="other", id=mine).code.name == "ENTRY_NOT_FOUND"
    theirs = memory("rekall_add", tenant="other", type="bug", title="Mine", content="shared words")
    assert theirs["created"] is True
    assert theirs["similar_entries"] == []
    assert (
        memory.error("rekall_link", source_id=mine, target_id=theirs["id"]).code.name
        == "ENTRY_NOT_FOUND"
    )


def test_moving_a_tenant_moves_everything(memory: Calls) -> None:
    first = memory.add("Idle connections", IDLE.format(30))
    memory.add("Idle connections again", IDLE.format(30) + " Seen twice.")
    assert memory.run(memory.service.move_tenant(LOCAL_TENANT, "team")) == 2
    assert memory("memory_list")["total"] == 0
    assert len(memory("rekall_search", tenant="team", query="idle connections")["results"]) == 2
    assert memory("rekall_suggest_links", tenant="team")["total_pending"] == 1
    assert memory("rekall_show", tenant="team", id=first)["title"] == "Idle connections"


def test_thresholds_come_from_the_settings(tmp_path: Path) -> None:
    memory = Calls(tmp_path, MemorySettings(link_threshold=1.0))
    memory.add("Idle connections", IDLE.format(30))
    added = memory(
        "rekall_add",
        type="bug",
        title="Connections",
        content="The gateway closes idle connections sometimes.",
    )
    assert added["suggestions_created"] == 0
    memory.close()


def test_help_uses_the_configured_language(tmp_path: Path) -> None:
    memory = Calls(tmp_path, MemorySettings(language="fr"))
    assert "Workflow recherche" in memory("rekall_help")["guide"]
    memory.close()


@pytest.mark.parametrize("budget", [100, 150])
def test_a_token_budget_leaves_out_the_last_results(memory: Calls, budget: int) -> None:
    for n in range(8):
        memory.add(f"Redis eviction note {n}", f"Redis evicts keys, case {n}. " * 5)
    answer = memory("rekall_search", query="redis eviction", max_tokens=budget)
    assert answer["tokens"] <= budget
    assert 0 < len(answer["results"]) < 5
    assert "did not fit" in answer["hint"]
