"""A BERT sentence encoder as one ONNX file: safetensors in, pooled and normalised graph out.

Used once per model, by `models install`, in float32 or int8. The int8 weights span 7 bits, per
output column: processors without VNNI add pairs of products in 16 bits and would saturate on 8, so
with 7 every processor computes the same.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]
_DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32}
_CONTRIB = "com.microsoft"  # fused operators of onnxruntime, our only runtime
_MAX_HEADER_BYTES = 10_000_000
_HALF_RANGE = 63


class UnsupportedModelError(ValueError):
    """The folder is not a BERT sentence encoder that this module can build."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The network as the configuration files of a sentence-transformers folder describe it."""

    hidden: int
    layers: int
    heads: int
    epsilon: float
    positions: int
    max_tokens: int
    pooling: str  # "mean" or "cls"


def read_shape(folder: Path) -> Shape:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
        raise UnsupportedModelError(
            f"{folder.name}: model_type {config.get('model_type')!r}; only BERT encoders with "
            f"gelu are supported"
        )
    limits = _optional_json(folder / "sentence_bert_config.json")
    pooling = _optional_json(folder / "1_Pooling" / "config.json")
    mean, cls = (
        pooling.get("pooling_mode_mean_tokens", True),
        pooling.get("pooling_mode_cls_token", False),
    )
    if not (mean or cls):
        raise UnsupportedModelError(f"{folder.name}: pooling is neither mean nor cls")
    positions = int(config["max_position_embeddings"])
    return Shape(
        hidden=int(config["hidden_size"]),
        layers=int(config["num_hidden_layers"]),
        heads=int(config["num_attention_heads"]),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
        positions=positions,
        max_tokens=min(int(limits.get("max_seq_length", 256)), positions),
        pooling="mean" if mean else "cls",
    )


def _optional_json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def read_safetensors(path: Path) -> dict[str, Array]:
    """Return every tensor of a safetensors file, as views of the mapped file.

    A leading `bert.` is removed from names.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        if header_bytes > min(size - 8, _MAX_HEADER_BYTES):
            raise UnsupportedModelError(
                f"{path.name}: header of {header_bytes} bytes in a file of {size}"
            )
        header = json.loads(file.read(header_bytes))
    data = np.memmap(path, mode="r", dtype=np.uint8, offset=8 + header_bytes)
    tensors: dict[str, Array] = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in _DTYPES:
            continue
        start, end = entry["data_offsets"]
        tensors[name.removeprefix("bert.")] = (
            data[start:end].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
        )
    return tensors


class _Graph:
    """Collects nodes and weights under generated names."""

    def __init__(self, weights: dict[str, Array], int8: bool) -> None:
        self.weights = weights
        self.int8 = int8
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        output = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, list(inputs), [output], domain=domain, **attributes)
        )
        return output

    def weight(self, name: str) -> Array:
        if name not in self.weights:
            raise UnsupportedModelError(f"the weights have no tensor {name!r}")
        return self.weights[name].astype(np.float32)

    def embedding(self, table: Array, ids: str) -> str:
        if not self.int8:
            return self.node("Gather", self.constant(table), ids)
        scale = (np.abs(table).max(axis=1, keepdims=True) / 127).astype(np.float32)
        scale[scale == 0] = 1
        rows = self.node("Gather", self.constant(np.round(table / scale).astype(np.int8)), ids)
        return self.node(
            "Mul",
            self.node("Cast", rows, to=TensorProto.FLOAT),
            self.node("Gather", self.constant(scale), ids),
        )

    def linear(self, x: str, matrix: Array, bias: Array) -> str:
        """Add a linear layer; `matrix` is (out, in), as torch stores it."""
        if not self.int8:
            return self.node(
                "Add", self.node("MatMul", x, self.constant(matrix.T)), self.constant(bias)
            )
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

    def norm(self, x: str, prefix: str, epsilon: float) -> str:
        scale, bias = (
            self.constant(self.weight(prefix + ".weight")),
            self.constant(self.weight(prefix + ".bias")),
        )
        return self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def build(folder: Path, weights: Path, int8: bool) -> bytes:
    """Return the encoder of a folder as a serialised ONNX model: (ids, mask) to unit vectors."""
    shape = read_shape(folder)
    graph = _Graph(read_safetensors(weights), int8)
    x = _embeddings(graph, shape)
    mask32 = graph.node("Cast", "mask", to=TensorProto.INT32)
    for layer in range(shape.layers):
        x = _layer(graph, shape, f"encoder.layer.{layer}.", x, mask32)
    _pool(graph, shape, x)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("ids", "mask")
    ]
    output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", shape.hidden])
    body = helper.make_graph(graph.nodes, "sentence_encoder", inputs, [output], graph.constants)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(_CONTRIB, 1)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="commonplace")
    return bytes(model.SerializeToString())


def _embeddings(graph: _Graph, shape: Shape) -> str:
    words = graph.embedding(graph.weight("embeddings.word_embeddings.weight"), "ids")
    # Token type is 0 everywhere, so its row joins the position table.
    places = (
        graph.weight("embeddings.position_embeddings.weight")
        + graph.weight("embeddings.token_type_embeddings.weight")[0]
    )
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
    matrix = np.concatenate([graph.weight(name + ".weight") for name in inner])
    bias = np.concatenate([graph.weight(name + ".bias") for name in inner])
    joined = graph.linear(x, matrix, bias)
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
    return graph.linear(x, graph.weight(name + ".weight"), graph.weight(name + ".bias"))


def _pool(graph: _Graph, shape: Shape, x: str) -> None:
    if shape.pooling == "cls":
        pooled = graph.node("Gather", x, graph.constant(np.array(0)), axis=1)
    else:
        weight = graph.node(
            "Unsqueeze",
            graph.node("Cast", "mask", to=TensorProto.FLOAT),
            graph.constant(np.array([2])),
        )
        total = graph.node(
            "ReduceSum", graph.node("Mul", x, weight), graph.constant(np.array([1])), keepdims=0
        )
        pooled = graph.node(
            "Div", total, graph.node("ReduceSum", weight, graph.constant(np.array([1])), keepdims=0)
        )
    graph.nodes.append(helper.make_node("LpNormalization", [pooled], ["vectors"], axis=-1, p=2))
