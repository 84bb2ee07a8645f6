"""Turn what a caller offers into a draft: cleaned, within the limits, without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.secrets.detection import find_secrets, mask_secrets
from commonplace.memory.anchors import ANCHORS, CodeAnchor
from commonplace.memory.errors import ENTRY_TOO_LARGE, SECRET_REFUSED, failure
from commonplace.memory.model import (
    Draft,
    Entry,
    EntryType,
    MemoryType,
    SecretHandling,
    join_anchors,
)
from commonplace.memory.text import (
    CONTENT_CHARACTERS,
    PROJECT_CHARACTERS,
    TAG_CHARACTERS,
    TAGS,
    TITLE_CHARACTERS,
    clean_context,
    clean_project,
    clean_tags,
    clean_text,
    clean_title,
)


class SecretScreen:
    """Masks or refuses the secrets in the texts of one entry, and collects their kinds."""

    def __init__(self, handling: SecretHandling) -> None:
        self._handling = handling
        self.masked: dict[str, None] = {}  # kinds, in the order in which they were found

    def apply(self, text: str) -> str:
        """Return the text with its secrets masked; raises SECRET_REFUSED if the setting says so."""
        secrets = find_secrets(text)
        if not secrets:
            return text
        kinds = dict.fromkeys(secret.kind for secret in secrets)
        if self._handling == "refuse":
            raise failure(
                SECRET_REFUSED,
                f"The text contains what looks like a credential ({', '.join(kinds)}); "
                "nothing was saved.",
                hint="Remove it and add the entry again, or set memory.secrets to mask.",
                kinds=list(kinds),
            )
        self.masked |= kinds
        return mask_secrets(text, secrets)


def make_draft(
    type_: EntryType,
    title: str,
    content: str = "",
    tags: Sequence[str] = (),
    context: str = "",
    project: str | None = None,
    confidence: int = 3,
    memory_type: MemoryType = MemoryType.EPISODIC,
    anchors: Sequence[CodeAnchor] = (),
    *,
    secrets: SecretHandling,
) -> Draft:
    """Clean the texts of an entry, check their sizes and screen them for secrets."""
    content = clean_text(content)
    if not clean_text(title).strip():
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "The title is empty.",
            hint=f"Give a title of 1 to {TITLE_CHARACTERS} characters that says what was learned.",
            details={"field": "title"},
        )
    kept_context, truncated = clean_context(context)
    kept_tags = clean_tags(tags)
    project = clean_project(project)
    _check_sizes(content, kept_tags, project, anchors)
    screen = SecretScreen(secrets)
    title, content, kept_context = map(screen.apply, (title, content, kept_context))
    kept_tags = tuple(map(screen.apply, kept_tags))
    project = screen.apply(project) if project else None
    kept_anchors = _screen_anchors(anchors, screen)
    return Draft(
        type=type_,
        title=clean_title(title, content),
        content=content,
        tags=kept_tags,
        context=kept_context,
        project=project,
        confidence=confidence,
        memory_type=memory_type,
        context_truncated=truncated,
        masked=tuple(screen.masked),
        anchors=join_anchors((), kept_anchors),
    )


def screen_entry(entry: Entry, secrets: SecretHandling) -> Entry:
    """Mask the secrets of an imported entry; raises SECRET_REFUSED if the setting says so."""
    screen = SecretScreen(secrets)
    title, content, context = map(screen.apply, (entry.title, entry.content, entry.context))
    tags = tuple(map(screen.apply, entry.tags))
    project = screen.apply(entry.project) if entry.project else None
    anchors = _screen_anchors(entry.anchors, screen)
    if not screen.masked:
        return entry
    return replace(
        entry,
        title=clean_title(title, content),
        content=content,
        context=context,
        tags=clean_tags(tags),
        project=project,
        anchors=tuple(anchors),
    )


def _screen_anchors(anchors: Sequence[CodeAnchor], screen: SecretScreen) -> list[CodeAnchor]:
    """Return the anchors whose names have no secret; masked, they would name nothing."""
    return [
        anchor
        for anchor in anchors
        if all(
            text == screen.apply(text)
            for text in (anchor.repository, anchor.path, anchor.symbol or "")
        )
    ]


def _check_sizes(
    content: str, tags: Sequence[str], project: str | None, anchors: Sequence[CodeAnchor]
) -> None:
    sizes = (
        ("content", len(content), CONTENT_CHARACTERS, "characters"),
        ("tags", len(tags), TAGS, "tags"),
        ("tags", max(map(len, tags), default=0), TAG_CHARACTERS, "characters in a tag"),
        ("project", len(project or ""), PROJECT_CHARACTERS, "characters"),
        ("anchors", len(anchors), ANCHORS, "anchors"),
    )
    for name, size, limit, unit in sizes:
        if size > limit:
            raise failure(
                ENTRY_TOO_LARGE,
                f"{name} has {size} {unit}; the limit is {limit}.",
                hint="Shorten it, or store the long text as a file.",
                field=name,
                size=size,
                limit=limit,
            )
