"""Every extra alone: the built wheel in a fresh environment starts and does its basic thing."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conformance import program
from conformance.program import environment
from model_client import Caller, configure, external_models, until

from commonplace.kernel.config.loading import load
from model_server import ModelServer
from servers import free_port

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "data" / "capture" / "transcripts"
TRANSCRIPT = (SAMPLES / "05-migrations-order.jsonl").read_text("utf-8")
KEY = "sk-alpha-0123456789abcdefghij"
TIMEOUT_SECONDS = 300


def uv(*arguments: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "uv", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that installs the wheel with an extra and returns its command."""
    folder = tmp_path_factory.mktemp("extras")
    build = ("build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable)
    uv(*build, "-o", folder / "dist", ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")

    @cache
    def installed(extra: str) -> Path:
        place = folder / (extra or "none")
        uv("venv", "--quiet", "--python", sys.executable, place)
        wanted = f"commonplace{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}"
        pins = ROOT / "requirements" / "serve.txt"
        uv("pip", "install", "--quiet", "--python", place / "bin/python", "-c", pins, wanted)
        return place / "bin" / "commonplace"

    return installed


def run(command: Path, data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    data.mkdir(exist_ok=True)
    return subprocess.run(
        [str(command), *arguments],
        env=environment(data, {"PYTHONPATH": ""}),
        cwd=data,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )


class Installed:
    """A server of an installed command."""

    def __init__(self, command: Path, data: Path, **extra: str) -> None:
        data.mkdir(exist_ok=True)
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}/mcp"
        self._errors = data / "stderr.txt"
        with self._errors.open("wb") as stderr:
            self._process = subprocess.Popen(
                [str(command), "serve", "--http", self.address],
                env=environment(data, {"PYTHONPATH": "", **extra}),
                cwd=data,
                stdin=subprocess.DEVNULL,
                stderr=stderr,
            )
        give_up = time.monotonic() + program.START_SECONDS
        while not self._answers():
            assert self._process.poll() is None, self._errors.read_text()
            assert time.monotonic() < give_up, self._errors.read_text()
            time.sleep(0.05)

    def get(self, path: str) -> tuple[int, bytes]:
        link = http.client.HTTPConnection(self.address, timeout=30)
        link.request("GET", path)
        answer = link.getresponse()
        body = answer.read()
        link.close()
        return answer.status, body

    def _answers(self) -> bool:
        try:
            return self.get("/healthz")[0] == 200
        except OSError:
            return False

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait(30)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def write_and_search(url: str, *, mode: str, **key: Any) -> None:
    caller = Caller(url, **key)
    caller.call("file_write", path="/pets.md", content="The kitten sleeps on the sofa.")
    caller.settled()
    until(lambda: caller.call("file_search", query="kitten sofa")["mode"] == mode)
    assert caller.found("kitten sofa") == ["/pets.md"]
    added = caller.call("rekall_add", type="bug", title="A walrus", content="It sings.")
    assert added["id"]


def test_without_extras_words_are_searched_on_sqlite(
    install: Callable[[str], Path], tmp_path: Path
) -> None:
    command = install("")
    assert run(command, tmp_path, "--version").stdout.startswith("commonplace ")
    assert run(command, tmp_path, "doctor").returncode == 0
    with Installed(command, tmp_path) as server:
        write_and_search(server.url, mode="lexical")
        assert server.get("/console")[0] == 404


@pytest.mark.parametrize("extra", ["", "code"])
def test_the_extra_code_gives_files_their_structure(
    install: Callable[[str], Path], tmp_path: Path, extra: str
) -> None:
    source = "class Session:\n    def send(self):\n        return 1\n"
    (tmp_path / "client.py").write_text(source)
    command = install(extra)
    put = run(command, tmp_path, "files", "put", "/client.py", "client.py", "--project", "p")
    assert put.returncode == 0, put.stderr
    found = run(command, tmp_path, "files", "search", "session send", "-p", "p", "--json")
    assert json.loads(found.stdout)["chunks"][0]["chunk_content"] == source
    symbols = run(command, tmp_path, "files", "symbols", "Session.send", "-p", "p", "--json")
    lines = [entry["line"] for entry in json.loads(symbols.stdout)["symbols"]]
    assert lines == ([2] if extra else [])
    doctor = run(command, tmp_path, "doctor")
    if extra:
        assert "the grammars of all languages are installed" in doctor.stdout
    else:
        assert "pip install 'commonplace[code]'" in " ".join(doctor.stdout.split())
        status = json.loads(run(command, tmp_path, "files", "status", "--json").stdout)
        assert "python" in status["missing_grammars"]
        assert (status["dead"], status["pending"], status["symbols"]) == (0, 0, 0)


@pytest.mark.parametrize(
    "arguments",
    [["migrate"], ["serve"], ["serve", "--http", "127.0.0.1:0"], ["worker"], ["files", "projects"]],
    ids=" ".join,
)
def test_a_postgresql_address_without_the_extra_is_a_sentence(
    install: Callable[[str], Path], tmp_path: Path, arguments: list[str]
) -> None:
    configure(tmp_path, {}, storage={"url": "postgresql://user:hunter2@127.0.0.1:1/x"})
    done = run(install(""), tmp_path, *arguments)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "pip install 'commonplace[scale]'" in done.stderr
    assert "hunter2" not in done.stderr + done.stdout


def test_doctor_names_the_missing_extra(install: Callable[[str], Path], tmp_path: Path) -> None:
    configure(tmp_path, {}, storage={"url": "postgresql://user:hunter2@127.0.0.1:1/x"})
    checks = json.loads(run(install(""), tmp_path, "doctor", "--json").stdout)["checks"]
    failed = [check for check in checks if check["status"] == "fail"]
    assert failed
    assert {check["fix"].removeprefix("Run: ") for check in failed} == {
        "pip install 'commonplace[scale]'"
    }


def test_the_extra_scale_alone_serves_a_team_with_an_external_model(
    install: Callable[[str], Path],
    empty_postgres: str,
    valkey_url: str,
    model: ModelServer,
    tmp_path: Path,
) -> None:
    configure(
        tmp_path,
        external_models(model.url, rerank={"enabled": False}),
        storage={"url": empty_postgres, "cache_url": valkey_url},
    )
    command = install("scale")
    for arguments in (["migrate"], ["migrate", "--check"], ["doctor"]):
        done = run(command, tmp_path, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    with Installed(command, tmp_path) as server:
        write_and_search(server.url, mode="hybrid", model_key=KEY)
        use_knowledge(server.url)
    alone = tmp_path / "alone"
    with Installed(command, alone) as server:  # SQLite, before the team had a database
        use_knowledge(server.url)
    done = run(command, tmp_path, "migrate", "--from", str(alone))
    assert done.returncode == 0, done.stdout + done.stderr


def use_knowledge(url: str) -> None:
    """Use lessons with anchors, context, feedback, hooks and capture."""
    caller = Caller(url)
    caller.call("file_write", path="/src/store.py", content="class Store:\n    pass\n")
    anchors = [{"path": "src/store.py", "lines": "1-2"}]
    entry = {"type": "bug", "title": "Locks wait", "content": "Set busy_timeout."}
    added = caller.call("rekall_add", **entry, anchors=anchors)
    assert "id" in added, added
    pack = caller.ask("context", task="locks wait")
    ref = f"memory:{added['id']}"
    told = caller.ask("context_feedback", pack_id=pack["pack_id"], used=[ref])
    assert told["counted"] == [ref]
    queued = caller.ask("capture_transcript", text=TRANSCRIPT)["queued"]
    assert len(caller.ask("capture_list")["items"]) == len(queued) > 0
    assert caller.ask("memory_promote", entries=[added["id"]])["preview_hash"]
    assert "error" not in caller.ask("memory_purge", older_than_days=30, dry_run=True)


def test_the_extra_scale_alone_uses_an_external_model_on_one_machine(
    install: Callable[[str], Path], model: ModelServer, tmp_path: Path
) -> None:
    configure(tmp_path, external_models(model.url, rerank={"enabled": False}))
    with Installed(install("scale"), tmp_path) as server:
        write_and_search(server.url, mode="hybrid", model_key=KEY)


def test_the_extra_embeddings_alone_searches_by_meaning(
    install: Callable[[str], Path], tmp_path: Path
) -> None:
    models = load().settings.models_directory  # `make test` has installed the model there
    with Installed(install("embeddings"), tmp_path, COMMONPLACE_MODELS=str(models)) as server:
        write_and_search(server.url, mode="hybrid")


def test_the_extra_console_alone_serves_its_page(
    install: Callable[[str], Path], tmp_path: Path
) -> None:
    with Installed(install("console"), tmp_path) as server:
        assert server.get("/console/login")[0] in (200, 303)
        write_and_search(server.url, mode="lexical")
