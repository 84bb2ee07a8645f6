"""Changes between two documents, as people read them."""

from __future__ import annotations

import pytest

from commonplace.console.pages.openapi.changes import group_changes, place_of, write_report

CHANGES = [
    {"severity": "info", "type": "added", "path": "/paths/~1a/get", "message": "Added."},
    {"severity": "critical", "type": "removed", "path": "/paths/~1b/get", "message": "Removed."},
    {
        "severity": "critical",
        "type": "changed",
        "path": "/paths/~1b/get/responses/200",
        "message": "Changed.",
    },
]


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("/paths/~1pets~1{id}/get/responses/200", "GET /pets/{id}"),
        ("/paths/~1pets", "/pets"),
        ("/components/schemas/Pet/properties/a", "schemas Pet"),
        ("/definitions/Pet", "schemas Pet"),
        ("/info/title", "info title"),
        ("", "the document"),
    ],
)
def test_a_pointer_is_named_as_people_say_it(pointer: str, place: str) -> None:
    assert place_of(pointer) == place


def test_changes_are_grouped_by_severity_and_place_worst_first() -> None:
    groups = group_changes(CHANGES)
    assert [(title, count) for title, _, count, _ in groups] == [
        ("Breaks every client", 2),
        ("Breaks nobody", 1),
    ]
    assert list(groups[0][3]) == ["GET /b"]


def test_the_report_is_markdown() -> None:
    report = write_report({"summary": "3 changes.", "changes": CHANGES})
    assert report.startswith("**3 changes.**\n\n### Breaks every client\n\n- `GET /b`: Removed.")
    assert "### Breaks clients" not in report
