"""`commonplace rules`: rule files of repositories, as coding clients read them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.rules import report as reports
from commonplace.cli.rules import transfer
from commonplace.cli.rules.effective import find_effective, print_effective
from commonplace.cli.terminal import write_text
from commonplace.instructions.clients.check import RuleReport
from commonplace.instructions.clients.table import CLIENTS, Loader
from commonplace.instructions.engine.effective.outcome import (
    DEFAULT_BUDGET,
    LEAST_BUDGET,
    MOST_BUDGET,
    RuleQuestion,
)
from commonplace.instructions.rulefiles.scan import FindingSeverity
from commonplace.instructions.rulefiles.situation import ClientEvent, ClientSituation, Loading
from commonplace.instructions.rulefiles.tree import MANAGED, FolderTree
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json

app = typer.Typer(
    help="Rule files of a repository: what clients load, import, export, sync and checks.",
    no_args_is_help=True,
)
app.command("import")(transfer.import_)
app.command("export")(transfer.export)
app.command("sync")(transfer.sync)

Task = Annotated[str, typer.Option(help="What is to be done: brings rules that fit it.")]
Budget = Annotated[
    int, typer.Option(help="Most tokens of the answer.", min=LEAST_BUDGET, max=MOST_BUDGET)
]
User = Annotated[str | None, typer.Option(help="Rules of this user too.")]
Workspace = Annotated[str | None, typer.Option(help="Rules of this workspace too.")]
Teams = Annotated[list[str] | None, typer.Option(help="Rules of this team too; repeat for more.")]
Rules = Annotated[
    list[str] | None, typer.Option(help="Include the rule with this id; repeat for more.")
]
Folder = Annotated[
    str, typer.Option(help="With --as: where the client was started, inside the repository.")
]
Event = Annotated[
    ClientEvent | None,
    typer.Option(help="With --as: what happens. Default: read, or start without a PATH."),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(help="With --as: a setting as NAME=VALUE, the value as JSON or text."),
]


@app.command("for")
def for_paths(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Files to read or write; they may not exist yet."),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option("--as", help=f"What this client would load: {', '.join(CLIENTS)}."),
    ] = None,
    repo: Annotated[Path, typer.Option(help="The repository's folder.")] = Path(),
    task: Task = "",
    budget: Budget = DEFAULT_BUDGET,
    user: User = None,
    workspace: Workspace = None,
    team: Teams = None,
    rule: Rules = None,
    cwd: Folder = ".",
    event: Event = None,
    setting: Setting = None,
    no_home: Annotated[
        bool, typer.Option("--no-home", help="With --as: leave out user and managed files.")
    ] = False,
    managed: Annotated[Path, typer.Option(help="With --as: the folder of managed files.")] = Path(
        MANAGED
    ),
    show: Annotated[bool, typer.Option("--text", help="Print the text, not the list.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the rules in effect for files, each with its reason; or what a client would load.

    Rules come from the catalogue and from the rule files of the repository. With --as nothing is
    run either: what clients load is known from their documentation and source.

    Example:
      commonplace rules for src/app.ts
      commonplace rules for src/app.ts --task "add a login form" --budget 2000 --json
      commonplace rules for src/app.ts --as cursor
      commonplace rules for src/new.py --as claude-code --event write --json
    """
    inside = tuple(_inside(_folder(repo), path) for path in paths or ())
    if client is None:
        question = RuleQuestion(
            inside, task, budget, user, workspace, tuple(team or ()), tuple(rule or ())
        )
        print_effective(find_effective(question, repo), show, as_json)
        return
    if len(inside) > 1:
        raise typer.BadParameter("give one PATH with --as")
    tree = FolderTree(repo, None if no_home else Path.home(), None if no_home else managed)
    situation = ClientSituation(
        _inside(repo, cwd),
        inside[0] if inside else None,
        event or (ClientEvent.READ if inside else ClientEvent.START),
        dict(map(_parse_setting, setting or [])),
    )
    _print(_find_loader(client)(tree, situation), client, show, as_json)


