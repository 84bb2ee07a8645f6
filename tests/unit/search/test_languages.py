"""The language of a text: right on short texts, or not judged at all."""

from __future__ import annotations

import pytest

from commonplace.search.languages import SIGNS, detect_language, stemmer_of
from commonplace.search.lexical.text import analyze, matches, query_terms


def judge(text: str) -> str | None:
    return detect_language(text, text.replace("?", " ").replace("¿", " ").split())


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("german", "Wie lange sind die Schlüssel gültig?"),
        ("german", "wann wird der Server neu gestartet"),
        ("spanish", "¿Cuánto duran las claves de la API?"),
        ("spanish", "dónde están los registros del servidor"),
        ("italian", "Come si ripristina il backup del database?"),
        ("portuguese", "onde ficam os ficheiros grandes do projeto"),
        ("dutch", "hoe lang is de sleutel geldig"),
        ("swedish", "hur länge är nyckeln giltig"),
        ("danish", "hvor længe er nøglen gyldig"),
        ("polish", "kiedy wygasa klucz i jak go odnowić"),
        ("finnish", "kuinka kauan avain on voimassa"),
        ("turkish", "anahtar ne kadar süre için geçerli"),
        ("french", "quand les clés expirent"),
    ],
)
def test_short_questions_are_judged_right(language: str, text: str) -> None:
    assert judge(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "how do I read a file in Python",
        "el capitan install",
        "die hard movie",
        "war and peace",
        "van der Waals force",
        "man in the middle",
        "Das U-Boot",
        "select * from user where id in (1)",
        "if x is None: return y",
        "import numpy as np",
        "for i in range(n): a[i] = e",
        "обзор сетевых пространств имён",
        "ファイルのチェックサム",
    ],
)
def test_english_names_code_and_other_scripts_are_not_judged(text: str) -> None:
    assert judge(text) is None


def test_inflected_forms_meet_in_german_and_in_spanish() -> None:
    for text, query in (
        ("Die Rechnungen werden von den Mitarbeitern geprüft.", "wer prüft die Rechnung"),
        ("Las claves caducadas se renuevan con la orden.", "cómo se renovó la clave caducada"),
        ("Gli utenti hanno cancellato le prenotazioni.", "chi ha cancellato la prenotazione"),
    ):
        shared = set(analyze(text)) & set(query_terms(query))
        assert len(shared) >= 2, (text, shared)


def test_text_and_query_meet_even_if_only_one_was_judged() -> None:
    text = "Die Rechnungen werden am letzten Tag des Monats verschickt."
    assert set(query_terms("Rechnungen Monats")) <= set(analyze(text))


def test_matches_are_found_where_the_other_language_has_its_stems() -> None:
    text = "Die Schlüssel werden von den Mitarbeitern erneuert."
    found = list(matches(text, query_terms("wie erneuern die Mitarbeiter den Schlüssel")))
    assert {text[start:end] for start, end, _ in found} >= {"Schlüssel", "Mitarbeitern"}


def test_every_language_has_a_stemmer() -> None:
    assert all(stemmer_of(language).stemWord("a") for language in SIGNS)
