"""Documents, tabs and choices of the OpenAPI page."""

from __future__ import annotations

import pytest

from commonplace.console.pages.openapi.view import MAX_SHOWN_CHARS, DocumentSource, View, make_view
from commonplace.console.pages.openapi.walks import WALKS, walk_arguments


@pytest.mark.parametrize(
    ("source", "spec"),
    [
        (DocumentSource("file:apis/a.yaml"), {"ref": "file:apis/a.yaml"}),
        (DocumentSource("https://example.org/a.json"), {"url": "https://example.org/a.json"}),
        (DocumentSource("/srv/a.yaml"), {"file": "/srv/a.yaml"}),
        (DocumentSource("a.yaml", "openapi: 3.1.0"), {"content": "openapi: 3.1.0"}),
    ],
)
def test_a_document_is_passed_to_the_tools_by_its_name_or_text(
    source: DocumentSource, spec: dict[str, str]
) -> None:
    assert source.spec == spec


def test_a_long_text_is_not_put_into_a_text_area() -> None:
    assert DocumentSource(text="x" * (MAX_SHOWN_CHARS + 1)).shown_text == ""
    assert DocumentSource(text="x").shown_text == "x"


def test_an_unknown_tab_becomes_the_first_one() -> None:
    assert make_view(DocumentSource("file:a/b"), {"tab": "<script>"}).tab == "findings"


def test_numbers_of_an_address_are_checked() -> None:
    for text in ("-1", "x", "²", "9" * 12):
        assert View(DocumentSource(), choices={"page": text}).page == 1
    assert View(DocumentSource(), choices={"page": "7"}).page == 7


def test_the_choices_of_a_list_stay_when_its_pages_are_turned() -> None:
    view = make_view(DocumentSource("file:a/b"), {"tab": "operations", "path": "/x", "page": "2"})
    assert view.address(**view.turned(3)) == (
        "/console/openapi?ref=file%3Aa%2Fb&path=%2Fx&page=3&tab=operations"
    )
    assert view.go(**view.turned(1)) == "path=%2Fx&tab=operations"


def test_a_part_of_a_schema_name_finds_it() -> None:
    view = make_view(DocumentSource("file:a/b"), {"tab": "schemas", "name": "pet"})
    assert walk_arguments(WALKS["schemas"], view) == {"name": "*pet*", "named": True}
    exact = make_view(DocumentSource("file:a/b"), {"name": "Pet?", "nested": "on"})
    assert walk_arguments(WALKS["schemas"], exact) == {"name": "Pet?", "named": False}
