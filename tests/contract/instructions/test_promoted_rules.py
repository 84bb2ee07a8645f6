"""Rules that come from lessons, on both stores: others see how many lessons, never which."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from commonplace.dispatch.call import to_json
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.use_cases.review.promoting import StaleLesson
from commonplace.kernel.auth import AuthContext, Scope, Tenant, scopes_up_to
from commonplace.kernel.errors import CommonplaceError

LATER = "2999-01-01T00:00:00.000Z"
EARLIER = "2000-01-01T00:00:00.000Z"
RULE = {"id": "lesson.locks", "title": "Locks", "body": "Set busy_timeout.", "owner": "ann"}
LESSONS = {"01LESSONOFREDA": "digest-a", "01LESSONOFREDB": "digest-b"}


def person(label: str, tenant: str) -> AuthContext:
    return AuthContext(Tenant(tenant), scopes_up_to(Scope.WRITE), label)


ANN, BOB = person("ann", "red"), person("bob", "blue")


class KnownStates:
    """Lessons that no longer hold, as the test says."""

    def __init__(self) -> None:
        self.stale: dict[str, StaleLesson] = {}

    async def find_stale(
        self, tenant: Tenant, lessons: Mapping[str, str]
    ) -> Mapping[str, StaleLesson]:
        assert (tenant, dict(lessons)) == ("red", LESSONS)
        return {id_: state for id_, state in self.stale.items() if id_ in lessons}


class Office:
    """Two tenants on one catalogue."""

    def __init__(self, desk: Any) -> None:
        self.desk = desk
        self.states = desk.service.lessons = KnownStates()
        desk.service.load()
        self.reviews = ReviewService(desk.service.parts_of)

    def ask(self, who: AuthContext, tool: str, **arguments: Any) -> Any:
        outcome = self.desk.outcome(f"instructions_{tool}", arguments, who)
        if outcome.error is not None:
            raise outcome.error
        return orjson.loads(orjson.dumps(to_json(outcome.output)))

    def stale(self, who: AuthContext) -> list[Any]:
        return list(self.ask(who, "reviews")["staleLessons"])

    def approve(self) -> None:
        seen = self.ask(BOB, "review_show", id=RULE["id"])["reviewHash"]
        self.ask(BOB, "review_decide", id=RULE["id"], decision="approve", reviewHash=seen)


@pytest.fixture
def office(desks: Callable[..., Any]) -> Office:
    return Office(desks())


def test_the_preview_is_what_is_stored(office: Office) -> None:
    shown = office.reviews.preview_promotion(ANN, RULE, 2)
    assert office.ask(BOB, "review_list")["count"] == 0
    outcome = office.reviews.promote(ANN, RULE, LESSONS)
    assert (outcome.status, outcome.id) == ("review", "lesson.locks")
    stored = office.ask(BOB, "get", id=RULE["id"])["item"]
    times = {"createdAt", "updatedAt", "nextReviewDue", "changeLog"}
    for name in shown.keys() - times:
        assert stored[name] == shown[name], name
    assert stored["extensions"] == {"lessons": 2}


def test_only_the_tenant_of_the_lessons_is_told_which_they_are(office: Office) -> None:
    office.reviews.promote(ANN, RULE, LESSONS)
    office.states.stale["01LESSONOFREDA"] = StaleLesson("superseded", LATER)
    own = office.ask(ANN, "review_show", id=RULE["id"])
    assert (own["lessons"], own["ownLessons"]) == (2, list(LESSONS))
    assert office.stale(ANN)[0]["ownLessons"] == {"01LESSONOFREDA": "superseded"}
    office.approve()
    answers = [
        office.stale(BOB),
        office.ask(BOB, "get", id=RULE["id"]),
        office.ask(BOB, "history", id=RULE["id"]),
        office.ask(BOB, "export"),
        office.ask(BOB, "search", q="busy_timeout", full=True),
    ]
    assert answers[0][0]["stale"] == {"superseded": 1}
    assert answers[0][0]["lessons"] == 2
    assert "01LESSON" not in json.dumps(answers)
    assert "digest-" not in json.dumps(answers)


def test_a_rule_is_listed_until_it_was_reviewed_after_its_lessons_went_stale(
    office: Office,
) -> None:
    office.reviews.promote(ANN, RULE, LESSONS)
    office.approve()
    assert office.stale(BOB) == []
    office.states.stale["01LESSONOFREDB"] = StaleLesson("changed", EARLIER)
    assert office.stale(BOB) == []  # the reviewer knew
    office.states.stale["01LESSONOFREDB"] = StaleLesson("changed", LATER)
    assert [rule["id"] for rule in office.stale(BOB)] == ["lesson.locks"]
    office.ask(ANN, "governance_update", id=RULE["id"], patch={"lastReviewedAt": LATER})
    assert office.stale(BOB) == []


def test_a_taken_id_and_an_invalid_rule_are_refused_and_leave_nothing(office: Office) -> None:
    office.ask(ANN, "add", entry={"id": "lesson.locks", "body": "Mine."}, lax=True)
    assert office.reviews.find_free_id(ANN, "lesson.locks") == "lesson.locks-2"
    for rule in (RULE, {**RULE, "id": "../evil"}, {**RULE, "id": "new", "appliesTo": "src"}):
        with pytest.raises(CommonplaceError) as refused:
            office.reviews.promote(ANN, rule, LESSONS)
        assert refused.value.code.name == "INVALID_INSTRUCTION"
    assert office.reviews.promoted(ANN) == []


def test_lessons_follow_their_tenant_to_another_name(office: Office) -> None:
    office.reviews.promote(ANN, RULE, LESSONS)
    blue, green = Tenant("blue"), Tenant("green")
    assert office.reviews.move_lessons(ANN, blue, green) == 0
    assert office.reviews.move_lessons(ANN, Tenant("red"), green) == 1
    assert office.reviews.promoted(ANN)[0].lessons == {"green": LESSONS}
    assert office.ask(ANN, "review_show", id=RULE["id"])["lessons"] == 2


def test_a_rule_that_somebody_wrote_anew_has_no_lessons(office: Office) -> None:
    office.reviews.promote(ANN, RULE, LESSONS)
    office.ask(ANN, "remove", ids=[RULE["id"]])
    assert office.reviews.promoted(ANN) == []
    office.ask(BOB, "add", entry={"id": RULE["id"], "body": "Other."}, lax=True)
    assert office.reviews.promoted(ANN) == []
