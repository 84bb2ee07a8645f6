"""The service stores feedback and names its callers."""

from __future__ import annotations

from pathlib import Path

from catalogue_helpers import CALLER, open_service

from commonplace.instructions.store.feedback import FeedbackFilter


def test_feedback_is_stored_for_its_caller(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    try:
        entry = {"type": "issue", "severity": "low", "title": "t", "description": "d"}
        stored = service.feedback.submit(CALLER, entry)
        assert service.feedback.get(CALLER, stored["id"]) == stored
        assert service.feedback.get(CALLER, "missing") is None
        changed = service.feedback.update(CALLER, stored["id"], "resolved", None)
        assert changed is not None
        assert (changed["status"], changed["updatedBy"]) == ("resolved", CALLER.label)
        page = service.feedback.list_entries(CALLER, FeedbackFilter(status="resolved"), limit=10)
        assert (page.entries, page.total) == ([changed], 1)
        assert service.feedback.count(CALLER, None).by_status == {"resolved": 1}
        assert service.feedback.storage(CALLER).entries == 1
    finally:
        service.close()
