"""A very small embedding model for tests."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 32, 2, 4, 64, 64
Array = npt.NDArray[np.float32]


def tiny_model(folder: Path) -> dict[str, Array]:
    """A BERT folder with random weights, as sentence-transformers lays it out."""
    chance = np.random.default_rng(11)
    letters = [chr(code) for code in range(33, 127)]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *letters,
        *(f"##{letter}" for letter in letters),
    ]
    tensors: dict[str, Array] = {}

    def add(name: str, *shape: int, spread: float = 0.2, base: float = 0.0) -> None:
        tensors[name] = (base + chance.normal(0, spread, shape)).astype(np.float32)

    add("embeddings.word_embeddings.weight", len(vocabulary), HIDDEN, spread=1.0)
    add("embeddings.position_embeddings.weight", POSITIONS, HIDDEN)
    add("embeddings.token_type_embeddings.weight", 2, HIDDEN)
    blocks = [("embeddings.LayerNorm", None)]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        blocks += [
            (prefix + f"attention.self.{part}", (HIDDEN, HIDDEN))
            for part in ("query", "key", "value")
        ]
        blocks += [
            (prefix + "attention.output.dense", (HIDDEN, HIDDEN)),
            (prefix + "attention.output.LayerNorm", None),
        ]
        blocks += [
            (prefix + "intermediate.dense", (INNER, HIDDEN)),
            (prefix + "output.dense", (HIDDEN, INNER)),
            (prefix + "output.LayerNorm", None),
        ]
    for name, shape in blocks:
        add(
            name + ".weight",
            *(shape or (HIDDEN,)),
            base=0.0 if shape else 1.0,
            spread=0.2 if shape else 0.05,
        )
        add(name + ".bias", shape[0] if shape else HIDDEN, spread=0.05)
    folder.mkdir(parents=True)
    header, data = {}, b""
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + tensor.nbytes],
        }
        data += tensor.tobytes()
    packed = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(packed)) + packed + data)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
    }
    (folder / "config.json").write_text(
        json.dumps({**config, "max_position_embeddings": POSITIONS, "layer_norm_eps": 1e-12})
    )
    tokenizer = Tokenizer(
        models.WordPiece({piece: at for at, piece in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    return tensors
