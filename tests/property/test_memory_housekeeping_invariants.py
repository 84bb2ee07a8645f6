"""A merge keeps every link, tag and term; a purge leaves no trace; strength stays bounded."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))

from commonplace.memory.engine.merge import merge_entries
from commonplace.memory.engine.strength import find_strength
from commonplace.memory.engine.terms import significant_terms
from commonplace.memory.model import Entry, EntryStatus, EntryType, MemoryType
from memory_calls import Calendar, Calls

WORDS = ("gateway", "timeout", "safari", "cookie", "runner", "disk", "cache", "30", "quorum")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), max_size=6).map(
    lambda sentences: " ".join(f"{' '.join(words)}." for words in sentences)
)
TAGS = st.lists(st.sampled_from(WORDS), max_size=5, unique=True).map(tuple)
RELATIONS = st.sampled_from(("related", "derived_from", "contradicts", "supersedes"))
IDLE = "The balancer drops idle connections after 45 seconds, so clients must reconnect."


def make_entry(number: int, title: str, content: str, tags: tuple[str, ...]) -> Entry:
    now = Calendar()()
    return Entry(
        id=f"01J{number:023d}",
        type=EntryType.BUG,
        title=title,
        content=content,
        tags=tags,
        project=None,
        confidence=3,
        status=EntryStatus.ACTIVE,
        memory_type=MemoryType.EPISODIC,
        created_at=now,
        updated_at=now,
    )


@given(TEXTS, TEXTS, TAGS, TAGS)
def test_a_merge_keeps_every_term_and_tag(
    first: str, second: str, tags: tuple[str, ...], others: tuple[str, ...]
) -> None:
    kept, other = make_entry(1, "One", first, tags), make_entry(2, "Two", second, others)
    merged = merge_entries(kept, other)
    terms = set(significant_terms(merged.text))
    assert terms >= set(significant_terms(kept.text)) | set(significant_terms(other.text))
    assert set(merged.tags) == {*tags, *others}
    assert merged.content.startswith(kept.content)
    assert merge_entries(merged, other) == merged


@given(st.integers(0, 5), st.lists(st.booleans(), max_size=200))
def test_the_strength_is_bounded_and_independent_of_the_order(
    confidence: int, reports: list[bool]
) -> None:
    confirmed, refuted = sum(reports), len(reports) - sum(reports)
    strength = find_strength(confidence, confirmed, refuted)
    assert 0.0 <= strength <= 1.0
    assert find_strength(confidence, confirmed + 1, refuted) >= strength
    assert find_strength(confidence, confirmed, refuted + 1) <= strength


def links_of(memory: Calls, ids: set[str]) -> set[tuple[str, str, str]]:
    found: set[tuple[str, str, str]] = set()
    for id_ in ids:
        links: Any = memory("rekall_show", id=id_)["links"]
        found |= {(id_, end["target_id"], end["relation_type"]) for end in links["outgoing"]}
    return found


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), RELATIONS), max_size=8))
def test_a_merge_keeps_every_link_and_every_chain_ends_at_a_living_entry(
    wanted: list[tuple[int, int, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = Calls(Path(folder))
        ids = [memory.add("Idle", IDLE), memory.add("Idle again", f"{IDLE} Seen on staging.")]
        ids += [memory.add(f"Other {word}", f"About {word} only.") for word in WORDS[:3]]
        for source, target, relation in wanted:
            if {source, target} == {0, 1} or source == target:
                continue
            memory.outcome(
                "rekall_link",
                source_id=ids[source],
                target_id=ids[target],
                relation_type=relation,
            )
        before = links_of(memory, set(ids))
        done = memory("memory_decide", decision="accept", types=["duplicate"])
        after = links_of(memory, set(ids))
        if done["merged"]:
            assert after >= before
            for source, target, relation in before:
                if ids[0] not in (source, target) or (relation, target) == ("supersedes", ids[0]):
                    continue
                moved = tuple(ids[1] if id_ == ids[0] else id_ for id_ in (source, target))
                assert (*moved, relation) in after
            assert memory("rekall_show", id=ids[0])["status"] == "obsolete"
        for id_ in ids:
            shown = memory("rekall_show", id=id_)
            if shown["status"] == "obsolete":
                end = memory("rekall_show", id=shown["superseded_by"]["id"])
                assert end["status"] == "active"
        memory.close()


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(("title", "content", "context", "tags", "project")), TEXTS),
        min_size=1,
        max_size=4,
    )
)
def test_a_purge_leaves_no_trace_of_a_text_in_the_files(changes: list[tuple[str, str]]) -> None:
    nonce = "zq9xyjv"
    with tempfile.TemporaryDirectory() as folder:
        memory = Calls(Path(folder))
        kept = memory.add("Stays", "These words remain.")
        entry = memory.add(f"{nonce} title", f"{nonce} content.", context=f"{nonce} said.")
        for field, text in changes:
            value: Any = f"{nonce} {text}"[:90]
            if field == "context":
                memory.outcome("rekall_add", type="bug", title=value, context=f"{nonce} {text}")
            else:
                memory.outcome(
                    "memory_update",
                    id=entry,
                    **{field: [nonce, *text.split()[:3]] if field == "tags" else value},
                )
        for listed in memory("memory_list", limit=50)["entries"]:
            if listed["id"] != kept:
                memory("memory_delete", id=listed["id"])
        assert memory("memory_purge", older_than_days=0)["purged"] >= 1
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        traces = [path.name for path in files if nonce.encode() in path.read_bytes().lower()]
        assert traces == []
        assert memory("rekall_search", query="words remain")["results"][0]["id"] == kept
        memory.close()
