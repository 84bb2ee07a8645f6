"""Cut the texts of entries into passages, so that a model reads all of a long one.

The first passage of a text is its beginning, as far as the model reads. A text that is longer than
`WHOLE_CHARACTERS` has further, short passages that cover all of it: a short passage says one thing,
so its vector is near to questions about that thing, wherever in the text it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.memory.model import Entry

WHOLE_CHARACTERS = 600  # a shorter text is one passage
PASSAGE_CHARACTERS = 450
LARGEST_CHARACTERS = 1_000  # about what a small model reads at once
SUBJECT_CHARACTERS = 200
MOST_PASSAGES = 64  # of the text, and as many of the conversation
# Largest passage, and characters up to which a paragraph is joined with the next: tried in this
# order until the passages are not too many.
_SIZES = (
    (PASSAGE_CHARACTERS, 60),
    (PASSAGE_CHARACTERS, PASSAGE_CHARACTERS),
    (LARGEST_CHARACTERS, LARGEST_CHARACTERS),
)
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")
MARK = "\x1e"  # between the key of an entry and the number of a passage


def summary_passages(entry: Entry) -> tuple[str, ...]:
    """Return the passages of title, content and tags; each of the short ones has the title."""
    body = "\n\n".join(part for part in (entry.content, " ".join(entry.tags)) if part)
    parts = _cut(body) if len(entry.text) > WHOLE_CHARACTERS else ()
    return (entry.text, *(f"{entry.title}\n{part}" for part in parts))


def context_passages(entry: Entry) -> tuple[str, ...]:
    """Return the passages of the conversation; none without one."""
    if not entry.context.strip():
        return ()
    parts = _cut(entry.context) if len(entry.context) > WHOLE_CHARACTERS else ()
    return (entry.context, *parts)


def passage_key(key: str, number: int) -> str:
    """Return the key of a passage; the first one has the key of its entry."""
    return f"{key}{MARK}{number}" if number else key


def newest_lines(context: str, characters: int) -> str:
    """Return the last lines of a conversation that fit; of a longer line its end."""
    kept = context.strip()[-characters:]
    if len(kept) < len(context.strip()):
        kept = kept.partition("\n")[2].strip() or kept
    return kept


def is_subject(context: str) -> bool:
    """Say whether a context is a line that names a subject, and not a conversation."""
    return len(context) <= SUBJECT_CHARACTERS and "\n" not in context.strip()


def _cut(text: str) -> tuple[str, ...]:
    """Return passages that follow paragraphs and sentences; longer ones if they were too many."""
    text = text[: 2 * MOST_PASSAGES * LARGEST_CHARACTERS]  # of the rest, nothing could be kept
    passages: tuple[str, ...] = ()
    for size, short in _SIZES:
        passages = tuple(_pack(text, size, short))
        if len(passages) < MOST_PASSAGES:
            break
    return passages[: MOST_PASSAGES - 1]


def _pack(text: str, size: int, short: int) -> Iterator[str]:
    """Yield passages of at most `size` characters.

    A paragraph begins a passage, unless the one before is shorter than `short`.
    """
    passage = ""
    for paragraph in _PARAGRAPH.split(text):
        begins = True
        for sentence in _sentences(paragraph, size):
            full = len(passage) + 1 + len(sentence) > size
            if passage and (full or (begins and len(passage) >= short)):
                yield passage
                passage = ""
            passage = f"{passage} {sentence}" if passage else sentence
            begins = False
    if passage:
        yield passage


def _sentences(paragraph: str, size: int) -> Iterator[str]:
    """Yield sentences; pieces of those that are too long, cut at white space if there is any."""
    for sentence in _SENTENCE.split(paragraph):
        rest = sentence.strip()
        while len(rest) > size:
            end = rest.rfind(" ", size // 2, size)
            end = end if end > 0 else size
            yield rest[:end]
            rest = rest[end:].lstrip()
        if rest:
            yield rest
