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
        ("ledger-sync is owned by the Payments Core team.", "owner", "payments core"),
        ("Le service est maintenu par l'équipe Offre.", "owner", "offre"),
        ("It reads the address from DATABASE_URL.", "variable", "DATABASE_URL"),
        ("Flags are read from config/flags.yaml at startup.", "path", "config/flags.yaml"),
        ("The portal runs on PHP 8.3 now.", "version of php", "8.3"),
        ("The dump starts at 02:15 in the night.", "clock", "02:15"),
        ("Set PIER_API_HOST before the start.", "variable", "PIER_API_HOST"),
        ("Edit config/pier.toml by hand.", "path", "config/pier.toml"),
        ("Local secrets are read from .env.local at start.", "path", ".env.local"),
        ("The header that names the pier is Pier-Key.", "header", "Pier-Key"),
        ("Le quai est lu dans la variable QUAI_HOTE.", "variable", "QUAI_HOTE"),
        ("The pier is called with plain JSON.", "calls", "plain json"),
        ("The dump starts at half past midnight.", "clock", "00:30"),
        ("Le quai ferme à minuit.", "clock", "00:00"),
        ("La paie part le 15 de chaque mois.", "day of month", "15"),
        ("Cut fixes from release/stable.", "branch", "release/stable"),
        ("Pull requests go to mainline, the default branch.", "branch", "mainline"),
        ("Sessions are kept in DynamoDB.", "cache", "dynamodb"),
        ("Incidents are followed in Microsoft Teams.", "chat", "teams"),
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


def test_a_file_below_a_folder_of_releases_is_no_branch() -> None:
    found = mentions("Notes are read from release/notes.md at startup.")
    assert ("path", "release/notes.md", False) in found
    assert not any(kind == "branch" for kind, _, _ in found)


def test_words_that_are_also_names_need_a_sign_of_their_kind() -> None:
    assert not mentions("The parcel tracker efface ses lignes.")


def test_a_name_with_a_hyphen_is_a_header_only_behind_that_word() -> None:
    assert not any(kind == "header" for kind, _, _ in mentions("Pier-Key is a firm of Brest."))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The crane log is sent on by Fluent Bit.", ("log shipping", "fluent bit")),
        ("Certificates of the pier come from Let's Encrypt.", ("certificates", "letsencrypt")),
        ("Deployments of the pier are rolling updates.", ("strategy", "rolling update")),
        ("Pictures of the pier are compressed with Zstandard.", ("compression", "zstd")),
        ("Le quai est facturé TTC, prix compris.", ("prices", "including vat")),
    ],
)
def test_products_and_methods_are_values_in_the_plural_and_by_other_names(
    text: str, value: tuple[str, str]
) -> None:
    assert (*value, False) in mentions(text)


@pytest.mark.parametrize(
    "text", ["The DHL connector waits a second.", "Le connecteur GLS attend une seconde."]
)
def test_a_name_that_tells_one_connector_from_another_is_no_value(text: str) -> None:
    assert "carrier" not in {kind for kind, _, _ in mentions(f"{text} It ships parcels.")}
