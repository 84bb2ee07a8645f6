"""Actions of two processes on one folder behave like a dictionary."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import orjson
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from commonplace.instructions.engine.groom import GroomMode
from commonplace.instructions.engine.hashing import normalise_body
from commonplace.instructions.engine.query import Sort
from commonplace.instructions.model import LOCAL_ACTOR
from commonplace.instructions.service import Service
from commonplace.instructions.usecases.governance import Governance
from commonplace.instructions.usecases.maintenance import Maintenance
from commonplace.instructions.usecases.restoring import Undo
from commonplace.instructions.usecases.writing import Writing
from commonplace.kernel.settings import InstructionsSettings

IDS = st.sampled_from(["a", "b", "c", "d", "e-1", "f.g"])
BODIES = st.sampled_from(
    ["One rule.", "Another rule", "Same text", "Same text  ", "Ünïcode\ttext", "x"]
)
CATEGORIES = st.lists(st.sampled_from(["Red", "green", "blue"]), max_size=3)
PROCESS = st.sampled_from([0, 1])


class Process:
    def __init__(self, home: Path) -> None:
        self.service = Service(
            home / "instructions",
            home,
            InstructionsSettings(watch=False),
            mutation_enabled=lambda: True,
        )
        self.writing = Writing(self.service)
        self.maintenance = Maintenance(self.service, self.writing)
        self.governance = Governance(self.service, self.writing)
        self.undo = Undo(self.service, self.writing)

    def add(self, entry: dict[str, Any], overwrite: bool) -> dict[str, Any]:
        return self.writing.add(entry, overwrite=overwrite, lax=True, actor=LOCAL_ACTOR)[0]


class Catalogue(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.processes = [Process(self.home), Process(self.home)]
        self.model: dict[str, dict[str, Any]] = {}
        self.removed: dict[str, dict[str, Any]] = {}

    def teardown(self) -> None:
        for process in self.processes:
            process.service.close()
        shutil.rmtree(self.home)

    @rule(who=PROCESS, id_=IDS, body=BODIES, categories=CATEGORIES, overwrite=st.booleans())
    def add(self, who: int, id_: str, body: str, categories: list[str], overwrite: bool) -> None:
        known = self.model.get(id_)
        answer = self.processes[who].add(
            {"id": id_, "body": body, "categories": categories}, overwrite
        )
        if known is not None and not overwrite:
            assert answer["skipped"]
            return
        assert answer["verified"]
        assert answer["created"] is (known is None)
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
        answer = self.processes[who].writing.remove(
            ids,
            confirm=False,
            cascade=False,
            missing_ok=False,
            expected_hash=None,
            actor=LOCAL_ACTOR,
        )
        gone = [id_ for id_ in dict.fromkeys(ids) if id_ in self.model]
        assert answer["removedIds"] == gone
        for id_ in gone:
            self.removed[id_] = self.model.pop(id_)

    @rule(who=PROCESS, id_=IDS)
    def restore_a_removed_one(self, who: int, id_: str) -> None:
        if id_ in self.removed and id_ not in self.model:
            self.processes[who].undo.restore(id_, None, expected_hash=None, actor=LOCAL_ACTOR)
            self.model[id_] = self.removed[id_]

    @rule(who=PROCESS, id_=IDS, owner=st.sampled_from(["ann", "bob"]))
    def give_an_owner(self, who: int, id_: str, owner: str) -> None:
        answer = self.processes[who].governance.update(
            id_, {"owner": owner}, bump_part="none", expected_hash=None, actor=LOCAL_ACTOR
        )
        if id_ in self.model:
            self.model[id_]["owner"] = owner
        else:
            assert answer["notFound"]

    @rule(
        who=PROCESS,
        entries=st.lists(st.tuples(IDS, BODIES), max_size=3),
        mode=st.sampled_from(["skip", "merge"]),
    )
    def import_some(self, who: int, entries: list[tuple[str, str]], mode: str) -> None:
        given = [{"id": id_, "body": body} for id_, body in entries]
        self.processes[who].writing.import_entries(
            given, mode=mode, validate=True, batch_size=None, expected_hash=None, actor=LOCAL_ACTOR
        )
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
    def groom_and_repair_change_nothing_that_is_sound(self, who: int) -> None:
        answer = self.processes[who].maintenance.groom(GroomMode(), None, LOCAL_ACTOR)
        assert (answer["filesRewritten"], answer["hash"]) == (0, answer["previousHash"])
        assert (
            self.processes[who].maintenance.repair(None, None, None, LOCAL_ACTOR)["repaired"] == 0
        )

    @rule(who=PROCESS)
    def start_again(self, who: int) -> None:
        self.processes[who].service.close()
        self.processes[who] = Process(self.home)

    @rule(who=PROCESS)
    def reload(self, who: int) -> None:
        assert self.processes[who].maintenance.reload()["count"] == len(self.model)

    @rule(who=PROCESS, query=st.sampled_from(["rule", "same text", "nother r", "text"]))
    def search(self, who: int, query: str) -> None:
        service = self.processes[who].service
        service.prepare_search()
        found = {item["id"] for item in service.search(query, 100, False)["items"]}
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
            listing = process.service.list_entries(None, None, 0, None)
            shown = {
                item["id"]: {
                    name: item[name] for name in ("body", "categories", "version", "owner")
                }
                for item in listing["items"]
            }
            assert shown == self.model
            assert listing["count"] == len(self.model)
            for item in listing["items"]:
                assert item["sourceHash"] == hashlib.sha256(item["body"].encode()).hexdigest()
            for category in ("red", "uncategorized"):
                expected = sorted(
                    id_ for id_, entry in self.model.items() if category in entry["categories"]
                )
                queried = process.service.query(
                    {"categories": [category]}, Sort("priority", True), 100, None, 0
                )
                assert sorted(item["id"] for item in queried["items"]) == expected
            hashes.add((listing["hash"], process.service.governance_hash(False)["governanceHash"]))
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
