"""Networks in the packs of pinned wheels, which have formats of their own."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from commonplace.search.semantic.models.network import Array, Network, Shape, UnsupportedModelError

_MAGIC = b"HMSEMB01"
_MAX_HEADER_BYTES = 1_000_000
# Short names of a pack's tensors within a layer, and BERT's.
_LAYER = {
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}
_EMBEDDINGS = {
    "word_emb": "embeddings.word_embeddings.weight",
    "pos_emb": "embeddings.position_embeddings.weight",
    "type_emb": "embeddings.token_type_embeddings.weight",
    "emb_ln.w": "embeddings.LayerNorm.weight",
    "emb_ln.b": "embeddings.LayerNorm.bias",
}
_PARTS = {"w": "weight", "b": "bias"}


def read_granite_pack(path: Path) -> tuple[Network, bytes]:
    """Return the network of a `.hmsemb` pack, and its tokenizer as JSON.

    The file is a magic word, the length of a JSON header, the header, the tokenizer and the tensors
    in the order of the header. A tensor of int8 has its values first and then one float32 scale per
    `group` values of a row.
    """
    raw = path.read_bytes()
    length = int.from_bytes(raw[8:16], "little")
    if raw[:8] != _MAGIC or not 0 < length <= min(_MAX_HEADER_BYTES, len(raw) - 16):
        raise UnsupportedModelError(f"{path.name} is not an embedding pack of format 1")
    header = json.loads(raw[16 : 16 + length])
    at = 16 + length
    tokenizer = raw[at : at + header["tokenizer_len"]]
    at += header["tokenizer_len"]
    if at + sum(entry["len"] for entry in header["tensors"]) != len(raw):
        raise UnsupportedModelError(f"{path.name}: its tensors do not fill the file")
    weights: dict[str, Array] = {}
    for entry in header["tensors"]:
        tensor = _tensor(raw, at, entry)
        at += entry["len"]
        weights |= _renamed(entry["name"], tensor)
    arch, meta = header["arch"], header["meta"]
    shape = Shape(
        hidden=arch["hidden"],
        layers=arch["layers"],
        heads=arch["heads"],
        epsilon=arch["layer_norm_eps"],
        positions=arch["max_positions"],
        max_tokens=min(meta["max_length"], arch["max_positions"] - arch["position_offset"]),
        pooling=meta["pooling"],
        position_offset=arch["position_offset"],
    )
    return Network(shape, weights), tokenizer


def _tensor(raw: bytes, at: int, entry: dict[str, Any]) -> Array:
    shape, group = entry["shape"], entry["group"]
    count = int(np.prod(shape))
    if entry["dtype"] == "f32":
        return np.frombuffer(raw, np.float32, count, at).reshape(shape)
    if entry["dtype"] != "i8" or shape[-1] % group:
        raise UnsupportedModelError(f"tensor {entry['name']!r} has an unknown type")
    values = np.frombuffer(raw, np.int8, count, at).reshape(-1, group)
    scales = np.frombuffer(raw, np.float32, count // group, at + count)
    return (values.astype(np.float32) * scales[:, None]).reshape(shape)


def _renamed(name: str, tensor: Array) -> dict[str, Array]:
    if name in _EMBEDDINGS:
        return {_EMBEDDINGS[name]: tensor}
    layer, kind, part = name.split(".")
    prefix = f"encoder.layer.{int(layer.removeprefix('l'))}."
    if kind == "qkv":
        thirds = zip(("query", "key", "value"), np.split(tensor, 3), strict=True)
        return {f"{prefix}attention.self.{which}.{_PARTS[part]}": value for which, value in thirds}
    return {f"{prefix}{_LAYER[kind]}.{_PARTS[part]}": tensor}


_E5_MAGIC = b"E5S1"
_E5_BLOCK = 32  # weights that share a scale
_E5_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_E5_EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_ENTRY = struct.Struct("<BIQQ")  # type, values, offset, bytes


def read_e5_pack(path: Path) -> tuple[Network, list[str], Array]:
    """Return the network of an `E5S1` file, and the pieces and scores of its unigram vocabulary.

    A matrix is stored in blocks of 32 weights: a float16 scale, then 16 bytes whose low halves are
    the first 16 weights, each 8 too large.
    """
    raw = path.read_bytes()
    if raw[:4] != _E5_MAGIC or len(raw) < 1_000:
        raise UnsupportedModelError(f"{path.name} is not a 4-bit E5 pack")
    _, hidden, layers, heads, inner, words, positions, _ = struct.unpack_from("<8i", raw, 4)
    (epsilon,) = struct.unpack_from("<f", raw, 36)
    count = struct.unpack_from("<i", raw, 44)[0]
    (blob_bytes,) = struct.unpack_from("<Q", raw, 64)
    at = 72
    offsets = np.frombuffer(raw, np.uint32, count + 1, at)
    at += offsets.nbytes
    scores = np.frombuffer(raw, np.float32, count, at).copy()
    at += scores.nbytes
    blob = raw[at : at + blob_bytes]
    pieces = [
        blob[start:end].decode("utf-8")
        for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ]
    at += blob_bytes
    at += 8 + int(struct.unpack_from("<I", raw, at + 4)[0])  # a normalisation map: NFKC does it
    weights = _read_directory(raw, at, hidden, inner)
    if weights[_E5_EMBEDDINGS["emb.word"]].shape != (words, hidden):
        raise UnsupportedModelError(f"{path.name}: the table of words has another shape")
    shape = Shape(hidden, layers, heads, float(epsilon), positions, positions, "mean")
    return Network(shape, weights), pieces, scores


def _read_directory(raw: bytes, at: int, hidden: int, inner: int) -> dict[str, Array]:
    """Return the tensors that the directory at an offset names, under the names of BERT."""
    widths = {"fo": inner}
    weights: dict[str, Array] = {}
    (entries,) = struct.unpack_from("<i", raw, at)
    at += 4
    for _ in range(entries):
        (length,) = struct.unpack_from("<H", raw, at)
        name = raw[at + 2 : at + 2 + length].decode("ascii")
        _, values, offset, stored = _ENTRY.unpack_from(raw, at + 2 + length)
        at += 2 + length + _ENTRY.size
        packed = stored * 2 < values * 4
        tensor = _unpack_blocks(raw, offset, stored) if packed else _floats(raw, offset, stored)
        known = _E5_EMBEDDINGS.get(name)
        if known is None:
            layer, short, part = name.split(".")
            known = f"encoder.layer.{int(layer[1:])}.{_E5_LAYER[short]}.{_PARTS[part]}"
            width = widths.get(short, hidden) if part == "w" and not short.endswith("ln") else 0
        else:
            width = hidden if not name.startswith("emb.ln") else 0
        weights[known] = tensor.reshape(-1, width) if width else tensor
    return weights


def _floats(raw: bytes, offset: int, stored: int) -> Array:
    return np.frombuffer(raw, np.float32, stored // 4, offset)


def _unpack_blocks(raw: bytes, offset: int, stored: int) -> Array:
    layout = np.dtype([("scale", "<f2"), ("values", "u1", _E5_BLOCK // 2)])
    blocks = np.frombuffer(raw, layout, stored // layout.itemsize, offset)
    values = np.concatenate([blocks["values"] & 15, blocks["values"] >> 4], axis=1)
    scaled = (values.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return np.asarray(scaled.reshape(-1), dtype=np.float32)
