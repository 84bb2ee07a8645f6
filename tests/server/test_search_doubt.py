"""The note "probably nothing here answers" appears only for calibrated scores."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.program import ROOT, environment, serve_http
from model_client import Caller, configure, external_models

from model_server import ModelServer, Request

DOUBT = "probably nothing here answers"
KEY = "sk-alpha-0123456789abcdefghij"
QUESTION = "what should I do if another process holds the lock"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def documented(page: str, beginning: str) -> list[str]:
    """The commands of a page that begin so, without the prompt."""
    return re.findall(rf"^\$ ({beginning}.*)$", (ROOT / page).read_text(), re.MULTILINE)


def run(command: str, folder: Path) -> tuple[str, str]:
    settings = {
        **environment(folder / "home"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=settings,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("with_model", "least"), [(True, 0.1), (False, 0.03)], ids=["with the model", "by words alone"]
)
@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/first-steps.md"])
def test_the_documented_search_example_raises_no_doubt(
    page: str, with_model: bool, least: float, tmp_path: Path
) -> None:
    (note,) = documented("docs/tutorial/first-steps.md", "printf 'When SQLite")
    (put,) = documented(page, "commonplace files put")
    (search,) = documented(page, "commonplace files search")
    assert QUESTION in search
    for command in (*(["commonplace models install"] if with_model else []), note, put):
        run(command, tmp_path)
    found, told = run(search, tmp_path)
    score, place = found.split()[:2]
    assert place == "/notes/locks.md:1"
    assert float(score) >= least
    assert DOUBT not in told
    assert ("ranked by words alone" in told) is not with_model
    strange, refused = run(
        search.replace(QUESTION, "a recipe for sourdough bread that rises again"), tmp_path
    )
    assert not strange or float(strange.split()[0]) < least / 2
    assert DOUBT in refused or "nothing found" in refused


def test_reranked_scores_are_not_compared_with_the_threshold_of_fused_ones(
    model: ModelServer, tmp_path: Path
) -> None:
    """The finding: a best rerank score of 0.143 stood beside "no hit reaches a score of 0.025"."""
    settings = external_models(model.url)
    settings["search"]["embedding"] = {"provider": "off"}
    configure(tmp_path, settings)

    def lukewarm(request: Request) -> tuple[int, bytes] | None:
        if not request.path.endswith("/rerank"):
            return None
        rows = [
            {"index": at, "relevance_score": 0.143 / (at + 1)}
            for at in range(len(request.body["documents"]))
        ]
        return 200, json.dumps({"results": rows[: request.body["top_n"]]}).encode()

    model.fault = lukewarm
    with serve_http(tmp_path) as served:
        plain, reranked = Caller(served.url), Caller(served.url, model_key=KEY)
        for number in range(40):
            plain.call(
                "file_write",
                path=f"/n{number}.md",
                content=f"note {number} about a lock and subject{number}",
            )
        plain.settled()
        fused = plain.call("file_search", query=QUESTION)
        assert fused["chunks"][0]["score"] < 0.025
        assert any(DOUBT in text for text in fused["notes"])
        answer = reranked.call("file_search", query=QUESTION)
        assert answer["mode"] == "lexical+rerank"
        assert answer["chunks"][0]["score"] == 0.143
        assert not any(DOUBT in text for text in answer.get("notes", []))


def test_an_external_model_with_an_unknown_scale_raises_no_doubt(
    model: ModelServer, tmp_path: Path
) -> None:
    settings = external_models(model.url)
    settings["search"]["rerank"] = {"enabled": False}
    configure(tmp_path, settings)
    with serve_http(tmp_path) as served:
        caller = Caller(served.url, model_key=KEY)
        for number in range(40):
            caller.call(
                "file_write",
                path=f"/n{number}.md",
                content=f"note {number} about a lock and subject{number}",
            )
        caller.settled()
        answer = caller.call("file_search", query="sourdough bread")
        assert answer["mode"] == "hybrid"
        assert not any(DOUBT in text for text in answer.get("notes", []))
