"""`commonplace models`: choices, costs and errors, as a person sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import run, run_json

from commonplace.cli import main
from commonplace.search.semantic.embed import ModelDescription
from commonplace.search.semantic.models.chosen_model import AUTO, read_choice, resolve
from commonplace.search.semantic.models.model_catalogue import (
    CHOICES,
    DEFAULT_MODEL,
    MINILM,
    PINNED,
)
from tiny_model import tiny_model

Out = pytest.CaptureFixture[str]


@pytest.fixture
def models(clean_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_MODELS", str(clean_home / "models"))
    tiny_model(clean_home / "tiny")
    return clean_home / "models"


def refused(capsys: Out, *arguments: str) -> str:
    """Run a command that must fail; return what it printed, on one line."""
    capsys.readouterr()
    assert main(arguments) != 0
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


def test_a_folder_is_installed_used_and_listed(models: Path, capsys: Out) -> None:
    source = str(models.parent / "tiny")
    installed = run_json(capsys, "models", "install", "--folder", source)
    assert (installed["name"], read_choice(models)) == ("tiny", "tiny")
    listed = run_json(capsys, "models", "list")
    assert listed["in_use"] == "tiny"
    assert [offer["name"] for offer in listed["available"]] == list(CHOICES)
    for offer in listed["available"]:
        assert offer["licence"]
        assert offer["provenance"]
        assert min(offer["seconds_per_1000"], offer["disk_mb"], offer["rss_mb"]) > 0
    assert "in use" in run(capsys, "models", "list")


def test_a_folder_may_be_installed_without_using_it(models: Path, capsys: Out) -> None:
    source = str(models.parent / "tiny")
    run(capsys, "models", "install", "--folder", source, "--name", "other", "--no-use")
    assert read_choice(models) is None
    assert run_json(capsys, "models", "use", "other")["name"] == "other"
    assert read_choice(models) == "other"


def test_errors_say_what_to_do_next(models: Path, capsys: Out) -> None:
    missing = refused(capsys, "models", "use", "multilingual")
    assert "commonplace models install multilingual" in missing
    unknown = refused(capsys, "models", "install", "enormous")
    assert "Choose one of default, quality, multilingual" in unknown


def test_licence_origin_and_cost_are_shown_before_a_wheel_is_refused(
    models: Path, capsys: Out
) -> None:
    wheel = models.parent / "x.whl"
    wheel.write_bytes(b"not a wheel")
    shown = refused(capsys, "models", "install", "quality", "--wheel", str(wheel))
    assert "pinned SHA-256" in shown
    for model in (PINNED[name] for name in CHOICES["quality"].models):
        for fact in (model.licence, model.author, model.wheel.project, model.wheel.sha256):
            assert fact in shown
        assert f"{model.disk_mb} MB on disk" in shown
    assert not (models / MINILM).exists()


def test_the_model_in_use_is_the_configured_the_chosen_or_the_default(models: Path) -> None:
    assert resolve(models) == DEFAULT_MODEL
    assert resolve(models, "quality") == "quality"
    assert resolve(models, "multilingual") == "multilingual-e5-small"
    models.mkdir()
    (models / "in-use").write_text("mine\n")
    assert resolve(models, AUTO) == "mine"
    assert resolve(models, "theirs") == "theirs"
    for hostile in ("../up", "", "a/b", "x" * 200):
        (models / "in-use").write_text(hostile)
        assert resolve(models) == DEFAULT_MODEL


def test_a_model_that_an_older_version_installed_is_still_read(models: Path) -> None:
    folder = models / MINILM
    folder.mkdir(parents=True)
    description = {
        "name": MINILM,
        "identity": f"{MINILM}/int8/a7110beac712",
        "dimensions": 384,
        "max_tokens": 256,
        "precision": "int8",
        "source": "wheel",
        "licence": "Apache-2.0",
        "files": {},
        "language": "en",
    }
    (folder / "model.json").write_text(json.dumps(description))
    found = ModelDescription.read(folder)
    assert (found.identity, found.parts, found.query_prefix) == (description["identity"], (), "")
    assert resolve(models) == MINILM
