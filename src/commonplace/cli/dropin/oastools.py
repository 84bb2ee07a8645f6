"""The `oastools` command line of the Go program, run by our commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from commonplace.cli.dropin.oastools_flags import COMMANDS, WALKS, Flag, usage, usage_of
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

EVERYTHING = "1000"
FORMATS = ("text", "json", "yaml")


@dataclass(slots=True)
class Translation:
    """Our command line, and options that change how it is run."""

    command: str
    options: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    quiet: bool = False
    form: str = "text"
    breaking: bool = False
    client: bool = False
    validate: bool = False
    spec: str = ""
    overlay: str = ""

    @property
    def arguments(self) -> list[str]:
        """The arguments for `commonplace oas`."""
        name, _, kind = self.command.partition(" ")
        options = list(self.options)
        if name == "walk":
            return [
                "walk",
                kind,
                *self.sources,
                *options,
                "--limit",
                EVERYTHING,
                *(["--json"] if self.form != "text" else []),
            ]
        if self.command == "overlay apply":
            overlay = [self.overlay] if self.overlay else []
            return [
                "overlay",
                *([self.spec] if self.spec else []),
                *overlay,
                *self.sources,
                *options,
                "--yes",
            ]
        if self.command == "overlay validate":
            return ["overlay-validate", *self.sources, *options]
        if name in ("validate", "diff") and self.form != "text":
            options.append("--json")
        if name == "diff":
            options += ["--fail-on", "breaking" if self.breaking else "any"]
        if name == "parse" and self.quiet:
            options.append("--full")
        if name == "generate" and not self.client:
            options.append("--no-client")
        if name in ("fix", "convert", "join"):
            options.append("--yes")
        return [name, *self.sources, *options]


def translate(arguments: Sequence[str]) -> Translation | str:
    """Translate a command line of oastools, or return the help text to print."""
    command, rest = _command(list(arguments))
    if command is None:
        return usage()
    if any(word in ("-h", "-help", "--help") for word in rest):
        return usage_of(command)
    known = {name: flag for flag in COMMANDS[command] for name in flag.names}
    translation = Translation(command)
    words = iter(rest)
    for word in words:
        if word == "--":
            translation.sources += list(words)
        elif not word.startswith("-") or word == "-":
            translation.sources.append(word)
        else:
            name, equals, value = word.lstrip("-").partition("=")
            flag = known.get(name)
            if flag is None:
                translation.options.append(
                    word
                )  # one of our options, or an error that our program reports
                continue
            if flag.value and not equals:
                value = next(words, "")
                if not value:
                    raise CommonplaceError(
                        INVALID_ARGUMENT,
                        f"{word} takes a value.",
                        hint=f"oastools {command} --help",
                    )
            if flag.value or not equals or value.lower() not in ("false", "0", "f"):
                _apply(translation, flag, word.partition("=")[0], value)
    return translation


def _command(words: list[str]) -> tuple[str | None, list[str]]:
    """Split the command from its arguments; None means help."""
    if not words or words[0] in ("help", "-h", "-help", "--help"):
        return None, []
    if words[0] in COMMANDS:
        return words[0], words[1:]
    inner = " ".join(words[:2])
    if inner in COMMANDS:
        return inner, words[2:]
    if words[0] in ("walk", "overlay"):
        if len(words) < 2 or words[1] in ("help", "-h", "-help", "--help"):
            return None, []
        known = tuple(WALKS) if words[0] == "walk" else ("apply", "validate")
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"oastools {words[0]} takes one of {', '.join(known)}, not {words[1][:40]!r}.",
        )
    raise CommonplaceError(
        INVALID_ARGUMENT,
        f"There is no command {words[0][:40]!r}.",
        hint="oastools help lists them.",
    )


def _apply(translation: Translation, flag: Flag, word: str, value: str) -> None:
    if flag.refused and value not in flag.accepted:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{word}{f' {value}' if flag.value else ''} is not supported. {flag.refused}",
        )
    if flag.does == "where":
        translation.options += ["--where", f"{flag.to}={value if flag.value else 'true'}"]
    elif flag.does == "format":
        if value not in FORMATS:
            raise CommonplaceError(
                INVALID_ARGUMENT, f"--format takes {', '.join(FORMATS)}, not {value[:40]!r}."
            )
        translation.form = value
    elif flag.does in ("spec", "overlay"):
        setattr(translation, flag.does, value)
    elif flag.does in ("quiet", "breaking", "client", "validate"):
        setattr(translation, flag.does, True)
    elif flag.to:
        translation.options += [flag.to, value] if flag.value else [flag.to]


def run(arguments: Sequence[str]) -> int:
    """Run a command line of oastools and return its exit code."""
    import contextlib
    import io
    import sys

    translation = translate(arguments)
    if isinstance(translation, str):
        sys.stdout.write(translation)
        return 0
    from commonplace.cli.commands import run as run_command
    from commonplace.cli.printing import err, out

    def command(words: list[str]) -> int:
        return run_command(["oas", *words])

    if translation.validate and "-" not in translation.sources:
        code = command(["validate", *translation.sources, "--no-warnings"])
        if code:
            return code
    err.quiet = translation.quiet
    out.quiet = translation.quiet and translation.command in ("validate", "overlay validate")
    try:
        document = translation.command == "parse" and translation.quiet
        if not document and translation.form != "yaml":
            return command(translation.arguments)
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            code = command(translation.arguments)
        if text.getvalue():
            sys.stdout.write(_convert(text.getvalue(), "json" if document else "yaml"))
        return code
    finally:
        err.quiet = out.quiet = False


def _convert(text: str, form: str) -> str:
    from commonplace.openapi.engine.document.load import parse_text
    from commonplace.openapi.engine.yaml.emit import to_json, to_yaml

    tree = parse_text(text)
    return (
        to_json(tree.data, tree.numbers)
        if form == "json"
        else to_yaml(tree.data, numbers=tree.numbers)
    )
