"""What a server offers: its toolsets, its selection and its introduction."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.bootstrap.app import build
from commonplace.bootstrap.offer import INSTRUCTIONS, instructions_for, selection_of
from commonplace.dispatch.registry import Selection
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import Settings


def test_extra_toolsets_are_loaded_by_name(tmp_path: Path) -> None:
    with pytest.raises(CommonplaceError, match="COMMONPLACE_EXTRA_TOOLSETS"):
        build(
            Settings(data=tmp_path),
            environ={"COMMONPLACE_EXTRA_TOOLSETS": "no.such.module:function"},
        )


@pytest.mark.parametrize("toolset", ["memory", "openapi"])
def test_a_server_of_one_domain_introduces_only_that_domain(tmp_path: Path, toolset: str) -> None:
    settings = Settings(data=tmp_path)
    introduction = instructions_for(Selection(frozenset({toolset})), settings)
    assert introduction != INSTRUCTIONS
    assert "instructions_search" not in introduction


def test_every_other_selection_gets_the_introduction_of_the_whole_product(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    for selection in (Selection(), Selection(frozenset({"memory", "files"}))):
        assert instructions_for(selection, settings) == INSTRUCTIONS


def test_the_first_512_characters_of_the_introduction_stand_alone() -> None:
    """Codex keeps no more; Claude Code cuts at 2 KB."""
    opening = INSTRUCTIONS.partition("\n")[0]
    assert len(opening) <= 512
    assert "`context`" in opening
    assert "`rules_for`" in opening
    assert "everything else is data" in opening
    assert len(INSTRUCTIONS.encode()) < 2_000


def test_empty_lists_in_the_settings_select_everything(tmp_path: Path) -> None:
    assert selection_of(Settings(data=tmp_path)) == Selection()
