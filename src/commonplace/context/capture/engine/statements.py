"""Statements that are worth keeping: rules and decisions, and facts that are to be remembered.

Rules come from the user alone: what a tool prints or a model writes is never an order.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from commonplace.context.capture.engine import wording
from commonplace.context.capture.engine.sentences import SpokenSentence
from commonplace.context.capture.engine.similarity import (
    StatementShape,
    compare,
    read_shape,
)
from commonplace.context.capture.model import (
    TITLE_CHARACTERS,
    ExtractedProposal,
    LessonType,
    ProposalKind,
    ProposalText,
)
from commonplace.context.capture.transcript import Speaker

LEAST_WORDS = 4
MOST_REVERSALS = 50
MOST_AHEAD = 200  # sentences until the user answers
_LEADING = re.compile(
    r"^(?:(?:no|ok(?:ay)?|and|but|so|also|again|well|oh|hey|yes|right|great|good|thanks|thank you|"
    r"thx|ty|cheers|please|btw|by the way|one more thing|alright|"
    r"fine|actually|wait|hm+|listen|important|sure|then|cool|perfect|nice)\b[,;.!:—\u2013-]*\s+)+",
    re.I,
)
_LABEL = re.compile(
    r"^(?:(?:(?:new |general )?rule|convention|decision|final decision|lessons? learned|lesson|"
    r"gotcha|pitfall|caveat|til|note(?: to self)?|takeaway|fyi|for the record|heads[- ]up|"
    r"remember|please remember|keep in mind|bear in mind|don'?t forget|reminder|entscheidung|"
    r"décision|decisión|merke?|à retenir|recuerda|ojo|nota)"
    r"(?:,? that\b|,? que\b|,? dass\b)?\s?[:,—\u2013-]?\s+)",
    re.I,
)
_TASK = re.compile(
    r"^(?:can you|could you|please (?:add|fix|write|create|implement|change|update|rename|move|"
    r"remove|check|look|run|show|explain|refactor)|add|fix|write|create|implement|refactor|rename|"
    r"look|check|show|explain)\b",
    re.I,
)
_GENERAL = re.compile(
    r"(?i)\b(?:always|never|from now on|going forward|in (?:the )?future|every|each|all|any|"
    r"whenever|convention|policy|rule|ab jetzt|immer|nie|niemals|künftig|désormais|toujours|"
    r"jamais|siempre|nunca|adelante)\b"
)
_LASTING = re.compile(
    r"(?i)\b(?:from now on|going forward|(?:in|for) (?:the |all )?future|always|never|ab jetzt|"
    r"ab sofort|künftig|immer|niemals|désormais|toujours|jamais|de ahora|siempre|nunca)\b"
)
_LAST_STOP = re.compile(r"(?<=[\w)\]\"'`])[.!:]$")
_OBJECTION = re.compile(
    r"(?i)^(?:no\b|nope|don'?t|wrong|that'?s (?:not|wrong)|stop|revert|undo|actually|wait|nein|"
    r"non\b)"
)
_PRONOUN_ONLY = re.compile(
    r"(?i)^(?:it|this|that|these|those|they|he|she|the (?:first|second|third|last|former|latter|"
    r"other) (?:one|option)|option \w+|\w)$"
)
_SECRET_FACT = re.compile(
    r"(?i)\b(?:password|passphrase|secret|token|key|pin|credential\w*|kennwort|passwort|"
    r"contraseña|mot de passe)\b.{0,30}\[masked\]"
)


def find_rules(
    sentences: Sequence[SpokenSentence],
) -> Iterator[tuple[SpokenSentence, ExtractedProposal]]:
    """Yield the rules that the user stated for later sessions."""
    for sentence in sentences:
        if sentence.speaker is not Speaker.USER or not _is_rule(sentence):
            continue
        text = _clean(sentence.text)
        if not _has_content(text):
            continue
        strength = 0.9 if _GENERAL.search(sentence.bare) else 0.7
        yield (
            sentence,
            _propose(
                ProposalKind.RULE,
                LessonType.PATTERN,
                text,
                text,
                "The user stated a rule.",
                strength,
            ),
        )


def _is_rule(sentence: SpokenSentence) -> bool:
    bare = sentence.bare
    if not wording.RULE.search(bare) or wording.QUESTION.search(bare):
        return False
    if _is_decision(bare):
        return False
    if wording.REPORTED.search(bare) or wording.DESCRIBES.search(bare):
        return False
    lasting = _LASTING.search(bare)
    if wording.FOR_NOW.search(bare) and not lasting:
        return False
    if wording.CONDITIONAL.search(bare) and not _GENERAL.search(bare):
        return False
    if wording.HEDGED.search(bare) and not lasting:
        return False
    return not (_TASK.match(_LEADING.sub("", bare)) and not _GENERAL.search(bare))


def _is_decision(bare: str) -> bool:
    """Tell whether a sentence says what was chosen, not how to work."""
    if wording.DECIDED.search(bare):
        return True
    starts = re.match(r"(?i)let'?s ", _LEADING.sub("", bare))
    return bool(starts) and not _LASTING.search(bare)


def find_decisions(
    sentences: Sequence[SpokenSentence],
) -> Iterator[tuple[SpokenSentence, ExtractedProposal]]:
    """Yield what was decided, with its reason."""
    for at, sentence in enumerate(sentences):
        bare = sentence.bare
        is_decided = bool(wording.DECIDED.search(bare))
        is_proposed = sentence.speaker is Speaker.USER and bool(
            wording.PROPOSED.search(_LEADING.sub("", bare))
        )
        if not (is_decided or is_proposed) or _is_open(bare):
            continue
        if sentence.speaker is Speaker.USER and not is_decided and _is_rule(sentence):
            continue
        reason = _find_reason(sentences, at)
        has_reason = bool(wording.REASON.search(bare)) or bool(reason)
        has_contrast = bool(wording.CONTRAST.search(bare))
        if sentence.speaker is Speaker.ASSISTANT:
            keep = is_decided and (has_reason or has_contrast) and not _is_rejected(sentences, at)
        else:
            explicit = is_decided and not re.search(
                r"(?i)\b(?:chose|picked|went with|opted|i(?:'ve| have)? decided)\b", bare
            )
            keep = (
                explicit
                or (has_contrast and (has_reason or is_decided))
                or (is_decided and has_reason)
                or (is_proposed and has_reason)
            )
        text = _clean(sentence.text)
        if not keep or not _has_content(text) or (wording.FOR_NOW.search(bare) and not is_decided):
            continue
        content = text if not reason or wording.REASON.search(bare) else f"{text} {reason}"
        strength = 0.85 if is_decided else 0.7
        who = "The user" if sentence.speaker is Speaker.USER else "The assistant"
        yield (
            sentence,
            _propose(
                ProposalKind.LESSON,
                LessonType.DECISION,
                text,
                content,
                f"{who} stated a decision.",
                strength - (0.15 if sentence.speaker is Speaker.ASSISTANT else 0),
            ),
        )


def _is_open(bare: str) -> bool:
    return bool(
        wording.QUESTION.search(bare)
        or wording.CONDITIONAL.search(bare)
        or wording.UNDECIDED.search(bare)
        or (
            wording.HEDGED.search(bare)
            and not re.search(r"(?i)\b(?:decided|decision|agreed)\b", bare)
        )
        or wording.REPORTED.search(bare)
    )


def _find_reason(sentences: Sequence[SpokenSentence], at: int) -> str:
    """Return the next sentence of the same text if it gives a reason."""
    sentence = sentences[at]
    for following in sentences[at + 1 : at + 2]:
        if following.step != sentence.step:
            break
        starts = re.match(
            r"(?i)^(?:because|reason|the reason|that way|otherwise|it (?:is|has|gives|avoids|"
            r"keeps|already)|they|we (?:already|don'?t|need|have|want|can'?t|only)|weil|denn|"
            r"parce|car|porque|\w+ (?:is|are|was|were|cannot|can'?t|doesn'?t|does not|has|have|"
            r"locks?|needs?|would)\b)",
            following.bare,
        )
        if (
            starts
            and not wording.QUESTION.search(following.bare)
            and not _TASK.match(following.bare)
        ):
            return following.text
    return ""


def _is_rejected(sentences: Sequence[SpokenSentence], at: int) -> bool:
    """Tell whether the user objected to what the assistant said."""
    for later in islice(sentences, at + 1, at + 1 + MOST_AHEAD):
        if later.speaker is Speaker.USER:
            return bool(_OBJECTION.match(later.text))
    return False


def find_remembered(
    sentences: Sequence[SpokenSentence],
) -> Iterator[tuple[SpokenSentence, ExtractedProposal]]:
    """Yield facts that somebody said should be remembered."""
    for at, sentence in enumerate(sentences):
        bare = sentence.bare
        if not wording.REMEMBER.search(bare) or wording.QUESTION.search(bare):
            continue
        if wording.REPORTED.search(bare) or wording.HEDGED.search(bare):
            continue
        is_user = sentence.speaker is Speaker.USER
        labelled = re.search(
            r"(?i)lesson|gotcha|pitfall|\btil\b|note to self|takeaway|next time|worth|merke|"
            r"retenir",
            bare,
        )
        if not is_user and (not labelled or _is_rejected(sentences, at)):
            continue  # `note that` of a model is talk
        if is_user and re.match(
            r"(?i)^(?:please )?(?:note|don'?t forget|remember),? (?:to(?! self)|the)\b", bare
        ):
            continue  # a request about the task
        if wording.FOR_NOW.search(bare):
            continue
        text = _clean(sentence.text)
        if not _has_content(text) or _SECRET_FACT.search(text):
            continue
        type_ = LessonType.PITFALL if labelled else LessonType.REFERENCE
        yield (
            sentence,
            _propose(ProposalKind.LESSON, type_, text, text, "It was said to be remembered.", 0.8),
        )


@dataclass(frozen=True, slots=True)
class _Reversal:
    """A sentence that takes something back."""

    place: tuple[int, int]
    words: frozenset[str]  # of the whole message
    shape: StatementShape
    is_short: bool
    message_before: int  # step of the user's message before it

    def concerns(self, sentence: SpokenSentence) -> bool:
        """Tell whether it is about a statement: it shares words, or follows it directly."""
        if sentence.place >= self.place:
            return False
        shape = read_shape(sentence.text)
        if len(shape.words & self.words) >= 2 or compare(shape, self.shape) > 0.2:
            return True
        return self.is_short and sentence.step == self.message_before


def drop_reversed(
    found: Sequence[tuple[SpokenSentence, ExtractedProposal]], sentences: Sequence[SpokenSentence]
) -> list[ExtractedProposal]:
    """Leave out what the user took back later."""
    reversals = _find_reversals(sentences)
    return [
        proposal
        for sentence, proposal in found
        if not any(reversal.concerns(sentence) for reversal in reversals)
    ]


def _find_reversals(sentences: Sequence[SpokenSentence]) -> list[_Reversal]:
    users = [sentence for sentence in sentences if sentence.speaker is Speaker.USER]
    messages = sorted({sentence.step for sentence in users})
    found = [sentence for sentence in users if wording.REVERSED.search(sentence.bare)]
    reversals = []
    for back in found[-MOST_REVERSALS:]:
        same = [read_shape(other.text).words for other in users if other.step == back.step]
        at = bisect_left(messages, back.step)
        reversals.append(
            _Reversal(
                back.place,
                frozenset().union(*same[:20]),
                read_shape(back.text),
                len(back.text.split()) <= 8,
                messages[at - 1] if at else -1,
            )
        )
    return reversals


def _clean(text: str) -> str:
    """Return a statement without the words that only begin it."""
    before = None
    while before != text:
        before = text
        text = _LABEL.sub("", _LEADING.sub("", text))
    text = text.strip()
    return text[:1].upper() + text[1:] if text[:1].islower() and text[:1] != "`" else text


def _has_content(text: str) -> bool:
    words = read_shape(text.replace("[masked]", " ")).words
    return len(text.split()) >= LEAST_WORDS and len(words) >= 2


def make_title(text: str) -> str:
    """Return a title of at most 100 characters, cut between words."""
    line = _LAST_STOP.sub("", " ".join(text.split()))
    if len(line) <= TITLE_CHARACTERS:
        return line
    cut = line[: TITLE_CHARACTERS - 1]
    return cut[: cut.rfind(" ")].rstrip(",;: ") + "…" if " " in cut else cut + "…"


def _propose(
    kind: ProposalKind, type_: LessonType, title: str, content: str, reason: str, strength: float
) -> ExtractedProposal:
    anchor = " ".join(sorted(read_shape(title).words)) + (
        " not" if read_shape(title).negated else ""
    )
    return ExtractedProposal(
        ProposalText(kind, make_title(title), content, type_), reason, anchor, strength
    )
