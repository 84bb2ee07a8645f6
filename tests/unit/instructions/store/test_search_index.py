"""Search index: every change is found by the next search."""

from __future__ import annotations

from pathlib import Path

from catalogue_helpers import CALLER, add, ids_of, open_service

from commonplace.instructions.engine.catalogue import INSERT_LIMIT
from commonplace.instructions.store.search_index import MAX_PENDING
from commonplace.instructions.use_cases.removing import RemovalOptions
from commonplace.instructions.use_cases.search.finding import CatalogueQuestion


def test_changes_are_found_at_once_and_listed_in_order(tmp_path: Path) -> None:
    service = open_service(tmp_path)

    def found(query: str, limit: int = 10) -> list[str]:
        matches = service.search(CALLER, CatalogueQuestion(query, limit))
        assert matches.total == len(matches.items)
        return [str(item["id"]) for item in matches.items]

    add(service, "m", "an octopus")
    service.prepare_search()
    for count in (1, 3, 2 * MAX_PENDING, 2 * INSERT_LIMIT):
        ids = [f"n{count}-{number:03}" for number in range(count)]
        for id_ in reversed(ids):
            add(service, id_, f"a walrus of {count}")
        assert len(found(f"walrus {count}", 1000)) == count
        assert ids_of(service) == sorted(["m", *ids])
        add(service, ids[0], "a heron")
        assert ids[0] in found("heron")
        service.remove(CALLER, ids, RemovalOptions(confirm=True))
        assert found("walrus") == found("heron") == []
    assert found("octopus") == ["m"]
