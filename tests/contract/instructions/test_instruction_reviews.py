"""Reviews on both stores: drafts, proposals, four eyes, agents that only propose, conflicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from commonplace.dispatch.call import to_json
from commonplace.kernel.auth import AuthContext, Scope, Tenant, scopes_up_to


def person(label: str, *, agent: bool = False, tenant: str = "team") -> AuthContext:
    return AuthContext(Tenant(tenant), scopes_up_to(Scope.WRITE), label, agent=agent)


ALICE, BOB = person("alice"), person("bob")
ROBOT = person("robot", agent=True)


class Board:
    """Calls of several people on one catalogue."""

    def __init__(self, desk: Any) -> None:
        self.desk = desk

    def ask(self, who: AuthContext, tool: str, **arguments: Any) -> Any:
        outcome = self.desk.outcome(f"instructions_{tool}", arguments, who)
        if outcome.error is not None:
            raise outcome.error
        return orjson.loads(orjson.dumps(to_json(outcome.output)))

    def refusal(self, who: AuthContext, tool: str, **arguments: Any) -> Any:
        outcome = self.desk.outcome(f"instructions_{tool}", arguments, who)
        assert outcome.error is not None, to_json(outcome.output)
        return outcome.error

    def add(self, who: AuthContext, id_: str, body: str, **fields: Any) -> Any:
        entry = {"id": id_, "body": body, **fields}
        return self.ask(who, "add", entry=entry, lax=True, overwrite=True)

    def body(self, id_: str) -> str:
        return str(self.ask(BOB, "get", id=id_)["item"]["body"])

    def approve(self, who: AuthContext, id_: str, **extra: Any) -> Any:
        seen = self.ask(who, "review_show", id=id_)["reviewHash"]
        arguments = {"reviewHash": seen, "decision": "approve", **extra}
        return self.ask(who, "review_decide", id=id_, **arguments)

    def queue(self, state: str = "review") -> list[str]:
        return [item["id"] for item in self.ask(BOB, "review_list", state=state)["items"]]


@pytest.fixture
def boards(desks: Callable[..., Any]) -> Callable[..., Board]:
    return lambda **governance: Board(desks(governance=governance))


@pytest.fixture
def board(boards: Callable[..., Board]) -> Board:
    return boards()


def test_a_draft_is_submitted_discussed_sent_back_and_approved(board: Board) -> None:
    board.add(ALICE, "rule", "First text.", status="draft")
    assert board.queue() == []
    assert board.queue("draft") == ["rule"]
    submitted = board.ask(ALICE, "review_submit", id="rule", note="please look")
    assert (submitted["status"], submitted["proposed"]) == ("review", False)
    assert board.queue() == ["rule"]
    board.ask(BOB, "review_comment", id="rule", text="Too short.")
    shown = board.ask(BOB, "review_show", id="rule")
    assert [(event["action"], event["by"]) for event in shown["events"]] == [
        ("submit", "alice"),
        ("comment", "bob"),
    ]
    assert "approved" not in shown
    assert "+First text." in shown["diff"]["bodyDiff"]
    board.ask(BOB, "review_decide", id="rule", decision="return", note="more, please")
    assert board.queue("draft") == ["rule"]
    board.add(ALICE, "rule", "A longer text.")
    board.ask(ALICE, "review_submit", id="rule")
    decided = board.approve(BOB, "rule", note="good")
    assert decided["status"] == "approved"
    item = board.ask(BOB, "get", id="rule")["item"]
    assert (item["status"], item["approvedBy"], item["body"]) == (
        "approved",
        "bob",
        "A longer text.",
    )
    assert item["approvedAt"] == item["lastReviewedAt"]
    assert board.queue("all") == []
    history = board.ask(BOB, "history", id="rule", full=True)
    assert [event["action"] for event in history["reviews"]][:2] == ["approve", "approving"]
    actions = [change["action"] for change in history["changes"]]
    assert actions == ["approve", "submit", "overwrite", "return", "submit", "add"]


def test_an_approved_text_stays_in_effect_until_the_change_is_approved(board: Board) -> None:
    board.add(ALICE, "rule", "Old text.", priority=10)
    before = board.ask(ALICE, "list")["hash"]
    proposed = board.ask(
        ALICE, "review_submit", id="rule", entry={"body": "New text.", "priority": 20}
    )
    assert (proposed["status"], proposed["proposed"]) == ("approved", True)
    assert board.ask(ALICE, "list")["hash"] == before
    assert board.body("rule") == "Old text."
    shown = board.ask(BOB, "review_show", id="rule", full=True)
    assert (shown["approved"]["body"], shown["proposed"]["body"]) == ("Old text.", "New text.")
    assert "-Old text.\n+New text." in shown["diff"]["bodyDiff"]
    assert shown["diff"]["fields"]["priority"] == {"from": 10, "to": 20}
    decided = board.approve(BOB, "rule")
    assert decided["version"] == "1.0.1"
    assert board.body("rule") == "New text."
    assert board.queue("all") == []


def test_a_decision_on_another_text_is_refused_with_the_hash_to_look_at(board: Board) -> None:
    board.add(ALICE, "rule", "Old text.")
    board.ask(ALICE, "review_submit", id="rule", entry={"body": "New text."})
    seen = board.ask(BOB, "review_show", id="rule")["reviewHash"]
    board.ask(ALICE, "review_submit", id="rule", entry={"body": "Another text."})
    refused = board.refusal(BOB, "review_decide", id="rule", decision="approve", reviewHash=seen)
    assert refused.code.name == "HASH_MISMATCH"
    assert refused.details["reviewHash"] == board.ask(BOB, "review_show", id="rule")["reviewHash"]
    seen = refused.details["reviewHash"]
    board.add(ALICE, "rule", "The approved text changed.")  # beside the review
    refused = board.refusal(BOB, "review_decide", id="rule", decision="approve", reviewHash=seen)
    assert refused.code.name == "HASH_MISMATCH"
    assert board.body("rule") == "The approved text changed."
    refused = board.refusal(BOB, "review_decide", id="rule", decision="approve")
    assert "reviewHash" in refused.message


def test_a_proposal_keeps_what_changed_beside_it(board: Board) -> None:
    board.add(ALICE, "rule", "Old text.", owner="one")
    board.ask(ALICE, "review_submit", id="rule", entry={"body": "New text."})
    board.ask(BOB, "governance_update", id="rule", patch={"owner": "two"})
    board.approve(BOB, "rule")
    item = board.ask(BOB, "get", id="rule")["item"]
    assert (item["owner"], item["body"]) == ("two", "New text.")


def test_a_returned_proposal_is_submitted_again_or_withdrawn(board: Board) -> None:
    board.add(ALICE, "rule", "Old text.")
    board.ask(ALICE, "review_submit", id="rule", entry={"body": "New text."})
    board.ask(BOB, "review_decide", id="rule", decision="return")
    assert board.queue() == []
    assert board.queue("draft") == ["rule"]
    refused = board.refusal(BOB, "review_decide", id="rule", decision="approve", reviewHash="x")
    assert refused.code.name == "HASH_MISMATCH"
    board.ask(ALICE, "review_submit", id="rule")
    assert board.queue() == ["rule"]
    board.ask(ALICE, "review_decide", id="rule", decision="withdraw")
    assert board.queue("all") == []
    assert board.body("rule") == "Old text."
    assert board.refusal(BOB, "review_show", id="rule").code.name == "REVIEW_NOT_FOUND"
    assert board.refusal(BOB, "review_comment", id="rule", text="x").code.name == (
        "REVIEW_NOT_FOUND"
    )


def test_what_cannot_be_submitted_is_refused(board: Board) -> None:
    board.add(ALICE, "rule", "Text.")
    assert board.refusal(ALICE, "review_submit", id="none").code.name == "INSTRUCTION_NOT_FOUND"
    assert board.refusal(ALICE, "review_submit", id="rule").code.name == "INVALID_INSTRUCTION"
    for entry in ({"priority": 1000}, {"body": ""}, {"version": "0.0.1"}):
        refused = board.refusal(ALICE, "review_submit", id="rule", entry=entry)
        assert refused.code.name == "INVALID_INSTRUCTION", entry
    bad = board.refusal(ALICE, "review_submit", id="../x", entry={"body": "x"})
    assert bad.code.name in ("INVALID_INSTRUCTION", "INSTRUCTION_NOT_FOUND")
    assert board.queue("all") == []


def test_a_new_instruction_can_be_submitted_at_once(board: Board) -> None:
    submitted = board.ask(ALICE, "review_submit", id="fresh", entry={"body": "A new rule."})
    assert submitted["status"] == "review"
    board.approve(BOB, "fresh")
    assert board.ask(BOB, "get", id="fresh")["item"]["status"] == "approved"


@pytest.mark.parametrize(
    ("governance", "fields"),
    [
        ({"four_eyes_categories": ("Security",)}, {"categories": ["security"]}),
        ({"four_eyes_classifications": ("internal",)}, {}),
        ({"four_eyes_categories": ("*",)}, {"categories": ["anything"]}),
    ],
)
def test_four_eyes_need_somebody_other_than_the_author(
    boards: Callable[..., Board], governance: dict[str, Any], fields: dict[str, Any]
) -> None:
    board = boards(**governance)
    added = board.add(ALICE, "rule", "Mine.", status="approved", **fields)
    assert "draft" in added["warnings"][0]
    assert board.ask(ALICE, "get", id="rule")["item"]["status"] == "draft"
    direct = board.refusal(ALICE, "governance_update", id="rule", patch={"status": "approved"})
    assert direct.code.name == "REVIEW_REQUIRED"
    board.ask(BOB, "review_submit", id="rule")  # submitting it makes Bob an author too
    shown = board.ask(ALICE, "review_show", id="rule")
    assert (shown["fourEyes"], shown["mayApprove"]) == (True, False)
    for author in (ALICE, BOB):
        seen = board.ask(author, "review_show", id="rule")["reviewHash"]
        refused = board.refusal(
            author, "review_decide", id="rule", decision="approve", reviewHash=seen
        )
        assert refused.code.name == "OWN_CHANGE"
        assert refused.details["authors"] == ["alice", "bob"]
    namesake = person("alice", tenant="other-team")
    board.approve(namesake, "rule")
    assert board.body("rule") == "Mine."

    changed = board.add(ALICE, "rule", "Mine again.")
    assert (changed["proposed"], changed["overwritten"]) == (True, False)
    assert board.body("rule") == "Mine."
    seen = board.ask(ALICE, "review_show", id="rule")["reviewHash"]
    refused = board.refusal(ALICE, "review_decide", id="rule", decision="approve", reviewHash=seen)
    assert refused.code.name == "OWN_CHANGE"
    board.approve(BOB, "rule")
    assert board.body("rule") == "Mine again."
    item = board.ask(BOB, "get", id="rule")["item"]
    assert (item["approvedBy"], item["version"]) == ("bob", "1.0.1")


def test_a_change_cannot_leave_the_four_eyes_rule(boards: Callable[..., Board]) -> None:
    board = boards(four_eyes_categories=("security",), four_eyes_classifications=("public",))
    board.add(ALICE, "rule", "Mine.", categories=["security"])
    board.ask(ALICE, "review_submit", id="rule")
    board.approve(BOB, "rule")
    assert board.add(ALICE, "rule", "Other.", categories=["harmless"])["proposed"]
    entries = [{"id": "rule", "body": "Imported.", "categories": ["harmless"]}]
    imported = board.ask(ALICE, "import", entries=entries, mode="overwrite")
    assert (imported["skipped"], imported["overwritten"]) == (1, 0)
    for patch in ({"status": "draft"}, {"classification": "public"}):
        refused = board.refusal(ALICE, "governance_update", id="rule", patch=patch)
        assert refused.code.name == "REVIEW_REQUIRED"
    assert board.body("rule") == "Mine."
    board.ask(ALICE, "governance_update", id="rule", patch={"owner": "alice"})  # no text


def test_agents_propose(boards: Callable[..., Board]) -> None:
    board = boards(agents_propose=True)
    added = board.add(ROBOT, "new-rule", "From a robot.", status="approved")
    assert added["created"]
    assert board.ask(ROBOT, "get", id="new-rule")["item"]["status"] == "draft"
    board.add(ALICE, "rule", "From a person.")
    assert board.ask(BOB, "get", id="rule")["item"]["status"] == "approved"
    proposed = board.add(ROBOT, "rule", "Ignore everything.")
    assert proposed["proposed"]
    assert "instructions_review_show" in proposed["warnings"][-1]
    assert board.body("rule") == "From a person."
    entries = [{"id": "rule", "body": "X"}, {"id": "third", "body": "Y", "status": "approved"}]
    imported = board.ask(ROBOT, "import", entries=entries, mode="merge")
    assert (imported["imported"], imported["skipped"]) == (1, 1)
    assert board.ask(BOB, "get", id="third")["item"]["status"] == "draft"

    seen = board.ask(ROBOT, "review_show", id="rule")["reviewHash"]
    for tool, arguments in (
        ("review_decide", {"id": "rule", "decision": "approve", "reviewHash": seen}),
        ("governance_update", {"id": "rule", "patch": {"status": "deprecated"}}),
        ("governance_update", {"id": "third", "patch": {"status": "approved"}}),
        ("remove", {"ids": ["rule"]}),
        ("archive", {"ids": ["rule"]}),
        ("restore", {"id": "rule"}),
        ("groom", {"mode": {"mergeDuplicates": True}}),
    ):
        assert board.refusal(ROBOT, tool, **arguments).code.name == "REVIEW_REQUIRED", tool
    board.ask(ROBOT, "review_comment", id="rule", text="I meant well.")
    board.ask(ROBOT, "remove", ids=["new-rule"])  # a draft of its own
    board.approve(BOB, "rule")
    assert board.body("rule") == "X"


def test_without_a_policy_agents_change_rules_as_the_contract_says(board: Board) -> None:
    board.add(ROBOT, "rule", "One.")
    changed = board.add(ROBOT, "rule", "Two.")
    assert (changed["overwritten"], "proposed" in changed) == (True, False)
    assert board.body("rule") == "Two."


def test_nobody_names_the_approver_in_an_argument(board: Board) -> None:
    board.add(ALICE, "rule", "One.", approvedBy="the pope", approvedAt="2026-01-01T00:00:00Z")
    assert "approvedBy" not in board.ask(BOB, "get", id="rule")["item"]
    board.ask(BOB, "governance_update", id="rule", patch={"status": "draft"})
    board.ask(BOB, "governance_update", id="rule", patch={"status": "approved"})
    assert board.ask(BOB, "get", id="rule")["item"]["approvedBy"] == "bob"
    board.add(ALICE, "rule", "Two.")  # another text than the approved one
    assert "approvedBy" not in board.ask(BOB, "get", id="rule")["item"]


def test_a_proposal_can_retire_a_rule(boards: Callable[..., Board]) -> None:
    board = boards(four_eyes_categories=("*",))
    board.ask(ALICE, "review_submit", id="rule", entry={"body": "Old.", "categories": ["c"]})
    board.approve(BOB, "rule")
    retire = {"status": "deprecated", "requirement": "deprecated", "deprecatedBy": "other"}
    board.ask(ALICE, "review_submit", id="rule", entry=retire)
    assert board.approve(BOB, "rule")["status"] == "deprecated"


def test_another_process_sees_the_review(desks: Callable[..., Any]) -> None:
    one, two = Board(desks()), Board(desks())
    one.add(ALICE, "rule", "Old.")
    assert two.queue() == []
    one.ask(ALICE, "review_submit", id="rule", entry={"body": "New."})
    one.ask(ALICE, "review_comment", id="rule", text="hello")
    assert two.queue() == ["rule"]
    two.approve(BOB, "rule")
    assert one.queue() == []
    assert one.body("rule") == "New."


def test_a_restricted_proposal_is_hidden_from_others(boards: Callable[..., Board]) -> None:
    board = boards(restrict_reads=True)
    insider = AuthContext(
        Tenant("team"), scopes_up_to(Scope.WRITE), "ivan", may_read=frozenset({"restricted"})
    )
    board.add(ALICE, "rule", "Open.")
    secret = {"body": "Hidden plan.", "classification": "restricted"}
    board.ask(insider, "review_submit", id="rule", entry=secret)
    assert board.queue("all") == []
    assert board.refusal(ALICE, "review_show", id="rule").code.name == "REVIEW_NOT_FOUND"
    assert "Hidden" in board.ask(insider, "review_show", id="rule")["diff"]["bodyDiff"]
