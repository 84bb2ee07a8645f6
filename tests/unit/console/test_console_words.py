"""What the console says about terms, numbers of an address, places in a document, and an hour
with pauses.
"""

from __future__ import annotations

import io
import itertools
import zipfile

import pytest

from commonplace.console.openapi_panels import kind_of
from commonplace.console.openapi_work import archive, by_place, place_of, report
from commonplace.console.pages.overview import _filled
from commonplace.console.parts import in_words, whole


def test_terms_are_shown_as_typed() -> None:
    assert in_words(["databas", "lock", "other"], "Databases locked") == "Databases, locked, other"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (None, 1),
        ("", 1),
        ("3", 3),
        ("0", 1),
        ("-2", 1),
        ("x", 1),
        ("9" * 30, 1),
        ("٣", 1),
        ("2.5", 1),
    ],
)
def test_a_number_of_an_address_is_never_trusted(text: str | None, number: int) -> None:
    assert whole(text, 1) == number


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("/paths/~1pets~1{id}/get/responses/200", "GET /pets/{id}"),
        ("/paths/~1pets", "/pets"),
        ("/components/schemas/Pet/required", "schemas Pet"),
        ("/definitions/Pet", "schemas Pet"),
        ("/info/title", "info title"),
        ("", "the document"),
    ],
)
def test_a_pointer_is_shown_as_a_readable_place(pointer: str, place: str) -> None:
    assert place_of(pointer) == place


def test_a_report_starts_with_the_worst_and_groups_by_place() -> None:
    changes = [
        {"severity": "info", "path": "/info/title", "message": "Renamed."},
        {"severity": "critical", "path": "/paths/~1a/get", "message": "GET /a was removed."},
        {
            "severity": "critical",
            "path": "/paths/~1a/get/parameters/0",
            "message": "A parameter was removed.",
        },
    ]
    text = report({"summary": "3 changes", "changes": changes})
    assert (
        text.index("Breaks every client")
        < text.index("GET /a was removed.")
        < text.index("Breaks nobody")
        < text.index("Renamed.")
    )
    assert [len(ones) for ones in by_place(changes).values()] == [1, 2]


def test_generated_files_are_packed_under_their_package() -> None:
    packed = archive("api", [{"name": "client.go", "content": "package api\n"}])
    with zipfile.ZipFile(io.BytesIO(packed)) as target:
        assert target.read("api/client.go") == b"package api\n"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"$ref": "#/components/schemas/Pet"}, "Pet"),
        ({"type": "array", "items": {"type": "string", "format": "date"}}, "list of string (date)"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "string", "enum": ["a", "b"]}, "string: a, b"),
        ({"oneOf": [{"type": "string"}, {"$ref": "#/x/Y"}]}, "oneOf: string, Y"),
        ({}, "anything"),
        (True, "True"),
    ],
)
def test_a_schema_is_summarized_briefly(schema: object, told: str) -> None:
    assert kind_of(schema) == told


def test_an_hour_with_a_pause_falls_to_zero_and_rises_again() -> None:
    slot = {"calls": 5, "errors": 0, "average_ms": 1.0, "maximum_ms": 2.0}
    line = [
        {"at": "2026-01-01T00:00:00Z", **slot},
        {"at": "2026-01-01T00:00:10Z", **slot},
        {"at": "2026-01-01T00:05:00Z", **slot},
    ]
    filled = _filled(line, 10)
    assert [one["calls"] for _, one in filled] == [5, 5, 0, 0, 5]
    assert [
        (later - earlier) // 1000 for (earlier, _), (later, _) in itertools.pairwise(filled)
    ] == [10, 10, 270, 10]
