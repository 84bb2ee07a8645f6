"""An approval that a crash interrupted is neither lost nor asked for again."""

from __future__ import annotations

from pathlib import Path

import pytest
from catalogue_helpers import CALLER, add, open_service

from commonplace.instructions.engine.review.events import ReviewAction
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.use_cases.review.submitting import record_event
from commonplace.kernel.errors import CommonplaceError


def test_an_approval_that_was_stored_counts_although_its_end_was_not_logged(
    tmp_path: Path,
) -> None:
    service = open_service(tmp_path)
    reviews = ReviewService(service.parts_of)
    add(service, "rule", "Old.")
    reviews.submit(CALLER, "rule", {"body": "New."})
    waiting = reviews.show(CALLER, "rule")
    parts = service.parts_of(CALLER)
    add(service, "rule", "New.")  # the commit of the approval
    found = service.get(CALLER, "rule")
    assert found is not None
    with parts.store.exclusive():
        approved = str(found.item["governanceHash"])
        record_event(parts, CALLER, "rule", ReviewAction.APPROVING, hash_=approved)
    with pytest.raises(CommonplaceError) as settled:
        reviews.show(CALLER, "rule")
    assert settled.value.code.name == "REVIEW_NOT_FOUND"
    assert reviews.queue(CALLER, None).total == 0
    assert waiting.item.hash
    service.close()


def test_an_approval_that_was_not_stored_still_waits(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    reviews = ReviewService(service.parts_of)
    add(service, "rule", "Old.")
    reviews.submit(CALLER, "rule", {"body": "New."})
    parts = service.parts_of(CALLER)
    with parts.store.exclusive():
        record_event(parts, CALLER, "rule", ReviewAction.APPROVING, hash_="0" * 64)
    waiting = reviews.show(CALLER, "rule")
    decided = reviews.decide(CALLER, "rule", "approve", review_hash=waiting.item.hash)
    assert decided.status == "approved"
    assert reviews.queue(CALLER, None).total == 0
    service.close()


def test_a_round_has_a_bounded_number_of_events(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    reviews = ReviewService(service.parts_of)
    add(service, "rule", "Old.")
    reviews.submit(CALLER, "rule", {"body": "New."})
    parts = service.parts_of(CALLER)
    with parts.store.exclusive():
        for _ in range(499):
            record_event(parts, CALLER, "rule", ReviewAction.COMMENT, note="x")
    with pytest.raises(CommonplaceError) as refused:
        reviews.comment(CALLER, "rule", "one more")
    assert refused.value.code.name == "CATALOGUE_LIMIT"
    service.close()
