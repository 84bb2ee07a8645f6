"""Graphs of encoders: pooling by the first token, RoBERTa's positions, smoothing, the centre."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commonplace.search.semantic.models.calibration import ModelCalibration, calibrate, shipped
from commonplace.search.semantic.models.embed_graph import FLOAT32, Recipe, Smoothing, build
from commonplace.search.semantic.models.model_catalogue import GRANITE
from commonplace.search.semantic.models.network import Array, Network, read_folder, read_shape
from tiny_model import HIDDEN, tiny_model

TOKENS = ([2, 40, 41, 3], [2, *range(10, 60), 3])


@pytest.fixture
def network(tmp_path: Path) -> Network:
    tiny_model(tmp_path / "tiny")
    return read_folder(tmp_path / "tiny")


def run(graph: bytes, tokens: list[int]) -> Array:
    import onnxruntime

    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    ids = np.array([tokens])
    found: Array = session.run(None, {"ids": ids, "mask": np.ones_like(ids)})[0]
    return found


def with_outliers(network: Network) -> Network:
    """Return the network with some channels far larger than the rest, as granite has them."""
    weights = dict(network.weights)
    for layer in range(network.shape.layers):
        name = f"encoder.layer.{layer}.intermediate.dense.bias"
        bias = weights[name].copy()
        bias[::16] = 200.0
        weights[name] = bias
    return Network(network.shape, weights)


def test_pooling_by_the_first_token_gives_one_vector_per_text(network: Network) -> None:
    cls = Network(replace(network.shape, pooling="cls"), network.weights)
    vectors = run(build(cls, FLOAT32), TOKENS[0])
    assert vectors.shape == (1, HIDDEN)
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)
    mean = run(build(network, FLOAT32), TOKENS[0])
    assert not np.allclose(vectors, mean, atol=1e-3)
    assert np.allclose(run(build(cls), TOKENS[0])[0], vectors[0], atol=0.1)


def test_positions_of_roberta_begin_after_the_padding_token(
    network: Network, tmp_path: Path
) -> None:
    folder = tmp_path / "tiny"
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps({**config, "model_type": "roberta", "pad_token_id": 1})
    )
    shape = read_shape(folder)
    assert (shape.position_offset, shape.max_tokens) == (2, shape.positions - 2)
    table = "embeddings.position_embeddings.weight"
    shifted = {**network.weights, table: np.roll(network.weights[table], 2, axis=0)}
    moved = run(build(Network(shape, shifted), FLOAT32), TOKENS[0])
    assert np.allclose(moved, run(build(network, FLOAT32), TOKENS[0]), atol=1e-5)


def test_smoothing_restores_what_large_activations_take_from_int8(network: Network) -> None:
    uneven = with_outliers(network)
    texts = ["a", "b"]
    found = calibrate(uneven, lambda text: TOKENS[texts.index(text)], texts)
    exact = [run(build(uneven, FLOAT32), tokens)[0] for tokens in TOKENS]

    def error(recipe: Recipe) -> float:
        graph = build(uneven, recipe)
        pairs = zip(exact, TOKENS, strict=True)
        return max(float(1 - run(graph, tokens)[0] @ vector) for vector, tokens in pairs)

    plain = error(Recipe())
    for smoothing in (Smoothing(found.ranges), Smoothing(found.ranges, 0.7, blocks=False)):
        assert error(Recipe(smoothing=smoothing)) < plain / 2


def test_the_centre_is_moved_to_the_origin(network: Network) -> None:
    vectors = np.stack([run(build(network, FLOAT32), tokens)[0] for tokens in TOKENS])
    centre = vectors.mean(axis=0)
    moved = np.stack(
        [run(build(network, replace(FLOAT32, centre=centre)), tokens)[0] for tokens in TOKENS]
    )
    expected = (vectors - centre) / np.linalg.norm(vectors - centre, axis=1, keepdims=True)
    assert np.allclose(moved, expected, atol=1e-4)


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = ModelCalibration({"a.b": np.arange(4.0)}, np.ones(3), np.zeros(2))
    made.write(tmp_path / "c.npz")
    found = ModelCalibration.read((tmp_path / "c.npz").read_bytes())
    assert list(found.ranges) == ["a.b"]
    assert np.array_equal(found.ranges["a.b"], made.ranges["a.b"])
    assert np.array_equal(found.centre, made.centre)
    assert found.reference is not None


def test_the_default_model_has_a_calibration_and_unknown_ones_have_none() -> None:
    found = shipped(GRANITE)
    assert found is not None
    assert len(found.ranges) == 24
    assert found.reference is not None
    assert 0.5 < float(np.linalg.norm(found.centre)) < 1
    assert shipped("unknown") is None
