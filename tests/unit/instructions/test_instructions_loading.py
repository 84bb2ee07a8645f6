"""What the loader makes of files: defaults, salvage, rejections; folders that the peer made."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.engine.hashing import HashTree, fits_claim, hash_body, normalise_body
from commonplace.instructions.engine.normalise import NotAnInstruction, Rules, normalise
from commonplace.instructions.model import (
    AUDIENCES,
    FIELD_ORDER,
    MAX_LEVELS,
    REQUIREMENTS,
    STATUSES,
    TIERS,
    is_valid_id,
    stored_form,
)
from commonplace.instructions.store.directory import Directory, encode

NOW = 1_750_000_000.0
SHORT_IDS = st.text("ab0-", min_size=1, max_size=3)


def read(folder: Path, name: str, content: Any) -> Any:
    (folder / name).write_text(
        content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
    )
    return Directory(folder).read(name)


def test_id_and_body_are_enough(tmp_path: Path) -> None:
    document = read(
        tmp_path, "a.json", {"id": "a", "body": "  First line\nmore  "}
    ).instruction.document
    assert document["body"] == "  First line\nmore  "
    assert (
        document["title"],
        document["priority"],
        document["priorityTier"],
        document["requirement"],
    ) == ("a", 50, "P3", "optional")
    assert (
        document["audience"],
        document["status"],
        document["owner"],
        document["classification"],
    ) == (
        "all",
        "approved",
        "unowned",
        "internal",
    )
    assert (document["version"], document["semanticSummary"], document["reviewIntervalDays"]) == (
        "1.0.0",
        "First line",
        90,
    )
    assert document["categories"] == ["uncategorized"]
    assert document["changeLog"][0]["summary"] == "initial import"
    assert document["riskScore"] == 50 + 5


@pytest.mark.parametrize(
    ("given", "expected", "mended"),
    [
        ({"audience": "martians"}, {"audience": "all"}, "audience"),
        ({"requirement": "whatever"}, {"requirement": "recommended"}, "requirement"),
        (
            {"requirement": "MUST"},
            {"requirement": "mandatory", "priorityTier": "P1"},
            "requirement",
        ),
        ({"requirement": "Should"}, {"requirement": "recommended"}, "requirement"),
        ({"requirement": "may"}, {"requirement": "optional"}, "requirement"),
        ({"priority": 0}, {"priority": 50}, "priority"),
        ({"priority": "high"}, {"priority": 50}, "priority"),
        ({"priority": True}, {"priority": 50}, "priority"),
        ({"priorityTier": "P9", "priority": 1}, {"priorityTier": "P1"}, "priorityTier"),
        ({"status": "active"}, {"status": "approved"}, "status"),
        ({"classification": "secret"}, {"classification": "internal"}, "classification"),
        ({"version": "1.0"}, {"version": "1.0.0"}, "version"),
        ({"title": "t" * 300}, {"title": "t" * 200}, "title"),
        ({"tags": "x"}, {}, "tags"),
        ({"teamIds": [1, "a"]}, {"teamIds": ["a"]}, "teamIds"),
        ({"categories": ["Good", "not good", 3]}, {"categories": ["good"]}, "categories"),
        (
            {"createdAt": "yesterday", "updatedAt": "2025-01-01T00:00:00Z"},
            {"createdAt": "2025-01-01T00:00:00Z"},
            "createdAt",
        ),
        ({"reviewIntervalDays": 1000}, {"reviewIntervalDays": 90}, "reviewIntervalDays"),
        ({"semanticSummary": "s" * 700}, {"semanticSummary": "s" * 600}, "semanticSummary"),
        ({"extensions": 3}, {}, "extensions"),
    ],
)
def test_what_is_nearly_right_is_salvaged_and_counted(
    given: dict[str, Any], expected: dict[str, Any], mended: str
) -> None:
    instruction = normalise({"id": "a", "body": "x", **given}, "a", NOW, Rules())
    assert {name: instruction.document[name] for name in expected} == expected
    assert instruction.salvaged == (mended,)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", "", "empty"),
        ("a.json", "{", "parse"),
        ("a.json", "[1]", "schema"),
        ("a.json", '{"id": "a"}', "schema"),
        ("a.json", '{"id": "a", "body": "  "}', "schema"),
        ("a.json", '{"id": "a", "body": 3}', "schema"),
        ("a.json", '{"id": "b", "body": "x"}', "id-mismatch"),
        ("A.json", '{"id": "A", "body": "x"}', "schema"),
        ("gates.json", '{"gates": []}', "non-instruction-config"),
        ("owners.json", "{}", "non-instruction-config"),
        ("PROMPT-CRITERIA.json", "{}", "non-instruction-config"),
        ("my.schema.json", "{}", "non-instruction-config"),
        ("my.template.json", "{}", "template"),
        ("_manifest.json", "{}", "governance-denylist"),
        ("a.json", json.dumps({"id": "a", "body": "x" * 1_000_001}), "schema"),
        (
            "a.json",
            json.dumps({"id": "a", "body": "x", "extensions": {"y": "z" * 2_200_000}}),
            "too-large",
        ),
    ],
)
def test_what_is_no_instruction_is_rejected_with_its_reason(
    tmp_path: Path, name: str, content: str, reason: str
) -> None:
    reading = read(tmp_path, name, content)
    assert reading.instruction is None
    assert reading.rejection.reason == reason


def test_links_and_folders_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text('{"id": "link", "body": "secret"}')
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link.json").symlink_to(secret)
    (folder / "dir.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    directory = Directory(folder)
    assert directory.read("link.json").rejection.reason == "symlink"
    assert directory.read("pipe.json").rejection.reason == "unreadable"
    assert {name for name, _ in directory.stamps()} == {"link.json", "pipe.json"}


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"id": "a", "body": "x"}')
    assert Directory(tmp_path).read("a.json").instruction.id == "a"


def test_a_file_of_the_peers_schema_three_and_seven_loads_untouched(tmp_path: Path) -> None:
    body = "Use the structured logger."
    common = {
        "id": "peer-1",
        "title": "Peer",
        "body": body,
        "priority": 25,
        "audience": "group",
        "requirement": "recommended",
        "categories": ["logging", "team-standards"],
        "primaryCategory": "logging",
        "sourceHash": hashlib.sha256(body.encode()).hexdigest(),
        "createdAt": "2025-08-20T10:00:00.000Z",
        "updatedAt": "2025-08-21T10:00:00.000Z",
        "usageCount": 4,
        "firstSeenTs": "2025-08-20T10:00:00.000Z",
        "riskScore": 95,
        "version": "1.4.2",
        "status": "approved",
        "owner": "platform",
        "priorityTier": "P2",
        "classification": "internal",
        "lastReviewedAt": "2025-08-20T10:00:00.000Z",
        "nextReviewDue": "2025-10-19T10:00:00.000Z",
        "changeLog": [
            {
                "version": "1.4.2",
                "changedAt": "2025-08-21T10:00:00.000Z",
                "summary": "initial import",
            }
        ],
        "semanticSummary": body,
        "extensions": {"vendor": {"x": [1, 2]}},
    }
    for extra in (
        {"schemaVersion": "3"},
        {"schemaVersion": "7", "contentType": "workflow", "links": [{"rel": "see", "id": "x"}]},
    ):
        given = {**common, **extra}
        instruction = read(tmp_path, "peer-1.json", given).instruction
        assert instruction.salvaged == ()
        assert not instruction.drifted
        stored = stored_form(instruction.document)
        assert stored == {
            **{k: v for k, v in given.items() if k not in ("usageCount", "firstSeenTs")},
            "reviewIntervalDays": 60,
        }


def test_files_are_written_in_a_fixed_order_with_a_final_newline() -> None:
    shuffled = {
        "zeta": 1,
        "body": "b",
        "sourceHash": "h",
        "id": "a",
        "title": "t",
        "governanceHash": "g",
        "usageCount": 3,
    }
    text = encode(shuffled).decode()
    assert (
        text == '{\n  "id": "a",\n  "title": "t",\n  "body": "b",\n  "sourceHash": "h",\n  "zeta": '
        "1\n}\n"
    )


def test_ids() -> None:
    for good in ("a", "a1", "a-b", "a_b", "instr.alpha", "x" * 120, "0"):
        assert is_valid_id(good), good
    for bad in (
        "",
        "-a",
        "a-",
        ".a",
        "a.",
        "a..b",
        "A",
        "a b",
        "a/b",
        "ä",
        "x" * 121,
        "a\n",
        None,
        3,
    ):
        assert not is_valid_id(bad), bad


def test_a_stored_body_keeps_everything_but_line_breaks_and_outer_blank_lines() -> None:
    assert normalise_body("\n \t\r\n  a  \r\nb\t\rc\u2028d  \n\n \n") == "  a  \nb\t\nc\nd  "
    for kept in ("a", "  a", "a  ", "a  \nb", "a\n\n\nb", "ä\u00a0b", "", "   "):
        assert normalise_body(kept) == kept
    assert hash_body(" a \n") == hashlib.sha256(b" a \n").hexdigest()


def test_hashes_of_earlier_releases_and_of_the_reference_server_are_no_drift() -> None:
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
def test_the_catalogue_hash_is_that_of_its_sorted_items_whatever_was_written(
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


def test_a_document_without_times_takes_them_from_the_file_and_no_review_date() -> None:
    document = normalise({"id": "a", "body": "x"}, "a", NOW, Rules()).document
    assert document["createdAt"] == document["updatedAt"] == "2025-06-15T15:06:40.000Z"
    assert "nextReviewDue" not in document
    with pytest.raises(NotAnInstruction):
        normalise({"id": "a"}, "a", NOW, Rules())


def test_a_file_is_worked_out_when_it_is_looked_at_and_then_as_if_at_once(tmp_path: Path) -> None:
    raw = {"id": "a", "title": " T ", "body": " B \n", "priority": 0, "sourceHash": "0" * 64}
    read(tmp_path, "a.json", raw)
    os.utime(tmp_path / "a.json", (NOW, NOW))
    later = Directory(tmp_path).read("a.json").instruction
    at_once = normalise(raw, "a", NOW, Rules())
    assert later is not None
    assert later.drifted
    assert later.text == ("T", " B \n")
    assert later.salvaged == ("priority",)
    assert later.text == ("T", " B \n")
    assert later == at_once
    with pytest.raises(AttributeError):
        later.nothing  # noqa: B018


def test_threads_that_look_at_a_file_first_all_see_it(tmp_path: Path) -> None:
    folder = Directory(tmp_path)
    for number in range(200):
        read(tmp_path, f"a{number}.json", {"id": f"a{number}", "body": "x"})
    found = [reading.instruction for _, reading in folder.read_all()]
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: [item.document["id"] for item in found if item], range(8)))
    assert seen == [[item.id for item in found if item]] * 8


@pytest.mark.parametrize("levels", [190, 300, 900])
def test_a_file_too_deep_to_be_served_hides_no_other(tmp_path: Path, levels: int) -> None:
    read(
        tmp_path,
        "a.json",
        '{"id":"a","body":"x","extensions":{"deep":' + "[" * levels + "]" * levels + "}}",
    )
    reading = Directory(tmp_path).read("a.json")
    if levels < MAX_LEVELS:
        assert reading.instruction is not None
        assert reading.instruction.document["id"] == "a"
    else:
        assert reading.rejection is not None
        assert reading.rejection.reason == "schema"
        assert str(MAX_LEVELS) in reading.rejection.detail


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("version", "summary", "changedAt", "x")), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from([*FIELD_ORDER, "usageCount", "unknown"]), ANYTHING, max_size=6)
)
def test_whatever_a_file_says_beside_id_and_body_it_is_served(fields: dict[str, Any]) -> None:
    instruction = normalise({**fields, "id": "a", "body": "x"}, "a", NOW, Rules())
    shown = instruction.document.whole()
    assert (shown["id"], shown["body"]) == ("a", "x")
    for field, allowed in (
        ("audience", AUDIENCES),
        ("requirement", REQUIREMENTS),
        ("status", STATUSES),
        ("priorityTier", TIERS),
    ):
        assert shown[field] in allowed


@pytest.mark.parametrize(
    "field", ["audience", "requirement", "status", "classification", "priorityTier"]
)
def test_a_list_where_a_word_belongs_is_mended_and_hides_no_other_file(
    tmp_path: Path, field: str
) -> None:
    instruction = read(tmp_path, "a.json", {"id": "a", "body": "x", field: ["y"]}).instruction
    assert field in instruction.salvaged
