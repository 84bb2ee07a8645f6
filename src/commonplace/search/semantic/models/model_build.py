"""Conversion of a network into the folder of a model, and its comparison with float32."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.search.semantic.embed import (
    EmbedderUnavailableError,
    LocalEmbedder,
    ModelDescription,
)

if TYPE_CHECKING:
    from commonplace.search.semantic.models.calibration import ModelCalibration
    from commonplace.search.semantic.models.embed_graph import Recipe
    from commonplace.search.semantic.models.network import Array, Network

# Near, related and unrelated sentences: their cosines show whether the encoder works correctly.
PROBES = (
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A cheetah is running behind its prey.",
    "The database was locked by another process.",
    "SQLite returned SQLITE_BUSY because a writer held the lock.",
    "def read_lines(path): return path.read_text().splitlines()",
    "How do I read a text file line by line in Python?",
    "The boundary layer becomes turbulent at high Reynolds number.",
    "Rotate the signing keys every ninety days.",
    "Deployment failed after the certificate expired.",
    "Le serveur refuse la connexion à la base de données.",
)
MAX_COSINE_ERROR = 0.06
MIN_RANK_AGREEMENT = 0.97
_LOAD_SECONDS = 120.0

Progress = Callable[[str, float], None]


class ModelInstallError(Exception):
    """Installing or checking a model failed; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Everything that a model folder is built from."""

    network: Network
    vocabulary: bytes | tuple[Sequence[str], Array]  # tokenizer.json, or pieces and scores
    calibration: ModelCalibration | None = None


def build_folder(
    target: Path, source: ModelSource, draft: ModelDescription, int8: bool, progress: Progress
) -> ModelDescription:
    """Write the graph, the vocabulary, the reference and `model.json` into a folder.

    Int8 that disagrees with float32 is built again with smoothing; raise ModelInstallError if
    that does not help.
    """
    from commonplace.search.semantic.models import embed_graph

    write_tokenizer(target, source)
    known = source.calibration
    centre = known.centre if known is not None else None
    reference = (
        known.reference.tolist() if known is not None and known.reference is not None else None
    )
    if reference is None:
        progress("compute the reference", 0.6)
        exact = replace(embed_graph.FLOAT32, centre=centre)
        reference = _reference(target, draft, embed_graph.build(source.network, exact))
    (target / "reference.json").write_text(json.dumps({"cosines": reference}), "utf-8")
    recipe = replace(embed_graph.FLOAT32, centre=centre)
    if int8:
        smoothing = embed_graph.Smoothing(known.ranges) if known is not None else None
        recipe = embed_graph.Recipe(smoothing=smoothing, centre=centre)
    progress("convert", 0.7)
    description = _write_graph(target, source.network, recipe, draft)
    progress("check", 0.9)
    error, agreement = compare(target)
    if _disagrees(error, agreement) and int8 and known is None:
        progress("calibrate", 0.9)
        recipe = replace(recipe, smoothing=embed_graph.Smoothing(_calibrate(target, source).ranges))
        description = _write_graph(target, source.network, recipe, draft)
        error, agreement = compare(target)
    if _disagrees(error, agreement):
        raise ModelInstallError(
            f"The {description.precision} model disagrees with float32 (cosine error {error:.3f}, "
            f"agreement {agreement:.3f}); install it with --float32, or take another model."
        )
    return description


def write_tokenizer(target: Path, source: ModelSource) -> None:
    if isinstance(source.vocabulary, bytes):
        (target / "tokenizer.json").write_bytes(source.vocabulary)
        return
    from commonplace.search.semantic.unigram import write_vocabulary

    pieces, scores = source.vocabulary
    write_vocabulary(target, pieces, scores.tolist())


def _write_graph(
    target: Path, network: Network, recipe: Recipe, draft: ModelDescription
) -> ModelDescription:
    from commonplace.search.semantic.models import embed_graph

    (target / "model.onnx").write_bytes(embed_graph.build(network, recipe))
    described = (target / "model.json",)
    files = {
        file.name: sha256_of(file) for file in sorted(target.iterdir()) if file not in described
    }
    precision = "int8" if recipe.int8 else "float32"
    identity = f"{draft.name}/{precision}/{files['model.onnx'][:12]}"
    description = replace(draft, identity=identity, precision=precision, files=files)
    write_description(target, description)
    return description


def _calibrate(target: Path, source: ModelSource) -> ModelCalibration:
    from tokenizers import Tokenizer

    from commonplace.search.semantic.models.calibration import calibrate, calibration_texts

    reader = Tokenizer.from_file(str(target / "tokenizer.json"))
    reader.enable_truncation(source.network.shape.max_tokens)
    reader.no_padding()
    return calibrate(
        source.network, lambda text: list(reader.encode(text).ids), calibration_texts()
    )


def write_description(folder: Path, description: ModelDescription) -> None:
    (folder / "model.json").write_text(json.dumps(asdict(description), indent=1), "utf-8")


def compare(folder: Path) -> tuple[float, float]:
    """Return the largest cosine error and Spearman's rank correlation."""
    import numpy as np

    expected = np.array(json.loads((folder / "reference.json").read_text("utf-8"))["cosines"])
    found = np.array(cosines_of_probes(folder))
    ranks = [np.argsort(np.argsort(values)).astype(float) for values in (expected, found)]
    return float(np.abs(expected - found).max()), float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _disagrees(error: float, agreement: float) -> bool:
    return error > MAX_COSINE_ERROR or agreement < MIN_RANK_AGREEMENT


def cosines_of_probes(folder: Path) -> list[float]:
    import numpy as np

    embedder = LocalEmbedder(folder, load_wait_seconds=_LOAD_SECONDS)
    try:
        vectors = embedder.embed(PROBES)
    except EmbedderUnavailableError as error:
        raise ModelInstallError(str(error)) from error
    finally:
        embedder.close()
    rows, columns = np.triu_indices(len(PROBES), 1)
    return [float(value) for value in (vectors @ vectors.T)[rows, columns]]


def _reference(target: Path, draft: ModelDescription, graph: bytes) -> list[float]:
    """Return the cosines of the float32 model, computed by the same loader."""
    with tempfile.TemporaryDirectory(prefix="commonplace-model-") as scratch:
        folder = Path(scratch)
        (folder / "model.onnx").write_bytes(graph)
        for file in target.iterdir():
            if file.name in ("tokenizer.json", "pieces.txt", "scores.bin"):
                shutil.copyfile(file, folder / file.name)
        write_description(folder, draft)
        return cosines_of_probes(folder)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
