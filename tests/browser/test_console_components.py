"""The design system on one page: looks, sizes, themes and accessibility.

Pictures are compared in small, so that fonts of another machine do not matter while a lost style
does. `COMMONPLACE_UPDATE_REFERENCES=1` writes the references.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from tests.browser.conftest import Visitor, VisitorFactory
from tests.server.conformance.program import Served

REFERENCES = Path(__file__).parent / "references"
SIZE = (64, 96)  # of the compared picture
MAX_DIFFERENCE = 8.0  # mean difference of a colour, of 255
SHRINK = """async ([source, width, height]) => {
  const picture = new Image();
  picture.src = source;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, width, height);
  const values = [...context.getImageData(0, 0, width, height).data];
  return [canvas.toDataURL("image/png"), values.filter((_, index) => index % 4 !== 3)];
}"""


def shrink(visitor: Visitor, picture: bytes) -> tuple[bytes, list[int]]:
    """Return a picture in small, as PNG and as values of its colours."""
    address = "data:image/png;base64," + base64.b64encode(picture).decode()
    page = visitor.page.context.new_page()
    made, values = page.evaluate(SHRINK, [address, *SIZE])
    page.close()
    return base64.b64decode(made.partition(",")[2]), values


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_components_look_as_they_did(
    keyed: tuple[Served, dict[str, str], Path],
    new_visitor: VisitorFactory,
    theme: str,
    width: int,
) -> None:
    server, keys, _ = keyed
    visitor = new_visitor(
        server.address, viewport={"width": width, "height": 900}, color_scheme=theme
    )
    visitor.sign_in(keys["read"])
    visitor.go("/console/components")
    visitor.page.wait_for_selector(".editor .gutter")
    made, values = shrink(visitor, visitor.page.screenshot(full_page=True))
    reference = REFERENCES / f"components-{width}-{theme}.png"
    if os.environ.get("COMMONPLACE_UPDATE_REFERENCES"):
        reference.write_bytes(made)
    _, expected = shrink(visitor, reference.read_bytes())
    difference = sum(abs(a - b) for a, b in zip(values, expected, strict=True)) / len(values)
    assert difference < MAX_DIFFERENCE
    assert visitor.overflow() <= 0
    assert visitor.axe() == []


def test_a_lost_stylesheet_is_noticed(
    keyed: tuple[Served, dict[str, str], Path], new_visitor: VisitorFactory
) -> None:
    server, keys, _ = keyed
    visitor = new_visitor(server.address, viewport={"width": 1280, "height": 900})
    visitor.sign_in(keys["read"])
    visitor.allow("console.css")
    visitor.page.route("**/console.css*", lambda route: route.abort())
    visitor.go("/console/components")
    _, values = shrink(visitor, visitor.page.screenshot(full_page=True))
    _, expected = shrink(visitor, (REFERENCES / "components-1280-light.png").read_bytes())
    difference = sum(abs(a - b) for a, b in zip(values, expected, strict=True)) / len(values)
    assert difference > MAX_DIFFERENCE


def test_a_dialog_opens_with_the_page_and_closes_by_keyboard(
    keyed: tuple[Served, dict[str, str], Path], new_visitor: VisitorFactory
) -> None:
    server, keys, _ = keyed
    visitor = new_visitor(server.address)
    visitor.sign_in(keys["read"])
    visitor.go("/console/components?confirm=yes")
    dialog = visitor.page.get_by_role("dialog", name="Remove 3 instructions?")
    dialog.wait_for()
    assert visitor.axe() == []
    visitor.page.keyboard.press("Escape")
    visitor.page.wait_for_url("**/console/components")
    assert not dialog.is_visible()
