"""Calibration of a quantised encoder: how large its activations are, and the centre of its vectors.

The texts are those that every Python ships, documentation and sources, so anybody can repeat it.
Pinned models carry the result as data, because two servers that share vectors must build the same
model; other models are calibrated when they are installed.
"""

from __future__ import annotations

import io
import pydoc_data.topics
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from commonplace.search.chunk import split
from commonplace.search.semantic.models.embed_graph import build_watched
from commonplace.search.semantic.models.network import Array, Network

TEXTS = 20  # of each kind
_SOURCES = ("argparse.py", "asyncio/base_events.py", "email/message.py", "shutil.py", "zipfile.py")
_CENTRE, _REFERENCE = "centre", "reference"


@dataclass(frozen=True, slots=True)
class ModelCalibration:
    """Largest absolute input of each linear layer, per channel, and the mean unit vector.

    `reference` are the cosines of the float32 model for the probes of `models check`.
    """

    ranges: dict[str, Array]
    centre: Array
    reference: Array | None = None

    def write(self, path: Path) -> None:
        """Write half-precision arrays: the ranges need no more."""
        values = {name: value.astype(np.float16) for name, value in self.ranges.items()}
        extra = {} if self.reference is None else {_REFERENCE: self.reference}
        np.savez_compressed(path, allow_pickle=False, **values, **{_CENTRE: self.centre}, **extra)

    @classmethod
    def read(cls, raw: bytes) -> ModelCalibration:
        with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
            values = {name: stored[name].astype(np.float32) for name in stored.files}
        centre, reference = values.pop(_CENTRE), values.pop(_REFERENCE, None)
        return cls(values, centre, reference)


def shipped(name: str) -> ModelCalibration | None:
    """Return the calibration that comes with this package, if there is one for the model."""
    file = files("commonplace.search.semantic.models") / "calibrations" / f"{name}.npz"
    return ModelCalibration.read(file.read_bytes()) if file.is_file() else None


def calibration_texts(count: int = TEXTS) -> list[str]:
    """Return passages of Python's documentation and of its standard library, `count` of each."""
    topics = pydoc_data.topics.topics
    prose = [chunk.text for name in sorted(topics) for chunk in split(topics[name])]
    library = Path(sysconfig.get_path("stdlib"))
    found = [library / name for name in _SOURCES if (library / name).is_file()]
    code = [chunk.text for path in found for chunk in split(path.read_text("utf-8"))]
    return [*_spread(prose, count), *_spread(code, count)]


def calibrate(
    network: Network, encode: Callable[[str], Sequence[int]], texts: Sequence[str]
) -> ModelCalibration:
    """Run the float32 network over texts and note what its layers receive.

    `encode` returns the tokens of a text, no more than the network reads.
    """
    import onnxruntime

    graph, names = build_watched(network)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    ranges: dict[str, Array] = {}
    total = np.zeros(network.shape.hidden)
    for text in texts:
        ids = np.array([encode(text)], dtype=np.int64)
        vectors, *inputs = session.run(None, {"ids": ids, "mask": np.ones_like(ids)})
        total += vectors[0]
        for name, value in zip(names, inputs, strict=True):
            peaks = np.abs(value).max(axis=(0, 1))
            ranges[name] = np.maximum(ranges[name], peaks) if name in ranges else peaks
    return ModelCalibration(ranges, (total / len(texts)).astype(np.float32))


def _spread(texts: Sequence[str], count: int) -> list[str]:
    step = max(1, len(texts) // count)
    return list(texts[::step][:count])
