"""Values of one kind, stated, denied or of the past."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.kinds import Mention, find_mentions


def mentions(text: str) -> set[tuple[str, str, bool]]:
    return {(m.kind, m.value, m.denied) for m in find_mentions(text, text)}


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Pull requests go against master.", "branch", "master"),
        ("Exports are written in Latin-1.", "encoding", "latin-1"),
        ("The bucket lives in eu-central-1.", "region", "eu-central-1"),
        ("ledger-sync is owned by the Payments Core team.", "owner", "Payments Core"),
        ("Le service est maintenu par l'équipe Offre.", "owner", "Offre"),
        ("It reads the address from DATABASE_URL.", "variable", "DATABASE_URL"),
        ("Flags are read from config/flags.yaml at startup.", "path", "config/flags.yaml"),
        ("The portal runs on PHP 8.3 now.", "version of php", "8.3"),
        ("The dump starts at 02:15 in the night.", "clock", "02:15"),
    ],
)
def test_a_value_is_read_with_its_kind(text: str, kind: str, value: str) -> None:
    assert (kind, value, False) in mentions(text)


@pytest.mark.parametrize(
    "text",
    [
        "We use ruff instead of yapf.",
        "Yapf is gone.",
        "yapf n'est plus utilisé.",
        "Format with ruff, not yapf.",
    ],
)
def test_a_denied_value_is_not_stated(text: str) -> None:
    assert ("python format", "yapf", True) in mentions(text)


def test_what_held_in_the_past_is_left_out() -> None:
    assert find_mentions("Until 2022 the plugin was built on CircleCI.", "") == ()


def test_a_common_word_is_a_value_only_beside_a_word_of_its_kind() -> None:
    assert mentions("The main reason is speed.") == set()
    assert find_mentions("It is main.", "Default branch. It is main.") == (
        Mention("branch", "main", False),
    )


def test_build_numbers_are_not_versions() -> None:
    assert mentions("Build 12 failed on the linter step.") == set()
