"""Extract all proposals of a session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from commonplace.context.capture.engine import wording
from commonplace.context.capture.engine.causes import find_causes
from commonplace.context.capture.engine.cleaning import clean_text
from commonplace.context.capture.engine.commands import (
    has_worked,
    is_trivial,
    purpose_of,
    read_command_line,
)
from commonplace.context.capture.engine.fixes import find_fixes
from commonplace.context.capture.engine.sentences import SpokenSentence, split_sentences
from commonplace.context.capture.engine.similarity import StatementShape, is_same, read_shape
from commonplace.context.capture.engine.statements import (
    drop_reversed,
    find_decisions,
    find_remembered,
    find_rules,
    make_title,
)
from commonplace.context.capture.model import (
    ExtractedProposal,
    LessonType,
    ProposalKind,
    ProposalText,
)
from commonplace.context.capture.transcript import (
    CommandRun,
    SessionStep,
    Speaker,
    SpokenText,
    WrittenFile,
)

MOST_PROPOSALS = 15  # of one session: more would not be read
MOST_COMMANDS = 2
MOST_SENTENCES = 30_000  # the newest that are read
MOST_STATED = 200  # of each kind
REPEATED = 2  # successes that make a command worth keeping
TAG = "captured"
_RECOMMENDS = re.compile(
    r"(?i)\b(?:work(?:s|ed)|correct|right|instead|must|needs?|have to|has to|only|before|first|"
    r"trick|requires?|from now|always)\b"
)
_SHELL_WORD = re.compile(r"^[\w./~@-]+(?:\s|$)")


def extract(
    steps: Sequence[SessionStep], project: str = "", *, folder: str = ""
) -> list[ExtractedProposal]:
    """Return what a session teaches, best first. `folder` is left out of paths."""
    cleaned = [_clean_step(step, folder) for step in steps]
    sentences = [
        sentence
        for at, step in enumerate(cleaned)
        if isinstance(step, SpokenText)
        for sentence in split_sentences(step, at)
    ][-MOST_SENTENCES:]
    stated = [
        statement
        for find in (find_rules, find_decisions, find_remembered)
        for statement in list(find(sentences))[-MOST_STATED:]
    ]
    kept = drop_reversed(stated, sentences)
    fixes = find_fixes(cleaned, sentences)
    explained = frozenset().union(*(used for _, used in fixes)) if fixes else frozenset()
    kept += [proposal for proposal, _ in fixes]
    kept += find_causes(cleaned, sentences, explained)
    taken = "\n".join(proposal.text.content for proposal in kept)
    kept += _find_commands(cleaned, sentences, taken)
    best = sorted(kept, key=lambda proposal: -proposal.strength)
    return [_finish(proposal, project) for proposal in _drop_repeated(best)[:MOST_PROPOSALS]]


def _clean_step(step: SessionStep, folder: str) -> SessionStep:
    if isinstance(step, SpokenText):
        return replace(step, text=clean_text(step.text))
    if isinstance(step, CommandRun):
        return replace(step, command=clean_text(step.command), output=clean_text(step.output))
    path = step.path.removeprefix(folder.rstrip("/") + "/") if folder else step.path
    return WrittenFile(clean_text(path))


def _finish(proposal: ExtractedProposal, project: str) -> ExtractedProposal:
    """Mask once more: a title or a joined text must not contain what its parts did not."""
    text = proposal.text
    return replace(
        proposal,
        text=replace(
            text,
            title=make_title(clean_text(text.title)) or "Untitled",
            content=clean_text(text.content),
            tags=(TAG,),
            project=project,
        ),
    )


def _drop_repeated(proposals: Sequence[ExtractedProposal]) -> list[ExtractedProposal]:
    kept: list[ExtractedProposal] = []
    shapes: list[StatementShape] = []
    ids: set[str] = set()
    for proposal in proposals:
        shape = read_shape(f"{proposal.text.title} {proposal.text.content}")
        if proposal.id in ids or is_same(shape, shapes):
            continue
        ids.add(proposal.id)
        shapes.append(shape)
        kept.append(proposal)
    return kept


def _find_commands(
    steps: Sequence[SessionStep], sentences: Sequence[SpokenSentence], taken: str
) -> Iterator[ExtractedProposal]:
    """Yield commands that worked: named in words, or repeated."""
    runs = [step for step in steps if isinstance(step, CommandRun)]
    worked = Counter(_line(run.command) for run in runs if has_worked(run))
    failed = {_line(run.command) for run in runs if not has_worked(run)}
    named = _named_commands(sentences, worked, bool(runs))
    given = 0
    for command, sentence in named.items():
        if command not in taken and given < MOST_COMMANDS + 1:
            given += 1
            yield _propose_command(command, sentence, 0.75)
    for command, count in worked.most_common(50):
        is_kept = count >= REPEATED and command not in taken and command not in named
        if given >= MOST_COMMANDS or not is_kept or is_trivial(command):
            continue
        reading = read_command_line(command)
        purpose = purpose_of(command)
        is_long = len(command) > 200 or "\n" in command
        if reading.is_reading or reading.is_polish or not purpose or is_long or command in failed:
            continue
        if command.rsplit("/", 1)[-1].count("::") or re.search(
            r"(?: -k | --grep | -t |::)", command
        ):
            continue  # a single test
        given += 1
        yield _propose_command(command, None, 0.6, purpose)


def _named_commands(
    sentences: Sequence[SpokenSentence], worked: Counter[str], has_runs: bool
) -> dict[str, SpokenSentence]:
    """Return commands in code spans that a sentence says to use, if they worked in the session."""
    found: dict[str, SpokenSentence] = {}
    for at, sentence in enumerate(sentences):
        if "`" not in sentence.text or not wording.COMMAND_USE.search(sentence.text):
            continue
        if wording.QUESTION.search(sentence.bare) or wording.HEDGED.search(sentence.bare):
            continue
        if wording.CONDITIONAL.search(sentence.bare) or wording.UNDECIDED.search(sentence.bare):
            continue
        for command in wording.CODE.findall(sentence.text):
            command = _line(command)
            if " " not in command or not _SHELL_WORD.match(command) or is_trivial(command):
                continue
            reading = read_command_line(command)
            if reading.is_reading or reading.is_polish or not _is_command(command):
                continue
            ran = any(
                command == line or line.startswith(f"{command} ") or line.endswith(f"&& {command}")
                for line in worked
            )
            told = not has_runs and (
                bool(wording.WORKED.search(sentence.bare)) or _was_confirmed(sentences, at)
            )
            says = (
                sentence.speaker is Speaker.USER
                or _RECOMMENDS.search(sentence.bare) is not None
                or _was_confirmed(sentences, at)
            )
            if (ran and says) or told:
                found.setdefault(command, sentence)
    return found


def _was_confirmed(sentences: Sequence[SpokenSentence], at: int) -> bool:
    """Tell whether the user said next that it worked."""
    if sentences[at].speaker is Speaker.USER:
        return False
    later = [other for other in sentences[at + 1 : at + 20] if other.speaker is Speaker.USER]
    return any(
        wording.WORKED.search(other.bare) for other in later[:3] if other.step == later[0].step
    )


def _is_command(command: str) -> bool:
    """Tell whether a code span is a command and not a phrase or an expression."""
    first = command.split()[0]
    return bool(re.match(r"^(?:\./|[a-z][\w.-]{1,30}$|[A-Z_]+=)", first)) and not re.search(
        r"[(){};]|=>|==", command
    )


def _propose_command(
    command: str, sentence: SpokenSentence | None, strength: float, purpose: str = ""
) -> ExtractedProposal:
    purpose = purpose or purpose_of(command) or "Command that worked"
    content = f"`{command}`" if sentence is None else f"{sentence.text}\nCommand: `{command}`"
    text = ProposalText(
        ProposalKind.LESSON, make_title(f"{purpose}: {command}"), content, LessonType.REFERENCE
    )
    why = (
        "The command worked repeatedly." if sentence is None else "A command was named and worked."
    )
    return ExtractedProposal(text, why, f"command {command}", strength)


def _line(command: str) -> str:
    """Return a command on one line, without the folder and what only shortens its output."""
    command = re.sub(
        r"^cd \S+ && |\s*2>&1|\s*\|\s*(?:tail|head|tee)\b[^|&;]*$", "", command.strip()
    )
    return re.sub(r"\s*\|\s*(?:tail|head)\b[^|&;]*$", "", " ".join(command.split())).strip()