def _find_loader(client: str) -> Loader:
    loader = CLIENTS.get(client)
    if loader is None:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"'{client}' is not a known client.",
            hint=f"Use {', '.join(CLIENTS)}.",
        )
    return loader


@app.command()
def check(
    repo: Annotated[Path, typer.Argument(help="The repository's folder.")] = Path(),
    catalogue: Annotated[
        bool,
        typer.Option("--catalogue", help="Compare with the catalogue too: drift and losses."),
    ] = False,
    repository: Annotated[
        str, typer.Option(help="Name of the repository; default: of its git remote or folder.")
    ] = "",
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings fail too, not only errors.")
    ] = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF for a code host.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a summary for a pull request.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check the rule files of a repository; exit code 1 if there are errors.

    Finds hidden characters, invisible and encoded text, commands that run what they fetch,
    credentials, dead globs, files that clients cut or never read, broken imports and skills,
    files that contradict each other, and exported files that were edited or deleted.

    Example:
      commonplace rules check
      commonplace rules check --catalogue --sarif
      commonplace rules check ./service --strict --markdown
    """
    if sum((sarif, markdown, as_json)) > 1:
        raise typer.BadParameter("give one of --sarif, --markdown and --json")
    report = _check(repo, repository, catalogue)
    if as_json:
        print_json(reports.as_json(report))
    elif sarif:
        print_json(reports.as_sarif(report))
    elif markdown:
        write_text(reports.as_markdown(report))
    else:
        _print_report(report)
    failing = report.count(FindingSeverity.ERROR) + (
        strict and report.count(FindingSeverity.WARNING)
    )
    raise typer.Exit(1 if failing else 0)


def _check(folder: Path, repository: str, catalogue: bool) -> RuleReport:
    from commonplace.instructions.use_cases.rule_files.checking import check_repository
    from commonplace.instructions.use_cases.rule_files.repository import RuleRepository

    if not catalogue:
        return check_repository(RuleRepository.at(folder))
    return transfer.check_with_catalogue(folder, repository)


def _print_report(report: RuleReport) -> None:
    if report.findings:
        rows = [
            (finding.severity, f"{finding.path}:{finding.line}", finding.code, finding.message)
            for finding in report.findings
        ]
        out.print(table(("severity", "place", "finding", "what it is"), rows))
    say(f"Rule files: {reports.summary(report)}")


def _folder(repo: Path) -> Path:
    if not repo.is_dir():
        raise CommonplaceError(
            INVALID_ARGUMENT, f"{repo} is not a folder.", hint="Name the repository's folder."
        )
    return repo


def _inside(repo: Path, path: str) -> str:
    """Return a path relative to the repository; an absolute one must lie inside."""
    top = repo.resolve()
    located = Path(path) if Path(path).is_absolute() else top / path
    normal = Path(*located.parts) if ".." not in located.parts else located.resolve()
    if not normal.is_relative_to(top):
        raise CommonplaceError(
            INVALID_ARGUMENT, f"{path} is outside the repository.", hint="Give another --repo."
        )
    return normal.relative_to(top).as_posix()


def _parse_setting(text: str) -> tuple[str, Json]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"'{text}' is not NAME=VALUE.",
            hint="For example --setting agent=cloud.",
        )
    try:
        return name, orjson.loads(value)
    except orjson.JSONDecodeError:
        return name, value


def _print(loading: Loading, client: str, show: bool, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "client": client,
                "loaded": [asdict(rule) for rule in loading.rules],
                "ignored": [asdict(rule) for rule in loading.ignored],
            }
        )
        return
    if show:
        write_text("\n\n".join(rule.text.strip("\n") for rule in loading.rules) + "\n")
        return
    if loading.rules:
        rows = [
            (rule.path, len(rule.text), "; ".join(filter(None, (rule.reason, rule.cut))))
            for rule in loading.rules
        ]
        out.print(table(("loaded", "characters", "because"), rows))
    else:
        say(f"{client} loads no rule file here.")
    if loading.ignored:
        rows_left_out = [(rule.path, rule.reason) for rule in loading.ignored]
        out.print(table(("left out", "because"), rows_left_out))
