"""A sentence encoder as one ONNX file: a `Network` in, a graph of pooled unit vectors out.

Used once per model, by `models install`, in float32 or int8. The int8 weights span 7 bits, per
output column: processors without VNNI add pairs of products in 16 bits and would saturate on 8, so
with 7 every processor computes the same.

Activations get one int8 scale per run, so a few channels with large values take the precision of
all others. `Smoothing` (Xiao et al., SmoothQuant, 2022) moves that range into the weights: the
input of a layer is divided, per channel, by a factor that its weights are multiplied by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from commonplace.search.semantic.models.network import Array, Network, Shape

_CONTRIB = "com.microsoft"  # fused operators of onnxruntime, our only runtime
_HALF_RANGE = 63
_BLOCK = 32  # inputs that share a scale where weights are quantised in blocks
_BYTE_ZERO = 128


@dataclass(frozen=True, slots=True)
class Smoothing:
    """The largest absolute input of every linear layer, per channel, and how much of it moves."""

    ranges: Mapping[str, Array]
    alpha: float = 0.5  # 0: nothing moves to the weights; 1: all of it
    blocks: bool = True  # the second matrix of each block in 8 bits and blocks instead

    def factors(self, name: str, matrix: Array) -> Array:
        """Return the divisor of each input channel of a layer; 1 where a channel is unused."""
        inputs = np.maximum(self.ranges[name].astype(np.float32), 1e-5)
        weights = np.maximum(np.abs(matrix).max(axis=0), 1e-5)
        factors = inputs**self.alpha / weights ** (1 - self.alpha)
        return np.asarray(factors / np.exp(np.log(factors).mean()), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network becomes a graph."""

    int8: bool = True
    int8_words: bool = True  # the table of words in int8, too; a multilingual one is large
    smoothing: Smoothing | None = None
    centre: Array | None = None  # subtracted from unit vectors, which are then normalised again


FLOAT32 = Recipe(int8=False, int8_words=False)


@dataclass(slots=True)
class _Graph:
    """Collects nodes and weights under generated names."""

    network: Network
    recipe: Recipe
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)  # linear layer -> its input

    def constant(self, value: Array) -> str:
        name = f"c{len(self.constants)}"
        # np.ascontiguousarray would turn a scalar into an array of one
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        output = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, list(inputs), [output], domain=domain, **attributes)
        )
        return output

    def embedding(self, table: Array, ids: str) -> str:
        if not self.recipe.int8_words:
            return self.node("Gather", self.constant(table), ids)
        scale = (np.abs(table).max(axis=1, keepdims=True) / 127).astype(np.float32)
        scale[scale == 0] = 1
        rows = self.node("Gather", self.constant(np.round(table / scale).astype(np.int8)), ids)
        return self.node(
            "Mul",
            self.node("Cast", rows, to=TensorProto.FLOAT),
            self.node("Gather", self.constant(scale), ids),
        )

    def linear(self, name: str, x: str, matrix: Array, bias: Array) -> str:
        """Add a linear layer; `matrix` is (out, in), as torch stores it."""
        self.inputs[name] = x
        smoothing = self.recipe.smoothing
        if not self.recipe.int8:
            return self.node(
                "Add", self.node("MatMul", x, self.constant(matrix.T)), self.constant(bias)
            )
        if smoothing is not None:
            if smoothing.blocks and matrix.shape[1] > matrix.shape[0]:
                return self.linear_in_blocks(x, matrix, bias)
            factors = smoothing.factors(name, matrix)
            x = self.node("Mul", x, self.constant(1 / factors))
            matrix = matrix * factors
        scale = (np.abs(matrix).max(axis=1) / _HALF_RANGE).astype(np.float32)
        scale[scale == 0] = 1
        quantised = np.round(matrix / scale[:, None]).astype(np.int8).T
        return self.node(
            "DynamicQuantizeMatMul",
            x,
            self.constant(quantised),
            self.constant(scale),
            "",
            self.constant(bias),
            domain=_CONTRIB,
        )

    def linear_in_blocks(self, x: str, matrix: Array, bias: Array) -> str:
        """Add a linear layer whose inputs and weights have a scale for every few channels."""
        rows, columns = matrix.shape
        blocks = matrix.reshape(rows, columns // _BLOCK, _BLOCK)
        scale = (np.abs(blocks).max(axis=2) / 127).astype(np.float32)
        scale[scale == 0] = 1
        packed = np.round(blocks / scale[:, :, None]).astype(np.int16) + _BYTE_ZERO
        out = self.node(
            "MatMulNBits",
            x,
            self.constant(packed.astype(np.uint8)),
            self.constant(scale),
            domain=_CONTRIB,
            K=columns,
            N=rows,
            bits=8,
            block_size=_BLOCK,
            accuracy_level=4,
        )
        return self.node("Add", out, self.constant(bias))

    def norm(self, x: str, prefix: str, epsilon: float) -> str:
        scale, bias = (
            self.constant(self.network.weight(prefix + ".weight")),
            self.constant(self.network.weight(prefix + ".bias")),
        )
        return self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def build(network: Network, recipe: Recipe | None = None) -> bytes:
    """Return a serialised ONNX model: (ids, mask) to unit vectors."""
    return bytes(_build(network, recipe or Recipe(), watched=False)[0].SerializeToString())


def build_watched(network: Network) -> tuple[bytes, list[str]]:
    """Return the float32 model with the inputs of its linear layers as further outputs.

    Also return the names of those layers, in the order of the outputs.
    """
    model, names = _build(network, Recipe(int8=False), watched=True)
    return bytes(model.SerializeToString()), names


def _build(network: Network, recipe: Recipe, watched: bool) -> tuple[onnx.ModelProto, list[str]]:
    shape = network.shape
    graph = _Graph(network, recipe)
    x = _embeddings(graph, shape)
    mask32 = graph.node("Cast", "mask", to=TensorProto.INT32)
    for layer in range(shape.layers):
        x = _layer(graph, shape, f"encoder.layer.{layer}.", x, mask32)
    _finish(graph, _pool(graph, shape, x))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("ids", "mask")
    ]
    outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", shape.hidden])]
    if watched:
        outputs += [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            for name in graph.inputs.values()
        ]
    body = helper.make_graph(graph.nodes, "sentence_encoder", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(_CONTRIB, 1)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="commonplace")
    return model, list(graph.inputs)


