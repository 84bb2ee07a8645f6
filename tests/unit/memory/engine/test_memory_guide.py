"""The guide of rekall_help."""

from __future__ import annotations

import bpe_openai
import pytest

from commonplace.memory.engine.guide import INSTRUCTIONS, guide, language_of

O200K = bpe_openai.get_encoding("o200k_base")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_guide_fits_500_tokens_in_both_languages(language: str) -> None:
    text = guide("all", "fr" if language == "fr" else "en")
    assert len(O200K.encode(text)) < 500
    assert len(text) < 2000
    assert "rekall_search" in text
    assert len(INSTRUCTIONS[language].splitlines()) == 3


@pytest.mark.parametrize(
    ("setting", "environment", "language"),
    [
        ("fr", {}, "fr"),
        ("en", {"LANG": "fr_FR.UTF-8"}, "en"),
        ("auto", {"LANG": "fr_CA.UTF-8"}, "fr"),
        ("auto", {"LC_ALL": "C.UTF-8", "LANG": "fr_FR"}, "en"),
        ("auto", {}, "en"),
    ],
)
def test_the_language_comes_from_the_setting_or_the_locale(
    setting: str, environment: dict[str, str], language: str
) -> None:
    assert language_of(setting, environment) == language
