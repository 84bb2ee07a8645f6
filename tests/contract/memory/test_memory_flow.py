"""What answers of an add and of decisions tell a client to do next."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from commonplace.kernel.auth import LOCAL_TENANT, Tenant
from commonplace.memory.housekeeping import BulkDecision, PurgeScope, SuggestionFilter
from commonplace.memory.model import Decision, SuggestionType
from commonplace.memory.service import MemoryService
from commonplace.memory.use_cases.housekeeping import Housekeeping
from commonplace.memory.use_cases.lookup import EntryLookup
from memory_calls import Calls

if TYPE_CHECKING:
    from commonplace.memory.retrieval.protocol import EntryIndex


def test_the_hint_of_a_contradiction_can_be_called_as_it_is(memory: Calls) -> None:
    old = memory.add("Default branch of the shop is master", "The default branch is master.")
    content = "The default branch is main."
    added = memory(
        "rekall_add", type="bug", title="Default branch of the shop is main", content=content
    )
    assert [other["id"] for other in added["contradicts"]] == [old]
    found = re.search(r"rekall_link\(source_id=(\w+), target_id=(\w+), ", added["hint"])
    assert found is not None
    assert found.groups() == (added["id"], old)
    rejected = re.search(r"rekall_reject_suggestion\(suggestion_id=(\w+)\)", added["hint"])
    assert rejected is not None
    assert memory("rekall_reject_suggestion", suggestion_id=rejected[1])["rejected"] is True


def test_both_sides_of_a_contradiction_show_it_until_it_is_decided(memory: Calls) -> None:
    old = memory.add("Default branch of the shop is master", "The default branch is master.")
    new = memory.add("Default branch of the shop is main", "The default branch is main.")
    for entry, other in ((old, new), (new, old)):
        shown = memory("rekall_show", id=entry)
        assert [each["id"] for each in shown["contradicts"]] == [other]
        assert shown["hint"].startswith("Undecided")
    [pending] = memory("rekall_suggest_links")["suggestions"]
    assert shown["contradicts"][0]["suggestion_id"] == pending["id"]
    memory("memory_delete", id=old)
    assert "contradicts" not in memory("rekall_show", id=new)
    memory("memory_delete", id=old, restore=True)
    memory("rekall_link", source_id=new, target_id=old, relation_type="supersedes")
    assert "contradicts" not in memory("rekall_show", id=new)
    assert memory("rekall_show", id=old)["hint"] == f"Superseded: read {new} instead"


def test_days_of_the_timeline_are_those_of_a_time_zone(memory: Calls) -> None:
    memory.clock.now = datetime(2026, 3, 27, 22, 30, tzinfo=UTC)  # 23:30 in Paris
    memory.add("Friday", "Quartz.")
    memory.clock.now = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)  # Sunday 00:30 in Paris
    memory.add("Sunday", "Topaz.")
    memory.clock.now = datetime(2026, 3, 29, 22, 30, tzinfo=UTC)  # Monday 00:30, in summer time
    memory.add("Monday", "Garnet.")

    def days(**more: Any) -> list[str]:
        return [day["day"] for day in memory("memory_timeline", **more)["by_day"]]

    assert days() == ["2026-03-29", "2026-03-28", "2026-03-27"]
    paris = {"timezone": "Europe/Paris"}
    assert days(**paris) == ["2026-03-30", "2026-03-29", "2026-03-27"]
    sunday = memory("memory_timeline", until="2026-03-29", days=1, **paris)
    assert [event["entry"]["title"] for event in sunday["events"]] == ["Sunday"]
    assert sunday["by_day"] == [{"day": "2026-03-29", "counts": {"added": 1}}]
    assert sunday["events"][0]["at"].startswith("2026-03-28T23:30")
    friday = memory("memory_timeline", until="2026-03-29", days=3, **paris)
    assert friday["total"] == 2
    assert memory.error("memory_timeline", timezone="Europe/Atlantis").details == {
        "field": "timezone"
    }


def test_an_entry_that_is_restored_during_a_purge_is_still_found(memory: Calls) -> None:
    entry = memory.add("Kept after all", "The quetzal importer waits.")
    memory("memory_delete", id=entry)
    deleted = memory.run(memory.service.store.get(LOCAL_TENANT, entry, deleted=True))
    assert deleted is not None
    memory("memory_delete", id=entry, restore=True)
    store = memory.service.store.housekeeping
    moment = memory.clock()
    scope = PurgeScope(moment, (entry,))
    counts = memory.run(store.purge(LOCAL_TENANT, [deleted], scope, entry, moment))
    assert counts.entry_ids == ()
    assert memory("rekall_search", query="quetzal importer")["results"][0]["id"] == entry


class RestoredInBetween:
    """The index of a purge during which somebody restores the entry, just before its vectors go."""

    def __init__(self, service: MemoryService) -> None:
        self._service = service
        self.embed_whole = service.index.embed_whole

    async def erase(self, tenant: Tenant, entry_ids: Collection[str]) -> None:
        for id_ in entry_ids:
            await self._service.restore(tenant, id_)
        await self._service.index.erase(tenant, entry_ids)


def test_an_entry_that_is_restored_during_a_purge_keeps_its_meaning(
    embedding_memory: Calls,
) -> None:
    memory, service = embedding_memory, embedding_memory.service
    entry = memory.add("Kept after all", "The quetzal importer waits.")
    memory("memory_delete", id=entry)
    housekeeping = Housekeeping(
        service.store,
        cast("EntryIndex", RestoredInBetween(service)),
        EntryLookup(service.store),
        service.new_id,
        memory.clock,
        "mask",
    )
    counts = memory.run(housekeeping.purge(LOCAL_TENANT, [entry]))
    assert (counts.entry_ids, counts.kept) == ((), 1)
    assert memory("rekall_show", id=entry)["vectors"]["embedded"] == 1


def test_suggestions_that_were_decided_elsewhere_do_not_remain(memory: Calls) -> None:
    for word in ("quartz", "topaz", "garnet", "zircon"):
        text = f"The {word} gateway of the {word} queue stops at the {word} barrier."
        memory.add(f"Gateway {word}", text)
        memory.add(f"Gateway {word} again", text.replace(".", " too."))
    wanted = SuggestionFilter((SuggestionType.DUPLICATE,))
    decide = memory.service.decide_suggestions

    async def decide_twice() -> list[BulkDecision]:
        calls = (decide(LOCAL_TENANT, wanted, Decision.ACCEPTED, dry_run=False) for _ in range(2))
        return list(await asyncio.gather(*calls))

    decided = memory.run(decide_twice())
    assert sum(len(each.decided) for each in decided) == 4
    assert [each.remaining for each in decided] == [0, 0]
    tried = sum(each.tried for each in decided)
    assert sum(each.decided_elsewhere for each in decided) == tried - 4


def test_an_entry_that_comes_back_is_compared_with_what_came_meanwhile(memory: Calls) -> None:
    deleted = memory.add("Log level", "The log level of the server is INFO.")
    retired = memory.add("Pool size", "The pool of the server has 10 connections.")
    memory("memory_delete", id=deleted)
    memory("memory_update", id=retired, status="obsolete")
    level = memory.add("Log level now", "The log level of the server is DEBUG.")
    size = memory.add("Pool size now", "The pool of the server has 20 connections.")

    memory("memory_delete", id=deleted, restore=True)
    memory("memory_update", id=retired, status="active")

    for old, new in ((deleted, level), (retired, size)):
        assert [each["id"] for each in memory("rekall_show", id=old)["contradicts"]] == [new]


def test_adding_a_known_entry_again_names_what_it_contradicts(memory: Calls) -> None:
    old = memory.add("Pool size", "The pool of the server has 10 connections.")
    new = {"type": "bug", "title": "Pool", "content": "The pool of the server has 20 connections."}
    first, again = memory("rekall_add", **new), memory("rekall_add", **new)
    assert not again["created"]
    assert again["contradicts"] == first["contradicts"]
    assert [other["id"] for other in again["contradicts"]] == [old]
    assert again["hint"].startswith("An active entry has exactly this text; it was left as it is.")
    assert f"source_id={first['id']}, target_id={old}" in again["hint"]


def test_an_accepted_contradiction_offers_that_the_newer_entry_holds(memory: Calls) -> None:
    old = memory.add("Where orders are", "Orders are kept in MySQL.")
    memory("memory_delete", id=old)
    new = memory.add("Where orders live", "Orders are kept in PostgreSQL.")
    memory("memory_delete", id=old, restore=True)  # now compared, the older one first
    [found] = memory("rekall_suggest_links")["suggestions"]
    assert (found["suggestion_type"], found["entry_a"]["id"]) == ("contradiction", old)
    accepted = memory("rekall_accept_suggestion", suggestion_id=found["id"])
    assert f"source_id={new}, target_id={old}, " in accepted["action_taken"]
