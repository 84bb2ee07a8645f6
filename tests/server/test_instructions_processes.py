"""Several servers on one folder, killed servers, and folders that change under a server."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from instruction_server import Server


def until(condition: Callable[[], bool], seconds: float) -> float:
    """Seconds until a condition holds; fails past the bound."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "the condition did not come to hold"
        time.sleep(0.01)
    return time.monotonic() - begun


def check_folder(folder: Path, acknowledged: dict[str, str]) -> None:
    """Nothing acknowledged is lost, no file is torn, no temporary file is served, every hash
    fits.
    """
    for path in folder.glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        assert document["id"] == path.stem
        assert document["sourceHash"] == hashlib.sha256(document["body"].encode()).hexdigest()
    for id_, body in acknowledged.items():
        assert json.loads((folder / f"{id_}.json").read_text(encoding="utf-8"))["body"] == body


def test_acknowledged_writes_survive_a_killed_server(
    tmp_path: Path, soak: bool, record_property: Callable[[str, object], None]
) -> None:
    answered = 0
    chance = random.Random(7)
    acknowledged: dict[str, str] = {}
    possible: dict[str, set[str]] = {}
    for round_number in range(500 if soak else 20):
        latest: dict[
            str, int
        ] = {}  # writes of one id are applied in order; their answers may overtake each other
        server = Server(tmp_path)
        first = f"round {round_number} begins"
        server.add(
            "k0", first
        )  # so that every round has something to lose, however slow the machine is
        acknowledged["k0"] = first
        possible.setdefault("k0", set()).add(first)
        waiting: dict[int, tuple[str, str]] = {}
        after = chance.uniform(0.0, 0.12)
        killer = threading.Timer(after, server.kill)
        killer.start()
        try:
            for number in range(400):
                id_, body = (
                    f"k{chance.randrange(40)}",
                    f"round {round_number} write {number} " + "x" * chance.randrange(1, 3000),
                )
                possible.setdefault(id_, set()).add(body)
                waiting[
                    server.send(
                        "instructions/add",
                        entry={"id": id_, "body": body},
                        lax=True,
                        overwrite=True,
                    )
                ] = (id_, body)
                if chance.random() < 0.7:
                    while waiting:
                        answer = server.receive()
                        if answer is None:
                            raise BrokenPipeError
                        done, text = waiting.pop(answer["id"])
                        assert answer["result"]["verified"]
                        answered += 1
                        if answer["id"] > latest.get(done, -1):
                            latest[done] = answer["id"]
                            acknowledged[done] = text
        except (BrokenPipeError, ConnectionResetError):
            pass
        killer.join()
        server.kill()
        uncertain = {
            id_ for id_, _ in waiting.values()
        }  # sent, never answered: either state is right
        for id_ in uncertain:
            path = server.folder / f"{id_}.json"
            if path.exists():
                stored = json.loads(path.read_text(encoding="utf-8"))["body"]
                assert stored in possible[id_]
                acknowledged[id_] = stored
            else:
                assert id_ not in acknowledged
        check_folder(server.folder, acknowledged)
    record_property("writes_acknowledged", answered)
    with Server(tmp_path) as server:
        assert server.call("instructions/list")["count"] == len(acknowledged)
        assert server.call("integrity/verify")["issueCount"] == 0
        for id_, body in acknowledged.items():
            assert server.call("instructions/get", id=id_)["item"]["body"] == body


def test_two_processes_write_into_one_folder_and_agree(
    tmp_path: Path, soak: bool, record_property: Callable[[str, object], None]
) -> None:
    each = 1000 if soak else 150
    folder = tmp_path / "shared"
    folder.mkdir()
    homes = tmp_path / "one", tmp_path / "two"
    for home in homes:  # without file events: only the journal can tell
        home.mkdir()
        (home / "blind.yaml").write_text("settings: {mcp: {instructions: {watch: false}}}\n")
    with (
        Server(homes[0], folder, config=homes[0] / "blind.yaml") as one,
        Server(homes[1], folder, config=homes[1] / "blind.yaml") as two,
    ):

        def write(server: Server, name: str) -> None:
            for number in range(each):
                assert server.add(f"{name}-{number}", f"{name} wrote {number}")["created"]

        writers = [threading.Thread(target=write, args=pair) for pair in ((one, "a"), (two, "b"))]
        begun = time.monotonic()
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        record_property("seconds_for_all_writes", round(time.monotonic() - begun, 2))
        first, second = (
            one.call("instructions/list", limit=1),
            two.call("instructions/list", limit=1),
        )
        assert first["count"] == second["count"] == 2 * each
        assert first["hash"] == second["hash"]
        governance = "instructions/governanceHash"
        assert one.call(governance) == two.call(governance)
        one.add("a-0", "changed by one")
        assert two.call("instructions/get", id="a-0")["item"]["body"] == "changed by one"
        assert two.call("instructions/search", q="changed by one")["count"] == 1
        two.call("instructions/remove", ids=["a-0"])
        assert one.call("instructions/get", id="a-0")["notFound"]
        assert one.call("instructions/search", q="changed by one")["count"] == 0


@pytest.mark.parametrize("begun", ["+\na\n.", "a\n"], ids=["now", "by-an-earlier-release"])
def test_a_crash_between_file_and_journal_hides_no_entry(tmp_path: Path, begun: str) -> None:
    folder = tmp_path / "shared"
    with Server(tmp_path / "one", folder) as one:
        one.add("a", "first")
        two = Server(tmp_path / "two", folder)
        two.call("instructions/list")
        state = next(tmp_path.glob(".shared.commonplace"))
        one.kill()
        (state / "lock").write_text(begun)  # what the dead one was about to change
        document = json.loads((folder / "a.json").read_text())
        (folder / "a.json").write_text(json.dumps({**document, "body": "second"}))
        two.add("b", "another")
        assert two.call("instructions/get", id="a")["item"]["body"] == "second"
        assert (state / "lock").read_text().startswith("-")
        two.close()


def test_manual_and_git_edits_are_noticed(
    tmp_path: Path, soak: bool, record_property: Callable[[str, object], None]
) -> None:
    files = 2000 if soak else 400
    folder = tmp_path / "instructions"
    folder.mkdir()

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.fsync=none")
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for version in ("one", "two"):
        for number in range(files):
            (folder / f"g{number}.json").write_text(
                json.dumps({"id": f"g{number}", "body": f"edition{version} of {number}"})
            )
        git("add", "-A")
        git("commit", "-q", "-m", version)
        git("tag", version)
    with Server(tmp_path) as server:
        assert server.call("instructions/search", q="editiontwo", limit=1)["count"] == files
        hash_two = server.call("instructions/list", limit=1)["hash"]
        git("checkout", "-q", "one")
        seconds = until(
            lambda: server.call("instructions/search", q="editionone", limit=1)["count"] == files,
            20,
        )
        record_property("seconds_until_served", round(seconds, 3))
        assert server.call("instructions/search", q="editiontwo", limit=1)["count"] == 0
        git("checkout", "-q", "two")
        until(lambda: server.call("instructions/list", limit=1)["hash"] == hash_two, 20)
        (folder / "g0.json").unlink()
        until(lambda: server.call("instructions/get", id="g0").get("notFound", False), 20)
        (folder / "by-hand.json").write_text(
            json.dumps({"id": "by-hand", "body": "An editor wrote this."})
        )
        until(lambda: "item" in server.call("instructions/get", id="by-hand"), 20)
        (folder / "by-hand.json").write_text("{ half a fi")
        until(lambda: server.call("instructions/health")["status"] == "degraded", 20)
