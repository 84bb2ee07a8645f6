"""Places of the files area."""

from __future__ import annotations

import pytest

from commonplace.console.pages.files.places import Place, tidy_path


@pytest.mark.parametrize(
    ("typed", "path"),
    [("", ""), ("/", ""), ("a.md", "/a.md"), (" /docs/ ", "/docs"), ("//a", "/a")],
)
def test_a_typed_path_gets_the_form_that_the_tools_expect(typed: str, path: str) -> None:
    assert tidy_path(typed) == path


def test_a_place_has_an_address_a_name_and_the_folders_above_it() -> None:
    place = Place("my project", "/docs/api/a b.md")
    assert place.address("edit") == (
        "/console/files/edit?project=my+project&path=%2Fdocs%2Fapi%2Fa+b.md"
    )
    assert (place.name, place.folder) == ("a b.md", "/docs/api")
    assert [parent.path for parent in place.parents()] == ["", "/docs", "/docs/api"]
    assert Place("p").name == "p"
    assert Place("p").parents() == []
