"""Errors and their fixes: a command that failed, what was done, and the same command working."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.context.capture.engine import wording
from commonplace.context.capture.engine.commands import (
    CommandReading,
    has_failed,
    has_worked,
    read_command_line,
)
from commonplace.context.capture.engine.failures import (
    error_signature,
    find_error,
    is_plain_assertion,
)
from commonplace.context.capture.engine.sentences import SpokenSentence
from commonplace.context.capture.engine.statements import make_title
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

MOST_AHEAD = 120  # steps until a fix is found
MOST_FIXES = 20
BEFORE = 3  # steps before the failure that may tell of it
AFTER = 4  # steps after the success in which the fix is explained
MOST_COMMAND_SHOWN = 300
_INSTALLS = re.compile(
    r"\b(?:install|add|upgrade|update|downgrade|sync|link|unlink|enable|disable|config|set|chown|"
    r"chmod|migrate|generate|"
    r"prune|clean|clear|rm -rf|export|start|restart|pull|use|login|init|build|rebuild|reset|"
    r"create|createdb|drop|grant|alter)\b"
)
_CHANGES = re.compile(  # of programs that otherwise only look or tidy up
    r"(?:^|[;&|(]\s*|\bsudo )(?:rm -rf?|chmod|chown|ln -s|export|git config|p?kill)\b"
)
_LOOKS = re.compile(
    r" (?:show\w*|status|list|ls|info|version|plan|describe|get|view|inspect|check|doctor|why|"
    r"outdated|help|explain|tree|logs?|history)$"
)


@dataclass(frozen=True, slots=True)
class _Fix:
    """A failure at one step and the success at a later one."""

    failed_at: int
    last_failed_at: int  # with the same error
    gone_at: int  # the first run without this error
    worked_at: int
    error: str
    failed: CommandRun
    worked: CommandRun


def find_fixes(
    steps: Sequence[SessionStep], sentences: Sequence[SpokenSentence]
) -> list[tuple[ExtractedProposal, frozenset[int]]]:
    """Return the fixes, each with the steps that belong to it."""
    by_step: dict[int, list[SpokenSentence]] = {}
    for sentence in sentences:
        by_step.setdefault(sentence.step, []).append(sentence)
    found: dict[str, tuple[_Fix, ExtractedProposal]] = {}
    for fix in _pair(steps):
        signature = error_signature(fix.error)
        made = None if signature in found else _describe(fix, steps, by_step)
        if made is not None:
            found[signature] = fix, made
        if len(found) >= MOST_FIXES:
            break
    return [
        (made, frozenset(range(fix.failed_at - BEFORE, fix.worked_at + AFTER + 1)))
        for fix, made in found.values()
        if not any(_is_part_of(other, fix) for other, _ in found.values())
    ]


def _is_part_of(inner: _Fix, outer: _Fix) -> bool:
    """Tell whether the remedy of one failure failed itself: that one says more."""
    is_inside = outer.failed_at < inner.failed_at and inner.worked_at < outer.worked_at
    others = set(read_command_line(inner.failed.command).keys)
    return is_inside and not others & set(read_command_line(outer.failed.command).keys)


def _pair(steps: Sequence[SessionStep]) -> list[_Fix]:
    runs = [
        (at, step, read_command_line(step.command))
        for at, step in enumerate(steps)
        if isinstance(step, CommandRun)
    ]
    failing = {at: has_failed(step) for at, step, _ in runs}
    errors = {at: find_error(step.output) if failing[at] else "" for at, step, _ in runs}
    found: list[_Fix] = []
    for position, (at, run, reading) in enumerate(runs):
        if not failing[at] or reading.is_reading or reading.is_polish or not reading.keys:
            continue
        error = errors[at]
        if not error:
            continue
        signature, last_failed_at = error_signature(error), at
        gone_at: int | None = None
        for later, other, their in runs[position + 1 : position + 1 + MOST_AHEAD]:
            if later - at > MOST_AHEAD:
                break
            if not set(reading.keys) & set(their.keys) and not _is_variant(run, other, at, later):
                continue
            has_same = signature in error_signature(errors[later])
            if gone_at is None and not has_same:
                gone_at = later
            if failing[later]:
                if has_same:
                    gone_at, last_failed_at = None, later
                continue
            if has_worked(other) and gone_at is not None:
                found.append(_Fix(at, last_failed_at, gone_at, later, error, run, other))
            break
    return found


def _is_variant(failed: CommandRun, other: CommandRun, at: int, later: int) -> bool:
    """Tell whether a command soon after does the same by another program, as python3 for python."""
    theirs = read_command_line(other.command)
    if (
        later - at > 3
        or theirs.is_reading
        or _has_other_verb(read_command_line(failed.command), theirs)
    ):
        return False
    first, second = failed.command.split(), other.command.split()
    return (len(first) > 1 and len(second) > 1 and first[1:] == second[1:]) or (
        len(set(first) & set(second)) >= max(2, min(len(first), len(second)) * 0.6)
    )


def _has_other_verb(failed: CommandReading, other: CommandReading) -> bool:
    """Tell whether two commands ask the same program for something else."""
    programs = {key.split(" ")[0] for key in failed.keys if " " in key}
    others = {key.split(" ")[0] for key in other.keys if " " in key}
    return bool(programs & others) and not set(failed.keys) & set(other.keys)


def _describe(
    fix: _Fix, steps: Sequence[SessionStep], by_step: Mapping[int, list[SpokenSentence]]
) -> ExtractedProposal | None:
    """Describe a fix if the session says what the cause was or which command helped."""
    between = range(fix.failed_at + 1, fix.worked_at)
    if _was_expected(fix, by_step):
        return None
    cause, remedy = _explain(fix, steps, by_step)
    actions = [  # what was done before the same error happened again did not help
        step.command
        for at in range(fix.last_failed_at + 1, fix.worked_at)
        if isinstance(step := steps[at], CommandRun) and _is_action(step, fix)
    ]
    paths = dict.fromkeys(step.path for at in between if isinstance(step := steps[at], WrittenFile))
    is_other = _normal(fix.failed.command) != _normal(fix.worked.command)
    if not cause and not remedy:
        if is_plain_assertion(fix.error) or not (actions or (is_other and not paths)):
            return None
        if paths and not actions:
            return None
    if is_plain_assertion(fix.error) and not cause:
        return None
    told = fix.error if fix.error.lower().startswith(("error", "fatal")) else f"Error: {fix.error}"
    lines = [told, f"Command: `{_shown(fix.failed.command)}`"]
    if cause:
        lines.append(f"Cause: {cause}")
    if remedy and remedy != cause:
        lines.append(remedy if remedy.lower().startswith("fix") else f"Fix: {remedy}")
    if actions:
        lines.append("Helped: " + ", ".join(f"`{_shown(action)}`" for action in actions[-3:]))
    if paths:
        lines.append("Changed: " + ", ".join(_name(path) for path in list(paths)[-5:]))
    if is_other:
        lines.append(f"Worked: `{_shown(fix.worked.command)}`")
    type_ = LessonType.BUG if paths else LessonType.PITFALL
    strength = (
        0.95 if cause and (actions or paths or is_other) else 0.85 if actions or is_other else 0.75
    )
    text = ProposalText(ProposalKind.LESSON, make_title(fix.error), "\n".join(lines)[:8_000], type_)
    reason = "A command failed and worked later."
    return ExtractedProposal(text, reason, f"error {error_signature(fix.error)}", strength)


def _was_expected(fix: _Fix, by_step: Mapping[int, list[SpokenSentence]]) -> bool:
    """Tell whether the failure was meant: a test written before its code."""
    near = [*range(fix.failed_at - 1, fix.failed_at), *range(fix.failed_at + 1, fix.failed_at + 3)]
    return is_plain_assertion(fix.error) and any(
        wording.EXPECTED.search(sentence.bare) for at in near for sentence in by_step.get(at, ())
    )


def _explain(
    fix: _Fix, steps: Sequence[SessionStep], by_step: Mapping[int, list[SpokenSentence]]
) -> tuple[str, str]:
    """Return the cause and the remedy.

    What was said before the error happened again was wrong. An explanation after the success is
    better than one before it.
    """
    after: list[int] = []
    for at in range(fix.worked_at + 1, min(len(steps), fix.worked_at + 1 + AFTER)):
        step = steps[at]
        if isinstance(step, CommandRun) and has_failed(step):
            break
        if isinstance(step, SpokenText):
            after.append(at)
    before = list(range(fix.gone_at - 1, fix.last_failed_at, -1))
    cause = remedy = ""
    for at in (*after, *before):
        for sentence in by_step.get(at, ()):
            bare = sentence.bare
            if wording.QUESTION.search(bare) or wording.HEDGED.search(bare):
                continue
            if sentence.speaker is Speaker.USER and at in after and not wording.CAUSE.search(bare):
                continue
            if not cause and wording.CAUSE.search(bare):
                cause = sentence.text
            elif not remedy and wording.FIXED.search(bare) and len(bare.split()) > 5:
                remedy = sentence.text
        if cause and at not in after:
            break
    if not cause and not is_plain_assertion(fix.error):
        cause = _find_statement(before, by_step)
    return cause, remedy


def _find_statement(before: Sequence[int], by_step: Mapping[int, list[SpokenSentence]]) -> str:
    """Return what the assistant stated last before it changed something."""
    for at in before:
        stated = [
            sentence.text
            for sentence in by_step.get(at, ())
            if sentence.speaker is Speaker.ASSISTANT
            and len(sentence.bare.split()) >= 6
            and not wording.PLAN.search(sentence.bare)
            and not wording.QUESTION.search(sentence.bare)
            and not wording.HEDGED.search(sentence.bare)
        ]
        if stated:
            return stated[0]
    return ""


def _is_action(step: CommandRun, fix: _Fix) -> bool:
    """Tell whether a command between failure and success may have helped."""
    if not has_worked(step):
        return False
    reading = read_command_line(step.command)
    same = set(reading.keys) & set(read_command_line(fix.failed.command).keys)
    if same and not _INSTALLS.search(step.command):
        return False
    if reading.is_polish or any(_LOOKS.search(key) for key in reading.keys):
        return False
    return not reading.is_reading or _CHANGES.search(step.command) is not None


def _normal(command: str) -> str:
    """Return a command without what does not change its meaning."""
    command = re.sub(
        r"^cd \S+ && |\s*2>&1|\s*\|\s*(?:tail|head|grep|tee)\b[^|&;]*|\s-[qvx]+\b", "", command
    )
    return " ".join(command.split())


def _shown(command: str) -> str:
    line = " ".join(command.split())
    return (
        line
        if len(line) <= MOST_COMMAND_SHOWN
        else line[:MOST_COMMAND_SHOWN].rsplit(" ", 1)[0] + " …"
    )


def _name(path: str) -> str:
    """Return the end of a path: the rest names a machine."""
    parts = [part for part in re.split(r"[/\\]", path) if part]
    return "/".join(parts[-3:])
