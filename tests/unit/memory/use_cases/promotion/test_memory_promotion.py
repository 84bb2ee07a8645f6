"""Promote lessons: a preview first, then the same text, and lessons that no longer hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from commonplace.kernel.auth import Tenant
from commonplace.memory.code.checker import CodeChecker
from commonplace.memory.code.repositories import Repositories
from commonplace.memory.use_cases.promotion.lessons import StaleLessons
from memory_calls import Calls


def reasons(memory: Calls, lessons: dict[str, str]) -> dict[str, str]:
    """Return why lessons no longer hold."""
    judge = StaleLessons(memory.service.store)
    stale = memory.run(judge.find_stale(Tenant("local"), lessons, memory.clock()))
    return {id_: doubt.reason for id_, doubt in stale.items()}


def promoted(memory: Calls, *ids: str, **more: Any) -> dict[str, str]:
    """Promote entries and return the lessons behind the rule."""
    seen = memory("memory_promote", entries=list(ids), **more)
    hash_ = seen["preview_hash"]
    memory("memory_promote", entries=list(ids), preview_hash=hash_, **more)
    return memory.rules.submitted[seen["rule"]["id"]][1]


def test_a_preview_publishes_nothing_and_its_hash_submits_what_was_shown(memory: Calls) -> None:
    lesson = memory.add("Locks", "Set busy_timeout.", tags=["sqlite"])
    seen = memory("memory_promote", entries=[lesson], owner="ann", applies_to=["src/**"])
    assert (seen["submitted"], seen["lessons"]) == (False, 1)
    assert seen["sources"] == [{"id": lesson, "title": "Locks"}]
    assert memory.rules.submitted == {}
    hash_ = seen["preview_hash"]
    wrong = {"entries": [lesson], "owner": "bob", "preview_hash": hash_}
    assert memory.error("memory_promote", **wrong).details["field"] == "preview_hash"
    right = {"entries": [lesson], "owner": "ann", "applies_to": ["src/**"], "preview_hash": hash_}
    assert memory("memory_promote", **right)["status"] == "review"
    draft, lessons = memory.rules.submitted["lesson.locks"]
    assert (draft.owner, draft.applies_to) == ("ann", ("src/**",))
    assert list(lessons) == [lesson]


def test_a_lesson_that_changed_since_the_preview_is_shown_again_first(memory: Calls) -> None:
    lesson = memory.add("Locks", "Set busy_timeout.")
    hash_ = memory("memory_promote", entries=[lesson])["preview_hash"]
    memory("memory_update", id=lesson, content="Use a queue.")
    error = memory.error("memory_promote", entries=[lesson], preview_hash=hash_)
    assert error.code.name == "INVALID_ARGUMENT"
    assert memory.rules.submitted == {}


def test_a_preview_names_the_rules_that_its_lessons_became_already(memory: Calls) -> None:
    lesson, other = memory.add("Locks", "Set busy_timeout."), memory.add("Ports", "Close them.")
    assert "promoted" not in memory("memory_promote", entries=[lesson])
    hash_ = memory("memory_promote", entries=[lesson])["preview_hash"]
    memory("memory_promote", entries=[lesson], preview_hash=hash_)
    again = memory("memory_promote", entries=[lesson, other])
    assert again["promoted"] == ["lesson.locks"]
    assert "lesson.locks" in again["hint"]
    assert "promoted" not in memory("memory_promote", entries=[other])


def test_a_preview_reports_characters_that_nobody_sees(memory: Calls) -> None:
    lesson = memory.add("Locks\u202e", "Set busy_timeout. Then\u200b write.")
    warnings = memory("memory_promote", entries=[lesson])["warnings"]
    assert [warning.split()[0] for warning in warnings] == ["title", "body"]
    plain = memory("memory_promote", entries=[lesson], title="Locks", body="Wait.")
    assert "warnings" not in plain


def test_a_preview_warns_of_a_rule_that_is_too_long_to_be_read(memory: Calls) -> None:
    lesson = memory.add("Retries", "Retry the call. " * 4_000)
    [warning] = memory("memory_promote", entries=[lesson])["warnings"]
    assert warning.startswith("The body has 63999 characters")
    short = memory("memory_promote", entries=[lesson], body="Retry the call.")
    assert "warnings" not in short


def test_a_rule_has_no_secrets_of_what_is_given_or_of_older_lessons(memory: Calls) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1234"
    lesson = memory.add("Locks", "Set busy_timeout.")
    given = {"title": f"Use {token}", "body": f"Send {token}.", "applies_to": [f"src/{token}"]}
    seen = memory("memory_promote", entries=[lesson], owner=token, **given)
    assert token.lower() not in json.dumps(seen).lower()
    assert seen["secrets_masked"] == ["GitHub token"]
    assert seen["rule"]["description"] == "Send [masked: GitHub token]."

    entry = memory.run(memory.service.find(Tenant("local"), lesson))
    kept_in_clear = replace(entry, content=f"Send {token}.")  # as by an earlier version
    memory.run(memory.service.store.replace(Tenant("local"), kept_in_clear, "update"))
    seen = memory("memory_promote", entries=[lesson])
    assert seen["rule"]["body"] == "Send [masked: GitHub token]."


def test_a_generalisation_counts_the_lessons_that_it_comes_from(memory: Calls) -> None:
    sources = [memory.add(f"Locked {n}", "Set busy_timeout first.") for n in range(3)]
    work = memory.service.generalize(Tenant("local"), sources, "Locks", dry_run=False)
    pattern = memory.run(work).added.entry.id
    seen = memory("memory_promote", entries=[pattern])
    assert seen["lessons"] == 4
    assert not any(source in seen["rule"]["body"] for source in sources)


def test_a_suggested_generalisation_is_promoted_by_its_id(memory: Calls) -> None:
    text = "Safari refuses cross-origin requests whose header is not listed in the allowed ones. "
    for number in range(4):
        memory.add(f"Safari refuses header {number}", text * 2 + f"Seen {number} times.")
    clusters = memory("rekall_suggest_generalize")["suggestions"]
    seen = memory("memory_promote", suggestion=clusters[0]["id"])
    assert seen["lessons"] >= 3
    assert memory.error("memory_promote", suggestion="01ARZ3NDEKTSV4RRFFQ69G5FAV")


def test_entries_or_a_suggestion_must_be_given_and_others_lessons_do_not_exist(
    memory: Calls,
) -> None:
    assert memory.error("memory_promote").code.name == "INVALID_ARGUMENT"
    lesson = memory.add("Locks", "Set busy_timeout.")
    both = memory.error("memory_promote", entries=[lesson], suggestion="x")
    assert both.code.name == "INVALID_ARGUMENT"
    foreign = memory.error("memory_promote", tenant="other", entries=[lesson])
    assert foreign.code.name == "ENTRY_NOT_FOUND"


def test_lessons_go_stale_when_they_are_superseded_deleted_changed_or_obsolete(
    memory: Calls,
) -> None:
    texts = ("Locks wait forever", "Ports are closed", "Queues fill", "Caches are cold", "Fine")
    ids = [memory.add(text, f"{text} on deploy.") for text in texts]
    lessons = promoted(memory, *ids)
    assert reasons(memory, lessons) == {}
    new = memory.add("Locks time out after 5 s", "They do not wait any more.")
    memory("rekall_link", source_id=new, target_id=ids[0], relation_type="supersedes")
    memory("memory_delete", id=ids[1])
    memory("memory_update", id=ids[2], content="Queues are bounded.")
    memory("memory_update", id=ids[3], status="obsolete")
    memory("memory_update", id=ids[4], tags=["fine"])  # the text is the same
    expected = ("superseded", "deleted", "changed", "obsolete")
    assert reasons(memory, lessons) == dict(zip(ids, expected, strict=False))
    memory("memory_delete", id=ids[1], restore=True)
    assert ids[1] not in reasons(memory, lessons)
    assert reasons(memory, {"01ARZ3NDEKTSV4RRFFQ69G5FAV": ""}) == {
        "01ARZ3NDEKTSV4RRFFQ69G5FAV": "deleted"
    }


def test_a_lesson_is_deleted_since_its_purge_and_not_since_today(memory: Calls) -> None:
    lessons = promoted(memory, memory.add("Locks wait", "Set busy_timeout."))
    memory("memory_delete", id=next(iter(lessons)))
    before = memory.clock()
    memory("memory_purge", ids=list(lessons))
    reviewed = memory.clock()
    memory.clock.pass_days(3)
    judge = StaleLessons(memory.service.store)
    [doubt] = memory.run(judge.find_stale(Tenant("local"), lessons, memory.clock())).values()
    assert (doubt.reason, before < doubt.since < reviewed) == ("deleted", True)


def test_the_winner_of_an_accepted_contradiction_is_not_stale(memory: Calls) -> None:
    first = memory.add("Branch is master", "The default branch is master.")
    second = memory.add("Branch is main", "The default branch is main.")
    lessons = promoted(memory, first, second)
    [pending] = memory("rekall_suggest_links")["suggestions"]
    memory("rekall_accept_suggestion", suggestion_id=pending["id"])
    assert reasons(memory, lessons) == {first: "contradicted", second: "contradicted"}
    memory("rekall_link", source_id=second, target_id=first, relation_type="supersedes")
    assert reasons(memory, lessons) == {first: "superseded"}
    memory("memory_update", id=first, status="active")
    assert set(reasons(memory, lessons)) == {first, second}
    memory("memory_delete", id=first)
    assert reasons(memory, lessons) == {first: "deleted"}


def test_a_contradicted_lesson_is_stale_until_one_supersedes_the_other(memory: Calls) -> None:
    first = memory.add("Retries", "Retry every call three times.")
    second = memory.add("No retries", "Never retry a call.")
    lessons = promoted(memory, first)
    memory("rekall_link", source_id=second, target_id=first, relation_type="contradicts")
    assert reasons(memory, lessons) == {first: "contradicted"}
    shown = memory("memory_promote", entries=[second])["sources"]
    assert shown[0]["stale"] == "contradicted"


def test_a_lesson_about_code_that_changed_is_stale(tmp_path: Path, url: str) -> None:
    shop = tmp_path / "roots" / "shop"
    shop.mkdir(parents=True)
    (shop / "store.py").write_text("def add(entry):\n    rows.append(entry)\n    commit()\n")
    checker = CodeChecker(Repositories((tmp_path / "roots",)))
    memory = Calls(tmp_path, url=url, checker=checker)
    try:
        anchors = [{"path": "store.py", "symbol": "add"}]
        lesson = memory.add("Commit", "add commits.", project="shop", anchors=anchors)
        assert "stale" not in memory("memory_promote", entries=[lesson])["sources"][0]
        (shop / "store.py").write_text("def add(entry):\n    queue.put(entry, timeout=5)\n")
        shown = memory("memory_promote", entries=[lesson])["sources"]
        assert shown[0]["stale"] == "code changed"
    finally:
        memory.close()
