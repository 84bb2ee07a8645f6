"""Hashes of bodies and of the catalogue."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.engine.hashing import HashTree, fits_claim, hash_body, normalise_body

SHORT_IDS = st.text("ab0-", min_size=1, max_size=3)


def test_normalising_a_body_changes_only_line_breaks_and_outer_blank_lines() -> None:
    assert normalise_body("\n \t\r\n  a  \r\nb\t\rc\u2028d  \n\n \n") == "  a  \nb\t\nc\nd  "
    for kept in ("a", "  a", "a  ", "a  \nb", "a\n\n\nb", "ä\u00a0b", "", "   "):
        assert normalise_body(kept) == kept
    assert hash_body(" a \n") == hashlib.sha256(b" a \n").hexdigest()


def test_hashes_of_earlier_releases_and_the_reference_server_are_accepted() -> None:
    body = "a  \nb \n"
    for claimed in (body, "a  \nb", "a\nb"):
        assert fits_claim(body, hashlib.sha256(claimed.encode()).hexdigest())
    assert not fits_claim(body, hashlib.sha256(b"a b").hexdigest())


def test_the_catalogue_hash_does_not_depend_on_the_order_of_writes() -> None:
    one, other = HashTree(), HashTree()
    empty = one.root
    for number in range(300):
        one.put(f"id-{number}", "a")
    for number in reversed(range(300)):
        other.put(f"id-{number}", "b")
        other.put(f"id-{number}", "a", "b")
    assert one.root == other.root != empty
    one.put("id-7", "c", "a")
    assert one.root != other.root
    for number in range(300):
        other.drop(f"id-{number}", "a")
    assert other.root == empty


@given(
    st.dictionaries(SHORT_IDS, st.sampled_from("abc"), max_size=40),
    st.lists(st.tuples(SHORT_IDS, st.sampled_from("abc") | st.none()), max_size=40),
)
def test_the_catalogue_hash_equals_the_hash_of_the_sorted_items(
    before: dict[str, str], writes: list[tuple[str, str | None]]
) -> None:
    tree, present = HashTree(), dict(before)
    tree.fill(before.items())
    for id_, source_hash in writes:
        if source_hash is None:
            tree.drop(id_, present.pop(id_, "a"))
        else:
            tree.put(id_, source_hash, present.get(id_))
            present[id_] = source_hash
    buckets: list[list[str]] = [[] for _ in range(256)]
    for id_, source_hash in present.items():
        buckets[hashlib.sha256(id_.encode()).digest()[0]].append(f"{id_}:{source_hash}")
    digests = [hashlib.sha256("|".join(sorted(bucket)).encode()).digest() for bucket in buckets]
    assert tree.root == hashlib.sha256(b"".join(digests)).hexdigest()
