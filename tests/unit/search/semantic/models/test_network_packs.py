"""Packs of pinned wheels: tensors are found under the names of BERT, damage is refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from commonplace.search.semantic.models.network import UnsupportedModelError
from commonplace.search.semantic.models.network_packs import read_e5_pack, read_granite_pack

HIDDEN, INNER, WORDS, POSITIONS = 64, 128, 10, 18


def granite_pack(path: Path) -> np.ndarray:
    """Write a pack of one layer; return its table of words."""
    chance = np.random.default_rng(3)
    shapes = {
        "word_emb": (WORDS, HIDDEN),
        "pos_emb": (POSITIONS, HIDDEN),
        "type_emb": (2, HIDDEN),
        "emb_ln.w": (HIDDEN,),
        "emb_ln.b": (HIDDEN,),
        "l0.qkv.w": (3 * HIDDEN, HIDDEN),
        "l0.qkv.b": (3 * HIDDEN,),
        "l0.f1.w": (INNER, HIDDEN),
    }
    entries, data, words = [], b"", np.zeros(0)
    for name, shape in shapes.items():
        if len(shape) == 2 and not name.startswith(("pos", "type")):
            values = chance.integers(-127, 128, shape, dtype=np.int8)
            scales = chance.random(values.size // 32, dtype=np.float32)
            raw, kind, group = values.tobytes() + scales.tobytes(), "i8", 32
            if name == "word_emb":
                words = (values.reshape(-1, 32) * scales[:, None]).reshape(shape)
        else:
            raw, kind, group = chance.random(shape, dtype=np.float32).tobytes(), "f32", 0
        entry = {"name": name, "dtype": kind, "shape": shape, "len": len(raw), "group": group}
        entries.append(entry)
        data += raw
    header = {
        "arch": {
            "hidden": HIDDEN,
            "layers": 1,
            "heads": 4,
            "layer_norm_eps": 1e-12,
            "max_positions": POSITIONS,
            "position_offset": 2,
        },
        "meta": {"pooling": "cls", "max_length": 512},
        "tokenizer_len": 2,
        "tensors": entries,
    }
    packed = json.dumps(header).encode()
    path.write_bytes(b"HMSEMB01" + struct.pack("<Q", len(packed)) + packed + b"{}" + data)
    return words


def test_a_pack_of_granite_becomes_a_network(tmp_path: Path) -> None:
    words = granite_pack(tmp_path / "a.hmsemb")
    network, tokenizer = read_granite_pack(tmp_path / "a.hmsemb")
    assert tokenizer == b"{}"
    assert (network.shape.pooling, network.shape.position_offset) == ("cls", 2)
    assert network.shape.max_tokens == POSITIONS - 2
    assert np.allclose(network.weight("embeddings.word_embeddings.weight"), words)
    for which in ("query", "key", "value"):
        name = f"encoder.layer.0.attention.self.{which}"
        assert network.weight(name + ".weight").shape == (HIDDEN, HIDDEN)
        assert network.weight(name + ".bias").shape == (HIDDEN,)
    assert network.weight("encoder.layer.0.intermediate.dense.weight").shape == (INNER, HIDDEN)


@pytest.mark.parametrize("damage", ["magic", "cut", "header"])
def test_a_damaged_pack_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.hmsemb"
    granite_pack(path)
    raw = path.read_bytes()
    changed = {
        "magic": b"HMSEMB02" + raw[8:],
        "cut": raw[:-5],
        "header": raw[:8] + struct.pack("<Q", 1 << 40) + raw[16:],
    }
    path.write_bytes(changed[damage])
    with pytest.raises(UnsupportedModelError):
        read_granite_pack(path)


def test_a_pack_of_e5_becomes_a_network_and_a_vocabulary(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "\u2581a", "b"]
    blob = "".join(pieces).encode()
    offsets = np.cumsum([0, *(len(piece.encode()) for piece in pieces)]).astype(np.uint32)
    head = b"E5S1" + struct.pack("<8i", 1, HIDDEN, 1, 4, INNER, WORDS, POSITIONS, 2)
    head += struct.pack("<fi", 1e-12, 32)
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, len(blob))
    head += offsets.tobytes() + np.arange(len(pieces), dtype=np.float32).tobytes() + blob
    head += struct.pack("<iI", 0, 0)
    scales = chance.random(WORDS * 2).astype(np.float16)
    halves = chance.integers(0, 16, (WORDS * 2, 32), dtype=np.uint8)
    packed = halves[:, :16] | (halves[:, 16:] << 4)
    table = b"".join(
        scale.tobytes() + row.tobytes() for scale, row in zip(scales, packed, strict=True)
    )
    bias = chance.random(INNER).astype(np.float32).tobytes()
    tensors = [("emb.word", 1, WORDS * HIDDEN, table), ("l0.fi.b", 0, INNER, bias)]
    directory = sum(2 + len(name) + 21 for name, *_ in tensors) + 4
    at = len(head) + directory
    head += struct.pack("<i", len(tensors))
    for name, kind, count, raw in tensors:
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", kind, count, at, len(raw))
        at += len(raw)
    path = tmp_path / "e5.bin"
    path.write_bytes(head + table + bias + b"\0" * 1000)
    network, found, scores = read_e5_pack(path)
    assert found == pieces
    assert scores.tolist() == [0, 1, 2, 3, 4, 5]
    expected = (halves.astype(np.float32) - 8) * scales.astype(np.float32)[:, None]
    words = network.weight("embeddings.word_embeddings.weight")
    assert np.allclose(words, expected.reshape(WORDS, HIDDEN))
    assert network.weight("encoder.layer.0.intermediate.dense.bias").shape == (INNER,)
    path.write_bytes(b"E5S2" + head[4:])
    with pytest.raises(UnsupportedModelError):
        read_e5_pack(path)
