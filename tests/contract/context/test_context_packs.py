"""Context on both stores: what a pack contains, what it leaves out, and what it remembers."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from commonplace.dispatch.call import Call
from commonplace.dispatch.registry import Selection
from commonplace.kernel.tokens import count_tokens
from context_office import Office, caller

LOCKED = "Two workers wrote at once: database is locked. One writer with a busy timeout fixed it."
INVOICE = '''"""Invoices."""

import decimal


def round_invoice_total(lines):
    """Round the total of an invoice to cents, half up."""
    total = sum(line.amount for line in lines)
    return total.quantize(decimal.Decimal("0.01"), decimal.ROUND_HALF_UP)
'''


def refs(pack: object, section: str) -> list[str]:
    assert isinstance(pack, dict)
    return [item["ref"] for item in pack.get(section, ())]


def furnish(office: Office) -> str:
    office.add_rule("all", "Commits", "Write commit messages in the imperative.")
    office.add_rule(
        "money", "Money", "Keep amounts as Decimal, never as float.", appliesTo=["billing/**"]
    )
    lesson = office.add_lesson("Database is locked under parallel writes", LOCKED)
    office.write("/billing/invoice.py", INVOICE)
    return lesson


def test_one_call_brings_rules_lessons_and_passages_with_lines(office: Office) -> None:
    lesson = furnish(office)
    pack = office.context(
        "Round the invoice total half up in round_invoice_total", paths=["billing/invoice.py"]
    )
    assert refs(pack, "rules") == ["instruction:money", "instruction:all"]
    assert refs(pack, "files") == ["file:shop/billing/invoice.py#L6-L9"]
    assert pack["files"][0]["text"].startswith("def round_invoice_total")
    assert pack["empty"] == ["lessons", "operations"]
    assert all(item["why"] and item["updated"] and item["tokens"] for item in pack["rules"])
    assert pack["tokens"] <= pack["budget"] == 2000
    assert count_tokens(orjson.dumps(pack).decode()) <= pack["tokens"]
    pack = office.context("writes fail: database is locked with two workers")
    assert refs(pack, "lessons") == [lesson]
    assert pack["lessons"][0]["text"] == LOCKED


def test_a_large_pack_has_what_its_best_passage_calls(office: Office) -> None:
    office.write(
        "/tax/rates.py",
        "class Rates:\n    def levy(self, country):\n        return self.table[country]\n",
    )
    office.write("/billing/invoice.py", INVOICE.replace("sum(", "levy("))
    task = "Round the invoice total half up in round_invoice_total"
    invoice = "file:shop/billing/invoice.py#L6-L9"
    assert refs(office.context(task, project="shop"), "files") == [invoice]
    large = office.context(task, budget=4000, project="shop")
    assert [(item["ref"], item["why"]) for item in large["files"]][1:] == [
        ("file:shop/tax/rates.py#L2-L3", "called by invoice.py:6")
    ]
    for item in large["files"]:
        opened = office.call("open_ref", refs=[item["ref"]])
        assert opened["items"][0]["text"].rstrip("\n") == item["text"]
        assert item["updated"]
    unrelated = office.context("Choose a colour for the garden fence", budget=4000, project="shop")
    assert "files" not in unrelated


def test_an_unrelated_task_gets_the_rules_that_always_apply_and_nothing_else(
    office: Office,
) -> None:
    furnish(office)
    pack = office.context("Bake a chocolate cake for eight guests")
    assert refs(pack, "rules") == ["instruction:all"]
    assert pack["empty"] == ["lessons", "files", "operations"]


def test_a_small_store_answers_a_task_that_shares_its_only_words(office: Office) -> None:
    office.add_rule(
        "locks",
        "Locks",
        "Database is locked: wait for the busy timeout.",
        activation="description",
        description="database locks",
    )
    lessons = {
        office.add_lesson("Database is locked under parallel writes", LOCKED),
        office.add_lesson("Database is locked by backups", "Backups held a lock for an hour."),
    }
    pack = office.context("the database is locked with three workers")
    assert refs(pack, "rules") == ["instruction:locks"]
    assert set(refs(pack, "lessons")) == lessons


def test_one_long_rule_leaves_room_for_others_that_fit(office: Office) -> None:
    for name in ("a", "b", "c"):
        body = "\n\n".join(
            f"Deploy the crawler {name}{at}: " + "step by step. " * 40 for at in range(9)
        )
        office.add_rule(
            f"deploy-{name}", f"Deploy the crawler {name}", body, activation="description"
        )
    pack = office.context("Deploy the crawler")
    assert len(refs(pack, "rules")) == 3
    assert max(item["tokens"] for item in pack["rules"]) < 1_200


def test_the_same_question_gets_the_same_pack(office: Office) -> None:
    furnish(office)
    first = office.context("database is locked", explain=True)
    assert office.context("database is locked", explain=True) == first
    assert office.context("database locked", explain=True)["pack_id"] != first["pack_id"]


def test_since_leaves_out_what_the_session_was_shown(office: Office) -> None:
    lesson = furnish(office)
    first = office.context("Round the invoice total half up")
    second = office.context("database is locked with two workers", since=first["pack_id"])
    assert refs(second, "lessons") == [lesson]
    assert "rules" not in second
    assert second["known"] == 1
    third = office.context("Round the invoice total; database is locked", since=second["pack_id"])
    assert not {"rules", "lessons", "files"} & third.keys()
    office.write("/billing/invoice.py", INVOICE.replace("half up", "half up, always"))
    fourth = office.context("Round the invoice total half up", since=third["pack_id"])
    assert refs(fourth, "files") == ["file:shop/billing/invoice.py#L6-L9"]


def test_an_unknown_pack_is_a_typed_error(office: Office) -> None:
    assert office.fail("context", task="x", since="nothing").code.name == "PACK_NOT_FOUND"
    assert office.fail("context_feedback", pack_id="nothing").code.name == "PACK_NOT_FOUND"
    pack = office.context("x")
    error = office.fail("context", "bert", task="x", since=pack["pack_id"])
    assert error.code.name == "PACK_NOT_FOUND"


def test_tenants_never_meet(office: Office) -> None:
    lesson = furnish(office)
    locked, rounding = "database is locked with two workers", "fix round_invoice_total"
    assert refs(office.context(locked), "lessons") == [lesson]
    assert refs(office.context(rounding), "files")
    for task in (locked, rounding):
        theirs = office.context(task, "bert")
        assert theirs["empty"] == ["lessons", "files", "operations"]
        assert office.context(task, "bert", project="shop")["empty"] == theirs["empty"]


def test_feedback_counts_uses_once_and_moves_later_packs_a_little(office: Office) -> None:
    lesson = furnish(office)
    task = "database is locked with two workers"
    before = office.context(task, explain=True)
    said = office.call(
        "context_feedback",
        pack_id=before["pack_id"],
        used=[lesson, "instruction:all", "memory:01ARZ3NDEKTSV4RRFFQ69G5FAV"],
    )
    assert said["counted"] == [lesson, "instruction:all"]
    assert said["unknown"] == ["memory:01ARZ3NDEKTSV4RRFFQ69G5FAV"]
    again = office.call("context_feedback", pack_id=before["pack_id"], used=[lesson])
    assert (again["counted"], again["repeated"]) == ([], [lesson])
    after = office.context(task, explain=True)
    chance = after["lessons"][0]["explain"]["chance"]
    assert before["lessons"][0]["explain"]["chance"] < chance < 1
    assert after["lessons"][0]["explain"]["feedback"] == 0.25
    assert office.call("usage_hotset")["items"][0]["id"] == "all"
    assert office.call("rekall_show", id=lesson.partition(":")[2])["access_count"] >= 1
    for _ in range(3):  # other people are not moved
        assert "feedback" not in str(office.context(task, "bert", explain=True))


def test_useless_items_sink(office: Office) -> None:
    lesson = furnish(office)
    task = "database is locked with two workers"
    pack = office.context(task, explain=True)
    office.call("context_feedback", pack_id=pack["pack_id"], useless=[lesson])
    after = office.context(task, explain=True)
    assert after["lessons"][0]["explain"]["feedback"] == -0.25


def test_superseded_draft_and_contradicted_items_are_out_or_marked(office: Office) -> None:
    lesson = furnish(office)
    office.add_rule("draft", "Locks", "Database is locked: retry forever.", status="draft")
    newer = office.add_lesson(
        "Database is locked: use one writer thread", "Parallel writes need one writer thread."
    )
    other = office.add_lesson(
        "Database is locked: never use one writer", "Parallel writes need no writer thread at all."
    )
    first, second, third = (ref.partition(":")[2] for ref in (lesson, newer, other))
    office.call("rekall_link", source_id=second, target_id=first, relation_type="supersedes")
    office.call("rekall_link", source_id=second, target_id=third, relation_type="contradicts")
    pack = office.context("database is locked: parallel writes and the writer thread")
    assert "instruction:draft" not in refs(pack, "rules")
    assert lesson not in refs(pack, "lessons")
    marks = {item["ref"]: item.get("marks", []) for item in pack["lessons"]}
    assert marks[newer] == [f"contradicted by {other}"]


def test_hidden_characters_are_escaped_and_the_budget_counts_them(office: Office) -> None:
    office.add_lesson("Database is locked", "database is locked\u200b\u202e here " * 30)
    pack = office.context("database is locked", budget=400)
    assert "\u202e" not in str(pack)
    assert "<U+202E>" in pack["lessons"][0]["text"]
    assert count_tokens(orjson.dumps(pack).decode()) <= 400


def test_the_same_text_in_two_sections_is_shown_once(office: Office) -> None:
    furnish(office)
    office.write("/notes/locked.md", f"# Database is locked under parallel writes\n\n{LOCKED}\n")
    pack = office.context("database is locked with two workers")
    assert pack["lessons"][0]["also"] == ["file:shop/notes/locked.md#L1-L3"]
    assert "files" not in pack


def test_a_path_outside_of_the_repository_is_refused(office: Office) -> None:
    assert office.fail("context", task="x", paths=["../a"]).code.name == "INVALID_RULE_PATH"
    assert office.fail("context", task="x", project="\0").code.name == "INVALID_PATH"


PETS = """openapi: 3.0.3
info: {title: Pet shop, version: "1"}
paths:
  /pets/{petId}/vaccinations:
    post:
      operationId: recordVaccination
      summary: Record a vaccination of a pet
      parameters:
        - {name: petId, in: path, required: true, schema: {type: string}}
      responses: {"201": {description: recorded}}
  /orders:
    get:
      operationId: listOrders
      summary: List the orders of a customer
      responses: {"200": {description: orders}}
