"""Search of the catalogue by meaning: vectors in the background, fallbacks, filters, views."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from catalogue_helpers import CALLER, add, add_entry

from commonplace.instructions.assembly import build_service
from commonplace.instructions.engine.query import CatalogueFilters
from commonplace.instructions.results.reading import CatalogueMatches
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.use_cases.search.finding import CatalogueQuestion
from commonplace.kernel.settings import GovernanceSettings, InstructionsSettings
from meaning_words import FolderSemantics

BOUND_SECONDS = 20.0


def open_catalogue(home: Path, semantics: FolderSemantics | None) -> InstructionsService:
    return build_service(
        home / "in",
        home,
        InstructionsSettings(watch=False),
        governance=GovernanceSettings(restrict_reads=True),
        mutation_enabled=lambda: True,
        semantics=lambda: semantics,
    )


@pytest.fixture
def semantics(tmp_path: Path) -> FolderSemantics:
    return FolderSemantics(tmp_path / "vectors")


@pytest.fixture
def service(tmp_path: Path, semantics: FolderSemantics) -> Iterator[InstructionsService]:
    service = open_catalogue(tmp_path, semantics)
    add(service, "pets", "Feed every cat twice.")
    add(service, "build", "Compile with warnings as errors.")
    service.prepare_search()
    yield service
    service.close()


def ask(service: InstructionsService, query: str, **filters: object) -> CatalogueMatches:
    question = CatalogueQuestion(
        query,
        10,
        filters=CatalogueFilters(**filters),  # type: ignore[arg-type]
    )
    return asyncio.run(service.search_by_meaning(CALLER, question))


def ids(found: CatalogueMatches) -> list[str]:
    return [str(item["id"]) for item in found.items]


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + BOUND_SECONDS
    while not holds():
        assert time.monotonic() < end, "not within the bound"
        time.sleep(0.01)


def test_a_rule_is_found_by_meaning_once_its_vectors_are_made(
    service: InstructionsService, semantics: FolderSemantics
) -> None:
    assert ids(ask(service, "feline")) == []
    assert semantics.embedder.embedded == []
    service.meaning.prepare()
    wait_until(lambda: ids(ask(service, "feline twice"))[:1] == ["pets"])
    wait_until(lambda: ids(ask(service, "feline"))[:1] == ["pets"])
    add(service, "dogs", "Walk the dog.")
    wait_until(lambda: ids(ask(service, "canine"))[:1] == ["dogs"])
    add(service, "dogs", "Nothing else.")
    wait_until(lambda: ids(ask(service, "canine"))[:1] != ["dogs"])


def test_a_catalogue_that_is_never_searched_embeds_nothing(
    tmp_path: Path, semantics: FolderSemantics
) -> None:
    service = open_catalogue(tmp_path, semantics)
    add(service, "pets", "Feed every cat.")
    service.get(CALLER, "pets")
    service.close()
    assert semantics.embedder.embedded == []
    assert not (tmp_path / "vectors").exists()


def test_words_answer_while_the_model_fails_and_the_reason_is_said(
    service: InstructionsService, semantics: FolderSemantics
) -> None:
    semantics.embedder.failure = "the model is broken"
    service.meaning.prepare()
    found = ask(service, "cat")
    assert ids(found) == ["pets"]
    assert found.note is not None
    assert "the model is broken" in found.note


def test_vectors_are_kept_and_a_second_process_embeds_nothing(
    service: InstructionsService, semantics: FolderSemantics, tmp_path: Path
) -> None:
    assert service.meaning.embed_now() == 2
    assert service.meaning.embed_now() == 0
    again = FolderSemantics(tmp_path / "vectors")
    other = open_catalogue(tmp_path, again)
    other.prepare_search()
    other.meaning.prepare()
    assert ids(ask(other, "feline"))[:1] == ["pets"]
    other.close()
    assert again.embedder.embedded == []


def test_vectors_of_a_removed_rule_are_dropped(
    service: InstructionsService, semantics: FolderSemantics, tmp_path: Path
) -> None:
    service.meaning.embed_now()
    (tmp_path / "in" / "pets.json").unlink()
    service.reload(CALLER)
    service.meaning.embed_now()
    assert service.meaning.usable is not None
    assert service.meaning.usable.find_names() == {"build"}


def test_filters_hold_for_meaning_and_deprecated_rules_are_last(
    service: InstructionsService,
) -> None:
    add_entry(service, {"id": "old", "body": "Feed every kitten.", "status": "deprecated"})
    add_entry(service, {"id": "idea", "body": "Feed every kitten.", "status": "draft"})
    service.meaning.embed_now()
    assert ids(ask(service, "feline feed every"))[:2] == ["pets", "idea"]
    assert ids(ask(service, "feline feed every"))[-1] == "old"
    assert ids(ask(service, "feline", status=["draft"])) == ["idea"]


def test_restricted_rules_are_not_near_for_callers_who_may_not_read_them(
    service: InstructionsService,
) -> None:
    add_entry(service, {"id": "secret", "body": "The cat code.", "classification": "restricted"})
    service.meaning.embed_now()
    outsider = replace(CALLER, may_read=frozenset())
    question = CatalogueQuestion("feline code", 10)
    seen = asyncio.run(service.search_by_meaning(outsider, question))
    assert (ids(seen), seen.total) == (["pets"], 1)
    assert "secret" in ids(asyncio.run(service.search_by_meaning(CALLER, question)))
