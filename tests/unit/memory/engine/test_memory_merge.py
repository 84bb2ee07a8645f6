"""Near duplicates are recognised, templates are not; a merge loses nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from commonplace.memory.anchors import CodeAnchor
from commonplace.memory.engine.merge import are_near_duplicates, choose_kept, merge_entries
from commonplace.memory.model import Entry, EntryStatus, EntryType, MemoryType

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SAME = [
    (
        ("Idle connections", "The gateway closes idle connections after 30 seconds."),
        ("Idle connections again", "The gateway closes idle connections after 30 seconds. Again."),
    ),
    (
        ("Pin the compiler version in builds", "A new compiler changed the artefact."),
        ("Pin the compiler version for builds", "A new compiler changed the artefact."),
    ),
    (
        ("Certificates on macOS", "Python on macOS fails until Install Certificates was run."),
        ("Python macOS certificates", "Python on macOS fails until Install Certificates is run."),
    ),
    (
        ("Le cache garde les pages", "Vider le cache après chaque déploiement du site."),
        ("Cache des pages", "Vider le cache des pages après chaque déploiement du site."),
    ),
]
DIFFERENT = [
    (
        ("Deploy fails, monday", "Deploying fails because the runner has no space left."),
        ("Deploy fails, tuesday", "Deploying fails because the runner has no space left."),
    ),
    (
        ("Billing fails after a deploy", "The billing service needs a restart after a deploy."),
        ("Shipping fails after a deploy", "The shipping service needs a restart after a deploy."),
    ),
    (
        ("Timeout of the gateway", "The gateway waits 30 seconds for an answer."),
        ("Timeout of the gateway", "The gateway waits 60 seconds for an answer."),
    ),
    (
        ("Backups", "The nightly backup of Postgres goes to the bucket."),
        ("Backups", "The nightly backup of Valkey goes to the bucket."),
    ),
    (
        ("Compose version key", "The compose file must keep the top-level version key."),
        ("Compose version key", "The compose file must not keep the top-level version key."),
    ),
    (
        ("Import of customer 17", "The import failed because the disk was full."),
        ("Import of customer 18", "The import failed because the disk was full."),
    ),
    (
        ("Python 3.8 wheels", "The wheels for Python 3.8 are built on the old image."),
        ("Python 3.9 wheels", "The wheels for Python 3.9 are built on the old image."),
    ),
    (
        ("Debug logging", "Debug logging is enabled in staging."),
        ("Debug logging", "Debug logging is disabled in staging."),
    ),
]


def make_entry(title: str, content: str, number: int = 1) -> Entry:
    return Entry(
        id=f"01J{number:023d}",
        type=EntryType.BUG,
        title=title,
        content=content,
        tags=(),
        project=None,
        confidence=3,
        status=EntryStatus.ACTIVE,
        memory_type=MemoryType.EPISODIC,
        created_at=NOW,
        updated_at=NOW,
    )


@pytest.mark.parametrize(("first", "second"), SAME)
def test_entries_that_say_the_same_are_near_duplicates(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    assert are_near_duplicates(make_entry(*first), make_entry(*second, number=2))


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_entries_about_two_things_are_not_duplicates(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    assert not are_near_duplicates(make_entry(*first), make_entry(*second, number=2))


def test_another_type_project_or_status_is_never_a_duplicate() -> None:
    entry, other = make_entry("Same", "text"), make_entry("Same", "text", 2)
    assert are_near_duplicates(entry, other)
    assert not are_near_duplicates(entry, replace(other, project="shop"))
    assert not are_near_duplicates(entry, replace(other, type=EntryType.PATTERN))
    assert not are_near_duplicates(entry, replace(other, status=EntryStatus.OBSOLETE))


def test_the_entry_that_says_more_is_kept_and_else_the_older() -> None:
    short, long = make_entry("Cache", "Empty it."), make_entry("Cache", "Empty it weekly.", 2)
    assert choose_kept(short, long) == choose_kept(long, short) == (long, short)
    older, newer = make_entry("Cache", "Empty it."), make_entry("Cache", "Empty it", 2)
    assert choose_kept(newer, older) == (older, newer)


def test_a_merge_adds_only_sentences_with_something_new() -> None:
    kept = make_entry("Idle connections", "The gateway closes idle connections.")
    other = make_entry("Idle connections", "Idle connections are closed. Seen on staging.", 2)
    merged = merge_entries(kept, other)
    assert merged.content == "The gateway closes idle connections.\n\nSeen on staging."
    assert merge_entries(merged, other).content == merged.content


def test_a_merge_unites_tags_and_context_and_keeps_what_was_given() -> None:
    kept = replace(make_entry("Cache", "Empty it."), tags=("a", "b"), context="first", confidence=2)
    other = replace(
        make_entry("Cache", "Empty it.", 2), tags=("b", "c"), context="second", confidence=5
    )
    merged = merge_entries(kept, other)
    assert (merged.id, merged.tags, merged.confidence) == (kept.id, ("a", "b", "c"), 2)
    assert merged.context == "first\n\nsecond"


def test_a_merge_keeps_the_anchors_of_both() -> None:
    first, second = CodeAnchor("shop", "a.py"), CodeAnchor("shop", "b.py")
    kept = replace(make_entry("Cache", "Empty it."), anchors=(first,))
    other = replace(make_entry("Cache", "Empty it.", 2), anchors=(first, second))
    assert set(merge_entries(kept, other).anchors) == {first, second}
