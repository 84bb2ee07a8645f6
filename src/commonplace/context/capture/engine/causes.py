"""Causes of problems that were told in words, without a command that failed and worked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from commonplace.context.capture.engine import wording
from commonplace.context.capture.engine.sentences import SpokenSentence
from commonplace.context.capture.engine.similarity import read_shape
from commonplace.context.capture.engine.statements import make_title
from commonplace.context.capture.model import (
    ExtractedProposal,
    LessonType,
    ProposalKind,
    ProposalText,
)
from commonplace.context.capture.transcript import SessionStep, Speaker, WrittenFile

MOST_CAUSES = 50
MOST_STEPS = 60  # between a problem and the user's answer


def find_causes(
    steps: Sequence[SessionStep], sentences: Sequence[SpokenSentence], explained: frozenset[int]
) -> Iterator[ExtractedProposal]:
    """Yield causes that were told without a command that failed, and then settled."""
    last: dict[int, ExtractedProposal] = {}
    told = [
        (at, sentence)
        for at, sentence in enumerate(sentences)
        if sentence.step not in explained and wording.STRONG_CAUSE.search(sentence.bare)
    ]
    for at, sentence in told[-MOST_CAUSES:]:
        bare = sentence.bare
        if (
            wording.QUESTION.search(bare)
            or wording.HEDGED.search(bare)
            or wording.REPORTED.search(bare)
        ):
            continue
        if len(bare.split()) < 6 or not _was_settled(steps, sentences, sentence):
            continue
        remedy = next(
            (
                other.text
                for other in sentences[at + 1 : at + 6]
                if other.step == sentence.step and wording.FIXED.search(other.bare)
            ),
            "",
        )
        content = f"{sentence.text} {remedy}".strip()
        shape = read_shape(sentence.text)
        anchor = "cause " + " ".join(sorted(shape.words))
        text = ProposalText(ProposalKind.LESSON, make_title(sentence.text), content, LessonType.BUG)
        # of several explanations of one problem the last one holds
        last[_turn(sentences, sentence)] = ExtractedProposal(
            text, "The cause of a problem was found.", anchor, 0.75
        )
    yield from last.values()
    yield from _find_confirmed(steps, sentences, explained, frozenset(last))


def _turn(sentences: Sequence[SpokenSentence], sentence: SpokenSentence) -> int:
    """Return the step of the user's message before a sentence."""
    steps = [
        other.step
        for other in sentences
        if other.speaker is Speaker.USER and other.step < sentence.step
    ]
    return max(steps, default=-1)


def _was_settled(
    steps: Sequence[SessionStep], sentences: Sequence[SpokenSentence], sentence: SpokenSentence
) -> bool:
    """Tell whether something was changed for a cause, or the user agreed."""
    if sentence.speaker is Speaker.USER:
        return True
    near = steps[max(0, sentence.step - 4) : sentence.step + 8]
    if any(isinstance(step, WrittenFile) for step in near):
        return True
    if any(other.step == sentence.step and wording.FIXED.search(other.bare) for other in sentences):
        return True
    later = [
        other for other in sentences if other.speaker is Speaker.USER and other.step > sentence.step
    ]
    return bool(later) and wording.CONFIRMED.match(later[0].text) is not None


def _find_confirmed(
    steps: Sequence[SessionStep],
    sentences: Sequence[SpokenSentence],
    explained: frozenset[int],
    told: frozenset[int],
) -> Iterator[ExtractedProposal]:
    """Yield problems of the user that were explained, changed, and confirmed as solved."""
    by_step: dict[int, list[SpokenSentence]] = {}
    for sentence in sentences:
        by_step.setdefault(sentence.step, []).append(sentence)
    messages = [step for step, said in by_step.items() if said[0].speaker is Speaker.USER]
    for asked, answered in pairwise(messages):
        if asked in told or answered - asked > MOST_STEPS:
            continue
        if not explained.isdisjoint(range(asked, answered)):
            continue  # a fix tells it already
        problem = next((said for said in by_step[asked] if wording.PROBLEM.search(said.bare)), None)
        confirmed = any(wording.WORKED.search(said.bare) for said in by_step[answered])
        changed = any(isinstance(step, WrittenFile) for step in steps[asked:answered])
        if problem is None or not confirmed or not changed:
            continue
        cause = _first_statement(by_step, range(asked + 1, answered))
        if cause:
            title = make_title(problem.text)
            anchor = "solved " + " ".join(sorted(read_shape(problem.text).words))
            text = ProposalText(
                ProposalKind.LESSON, title, f"{problem.text}\nCause: {cause}", LessonType.BUG
            )
            yield ExtractedProposal(text, "The user confirmed that it was solved.", anchor, 0.7)


def _first_statement(by_step: Mapping[int, Sequence[SpokenSentence]], steps: range) -> str:
    """Return what the assistant stated first about a problem."""
    for step in steps:
        for sentence in by_step.get(step, ()):
            bare = sentence.bare
            is_talk = any(
                pattern.search(bare) for pattern in (wording.PLAN, wording.QUESTION, wording.HEDGED)
            )
            if len(bare.split()) >= 6 and not is_talk:
                return sentence.text
    return ""
