"""Vectors of whole texts: the nearest passage counts, files are shared, one process embeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.search.model import Partition
from commonplace.search.whole_texts.meaning import TextMeaning
from commonplace.search.whole_texts.passages import cut_passages
from meaning_words import FolderSemantics

HERE = Partition("", "instructions", "folder")
TEXTS = {
    "pets": ("Pets", "cat food"),
    "long": ("Long", "\n\n".join(f"# Part {n}\n\nfiller{n} " * 120 for n in range(4)) + "dog"),
    "other": ("Other", "compilers and linkers"),
}


@pytest.fixture
def meaning(tmp_path: Path) -> TextMeaning:
    meaning = TextMeaning(FolderSemantics(tmp_path), HERE)
    for name, (title, body) in TEXTS.items():
        meaning.synchronise(name, cut_passages(name, title, body))
    return meaning


def nearest(meaning: TextMeaning, query: str, limit: int = 2, **options: object) -> list[str]:
    vector, _ = meaning.embed_query(query)
    found = meaning.nearest(vector, limit, **options).cosines  # type: ignore[arg-type]
    return sorted(found, key=lambda name: -found[name])


def test_a_text_is_as_near_as_its_nearest_passage(meaning: TextMeaning) -> None:
    assert nearest(meaning, "feline food")[0] == "pets"
    assert nearest(meaning, "Part 2 filler2")[0] == "long"
    vector, legible = meaning.embed_query("feline food")
    found = meaning.nearest(vector, 1, ["other"])
    assert set(found.cosines) == {"pets", "other"}
    assert (found.rows, legible) == (3, 1.0)
    assert found.cosines["pets"] == pytest.approx(float(found.vectors["pets"] @ vector), abs=0.02)


def test_only_allowed_texts_are_near(meaning: TextMeaning) -> None:
    assert nearest(meaning, "feline food", allowed={"other", "long"})[0] != "pets"
    assert nearest(meaning, "feline food", allowed=set()) == []


def test_vectors_follow_the_text_and_are_read_by_another_process(
    meaning: TextMeaning, tmp_path: Path
) -> None:
    reader = TextMeaning(FolderSemantics(tmp_path), HERE)
    assert nearest(reader, "feline")[0] == "pets"
    changed = cut_passages("pets", "Pets", "linkers only")
    assert meaning.is_current("pets", cut_passages("pets", *TEXTS["pets"]))
    assert not meaning.is_current("pets", changed)
    meaning.synchronise("pets", changed)
    assert meaning.is_current("pets", changed)
    assert not meaning.is_current("pets", [])
    meaning.synchronise("long", [])
    assert reader.find_names() == {"pets", "other"}
    assert nearest(reader, "linkers")[0] in ("pets", "other")
    assert not nearest(TextMeaning(FolderSemantics(tmp_path), Partition("", "x", "y")), "cat")


def test_an_unchanged_passage_is_embedded_once(tmp_path: Path) -> None:
    semantics = FolderSemantics(tmp_path)
    meaning = TextMeaning(semantics, HERE)
    passages = cut_passages("long", *TEXTS["long"])
    while meaning.synchronise("long", passages, 2):
        pass
    assert sorted(semantics.embedder.embedded) == sorted(passage.text for passage in passages)
    meaning.synchronise("copy", cut_passages("copy", *TEXTS["long"]))
    assert len(semantics.embedder.embedded) == len(passages)


def test_one_process_embeds_at_a_time(meaning: TextMeaning, tmp_path: Path) -> None:
    other = TextMeaning(FolderSemantics(tmp_path), HERE)
    with meaning.embedding() as first, other.embedding() as second:
        assert (first, second) == (True, False)
    with other.embedding() as again:
        assert again
