"""Actions of two processes on one folder behave like a dictionary."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import orjson
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from commonplace.instructions.assembly import build_service
from commonplace.instructions.engine.groom import GroomMode
from commonplace.instructions.engine.hashing import normalise_body
from commonplace.instructions.engine.query import CatalogueFilters, CatalogueOrder
from commonplace.instructions.results.writing import WriteResult
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.use_cases.importing import EntryImportOptions
from commonplace.instructions.use_cases.removing import RemovalOptions
from commonplace.instructions.use_cases.search.finding import CatalogueQuestion
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import InstructionsSettings

CALLER = local_user()
IDS = st.sampled_from(["a", "b", "c", "d", "e-1", "f.g"])
BODIES = st.sampled_from(
    ["One rule.", "Another rule", "Same text", "Same text  ", "Ünïcode\ttext", "x"]
)
CATEGORIES = st.lists(st.sampled_from(["Red", "green", "blue"]), max_size=3)
PROCESS = st.sampled_from([0, 1])


def open_service(home: Path) -> InstructionsService:
    return build_service(
        home / "instructions",
        home,
        InstructionsSettings(watch=False),
        mutation_enabled=lambda: True,
    )


class Catalogue(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.processes = [open_service(self.home), open_service(self.home)]
        self.model: dict[str, dict[str, Any]] = {}
        self.removed: dict[str, dict[str, Any]] = {}

    def teardown(self) -> None:
        for process in self.processes:
            process.close()
        shutil.rmtree(self.home)

    @rule(who=PROCESS, id_=IDS, body=BODIES, categories=CATEGORIES, overwrite=st.booleans())
    def add(self, who: int, id_: str, body: str, categories: list[str], overwrite: bool) -> None:
        known = self.model.get(id_)
        entry = {"id": id_, "body": body, "categories": categories}
        result = asyncio.run(self.processes[who].add(CALLER, entry, overwrite=overwrite, lax=True))
        assert isinstance(result, WriteResult)
        if known is not None and not overwrite:
            assert result.skipped
            return
        assert result.verify_issues == ()
        assert result.created is (known is None)
        version = "1.0.0"
        if known is not None:
            version = known["version"]
            if known["body"] != normalise_body(body):
                major, minor, patch = version.split(".")
                version = f"{major}.{minor}.{int(patch) + 1}"
        self.model[id_] = {
            "body": normalise_body(body),
            "categories": sorted({category.lower() for category in categories})
            or ["uncategorized"],
            "version": version,
            "owner": known["owner"] if known else "unowned",
        }

    @rule(who=PROCESS, ids=st.lists(IDS, max_size=3))
    def remove(self, who: int, ids: list[str]) -> None:
        if not ids:
            return
        result = self.processes[who].remove(CALLER, ids, RemovalOptions())
        present = [id_ for id_ in dict.fromkeys(ids) if id_ in self.model]
        assert result.removed == present
        for id_ in present:
            self.removed[id_] = self.model.pop(id_)

    @rule(who=PROCESS, id_=IDS)
    def restore_a_removed_instruction(self, who: int, id_: str) -> None:
        if id_ in self.removed and id_ not in self.model:
            self.processes[who].restore(CALLER, id_)
            self.model[id_] = self.removed[id_]

    @rule(who=PROCESS, id_=IDS, owner=st.sampled_from(["ann", "bob"]))
    def give_an_owner(self, who: int, id_: str, owner: str) -> None:
        update = self.processes[who].update_governance(CALLER, id_, {"owner": owner})
        if id_ in self.model:
            self.model[id_]["owner"] = owner
        else:
            assert update is None

    @rule(
        who=PROCESS,
        entries=st.lists(st.tuples(IDS, BODIES), max_size=3),
        mode=st.sampled_from(["skip", "merge"]),
    )
    def import_some(self, who: int, entries: list[tuple[str, str]], mode: str) -> None:
        given = [{"id": id_, "body": body} for id_, body in entries]
        self.processes[who].import_entries(CALLER, given, EntryImportOptions(mode))
        for id_, body in entries:
            known = self.model.get(id_)
            if known is None:
                self.model[id_] = {
                    "body": normalise_body(body),
                    "categories": ["uncategorized"],
                    "version": "1.0.0",
                    "owner": "unowned",
                }
            elif mode == "merge":
                if known["body"] != normalise_body(body):
                    major, minor, patch = known["version"].split(".")
                    known["version"] = f"{major}.{minor}.{int(patch) + 1}"
                known["body"] = normalise_body(body)

    @rule(who=PROCESS)
    def groom_and_repair_leave_a_sound_catalogue_unchanged(self, who: int) -> None:
        result = self.processes[who].groom(CALLER, GroomMode())
        assert (result.files_rewritten, result.catalogue_hash) == (0, result.previous_hash)
        assert self.processes[who].repair(CALLER).updated == []

    @rule(who=PROCESS)
    def start_again(self, who: int) -> None:
        self.processes[who].close()
        self.processes[who] = open_service(self.home)

    @rule(who=PROCESS)
    def reload(self, who: int) -> None:
        assert self.processes[who].reload(CALLER).count == len(self.model)

    @rule(who=PROCESS, query=st.sampled_from(["rule", "same text", "nother r", "text"]))
    def search(self, who: int, query: str) -> None:
        service = self.processes[who]
        service.prepare_search()
        found = {item["id"] for item in service.search(CALLER, CatalogueQuestion(query, 100)).items}
        assert (
            {id_ for id_, entry in self.model.items() if query in entry["body"].lower()}
            <= found
            <= self.model.keys()
        )

    @invariant()
    def both_processes_show_the_model(self) -> None:
        if not hasattr(self, "processes"):
            return
        hashes = set()
        for process in self.processes:
            listing = process.list_entries(CALLER)
            shown = {
                item["id"]: {
                    name: item[name] for name in ("body", "categories", "version", "owner")
                }
                for item in listing.items
            }
            assert shown == self.model
            assert listing.total == len(self.model)
            for item in listing.items:
                assert item["sourceHash"] == hashlib.sha256(item["body"].encode()).hexdigest()
            for category in ("red", "uncategorized"):
                expected = sorted(
                    id_ for id_, entry in self.model.items() if category in entry["categories"]
                )
                queried = process.query(
                    CALLER,
                    CatalogueFilters(categories=[category]),
                    order=CatalogueOrder("priority", True),
                    limit=100,
                )
                assert sorted(item["id"] for item in queried.items) == expected
            hashes.add((listing.catalogue_hash, process.governance_hash(CALLER).digest))
        assert len(hashes) == 1
        files = {
            path.stem: orjson.loads(path.read_bytes())["body"]
            for path in (self.home / "instructions").glob("*.json")
        }
        assert files == {id_: entry["body"] for id_, entry in self.model.items()}


TestCatalogue = Catalogue.TestCase
TestCatalogue.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