"""


def test_operations_of_stored_descriptions_come_once_and_not_as_passages_too(
    office: Office,
) -> None:
    office.write("/api/pets.yaml", PETS)
    pack = office.context("Call the API to record a vaccination of a pet")
    assert refs(pack, "operations")[0] == (
        "openapi:shop/api/pets.yaml#/paths/~1pets~1{petId}~1vaccinations/post"
    )
    assert pack["operations"][0]["title"] == "POST /pets/{petId}/vaccinations"
    assert pack["operations"][0]["text"].count("Record a vaccination of a pet") == 1
    assert "files" not in pack


def test_a_rule_that_fits_the_task_comes_before_others_that_apply(office: Office) -> None:
    for at in range(8):
        office.add_rule(f"r{at}", f"Rule {at}", f"Subject {at}: " + "say it plainly. " * 40)
    office.add_rule("zz", "Invoices", "Round totals of invoices half up, to cents.")
    pack = office.context("Round the totals of invoices", budget=500)
    assert refs(pack, "rules")[0] == "instruction:zz"
    assert pack["rules"][0]["why"].startswith("always; fits the task")


def test_paths_decide_where_they_are_known(office: Office) -> None:
    office.add_rule("ui", "Buttons", "Buttons of forms are blue.", appliesTo=["web/**"])
    assert refs(office.context("Make the buttons of forms blue"), "rules") == ["instruction:ui"]
    known = office.context("Make the buttons of forms blue", paths=["server/a.py"])
    assert "rules" in known["empty"]
    named = office.context("Make the buttons of forms blue in web/form.css")
    assert "web/form.css matches web/**" in named["rules"][0]["why"]


@pytest.mark.parametrize(
    ("selection", "brought"),
    [
        (Selection(exclude=frozenset({"file_search"})), {"rules", "lessons"}),
        (Selection(toolsets=frozenset({"context", "files"})), {"files"}),
        (Selection(toolsets=frozenset({"context"})), {"rules", "lessons", "files"}),
        (Selection(tools=frozenset({"context"})), {"rules", "lessons", "files"}),
    ],
)
def test_what_a_server_excludes_is_not_brought(
    office: Office, selection: Selection, brought: set[str]
) -> None:
    furnish(office)
    office.write("/notes.md", "The database is locked when two workers write at once, always.")
    task = "database is locked when two workers write"
    call = Call("context", {"task": task}, caller("anna"), selection=selection)
    pack = asyncio.run(office.app.pipeline.run(call)).output
    assert isinstance(pack, dict)
    assert {"rules", "lessons", "files", "operations"} & pack.keys() == brought


def test_the_first_lesson_of_a_new_memory_is_found(office: Office) -> None:
    """No word is rare in a memory of one entry: its size counts instead."""
    locked = office.add_lesson(
        "Importer fails with a locked database", "WAL mode and a busy timeout fixed it."
    )
    pack = office.context("the importer says the database is locked")
    assert refs(pack, "lessons") == [locked]
    assert "lessons" in office.context("translate this poem into Latin")["empty"]