def _embeddings(graph: _Graph, shape: Shape) -> str:
    network = graph.network
    words = graph.embedding(network.weight("embeddings.word_embeddings.weight"), "ids")
    # Token type is 0 everywhere, so its row joins the position table.
    places = (
        network.weight("embeddings.position_embeddings.weight")
        + network.weight("embeddings.token_type_embeddings.weight")[0]
    )[shape.position_offset :]
    length = graph.node("Shape", "ids", start=1, end=2)
    used = graph.node(
        "Slice",
        graph.constant(places),
        graph.constant(np.array([0])),
        length,
        graph.constant(np.array([0])),
    )
    return graph.norm(graph.node("Add", words, used), "embeddings.LayerNorm", shape.epsilon)


def _layer(graph: _Graph, shape: Shape, prefix: str, x: str, mask32: str) -> str:
    inner = [prefix + f"attention.self.{name}" for name in ("query", "key", "value")]
    matrix = np.concatenate([graph.network.weight(name + ".weight") for name in inner])
    bias = np.concatenate([graph.network.weight(name + ".bias") for name in inner])
    joined = graph.linear(prefix + "attention.self", x, matrix, bias)
    split = [f"{prefix}{name}" for name in "qkv"]
    graph.nodes.append(helper.make_node("Split", [joined], split, axis=-1, num_outputs=3))
    attended = graph.node(
        "MultiHeadAttention", *split, "", mask32, domain=_CONTRIB, num_heads=shape.heads
    )
    out = _dense(graph, prefix + "attention.output.dense", attended)
    x = graph.norm(graph.node("Add", x, out), prefix + "attention.output.LayerNorm", shape.epsilon)
    hidden = graph.node("Gelu", _dense(graph, prefix + "intermediate.dense", x))
    return graph.norm(
        graph.node("Add", x, _dense(graph, prefix + "output.dense", hidden)),
        prefix + "output.LayerNorm",
        shape.epsilon,
    )


def _dense(graph: _Graph, name: str, x: str) -> str:
    network = graph.network
    return graph.linear(name, x, network.weight(name + ".weight"), network.weight(name + ".bias"))


def _pool(graph: _Graph, shape: Shape, x: str) -> str:
    if shape.pooling == "cls":
        return graph.node("Gather", x, graph.constant(np.array(0)), axis=1)
    weight = graph.node(
        "Unsqueeze",
        graph.node("Cast", "mask", to=TensorProto.FLOAT),
        graph.constant(np.array([2])),
    )
    total = graph.node(
        "ReduceSum", graph.node("Mul", x, weight), graph.constant(np.array([1])), keepdims=0
    )
    return graph.node(
        "Div", total, graph.node("ReduceSum", weight, graph.constant(np.array([1])), keepdims=0)
    )


def _finish(graph: _Graph, pooled: str) -> None:
    """Normalise, and move the centre of all texts to the origin if it is known."""
    if graph.recipe.centre is not None:
        unit = graph.node("LpNormalization", pooled, axis=-1, p=2)
        pooled = graph.node("Sub", unit, graph.constant(graph.recipe.centre.astype(np.float32)))
    graph.nodes.append(helper.make_node("LpNormalization", [pooled], ["vectors"], axis=-1, p=2))
