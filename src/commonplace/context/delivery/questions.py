"""Which questions an event raises, from the event and what the session knows."""

from __future__ import annotations

from typing import NamedTuple

from commonplace.context.delivery.event import HookEvent, Moment
from commonplace.context.delivery.forms import takes_text
from commonplace.context.delivery.inquiry import ContextInquiry, RulesInquiry
from commonplace.context.delivery.places import RootFinder, repository_path
from commonplace.context.delivery.sessions import SessionState

MAX_PATH_CHARS = 1_024  # of a repository path


class Inquiries(NamedTuple):
    """What to ask for an event. `paths` are those that the answer is about."""

    rules: RulesInquiry | None = None
    context: ContextInquiry | None = None
    paths: tuple[str, ...] = ()


NOTHING = Inquiries()


def inquire(event: HookEvent, known: SessionState, find_root: RootFinder) -> Inquiries:
    """Return what to ask; nothing where an answer would not reach the model."""
    if not takes_text(event):
        return NOTHING
    since = None if event.moment is Moment.COMPACTED else known.pack
    if event.moment is Moment.PROMPT:
        return _about_task(event.prompt, since)
    if event.moment is Moment.SESSION_START:
        return Inquiries(rules=RulesInquiry(())) if not event.prompt else _about_task(event.prompt)
    if event.moment is Moment.SUBAGENT:
        return Inquiries(RulesInquiry(tuple(known.paths)), paths=tuple(known.paths))
    if event.moment is Moment.COMPACTED:
        paths = tuple(known.paths)
        again = _about_task(known.prompt).context
        return Inquiries(RulesInquiry(paths, known.prompt), again, paths)
    waiting = _about_task(known.prompt, since) if known.waiting else NOTHING
    if event.moment is Moment.EDIT:
        paths = edited_paths(event, find_root)
        if paths:
            return Inquiries(RulesInquiry(paths, known.prompt), waiting.context, paths)
    return waiting


def edited_paths(event: HookEvent, find_root: RootFinder) -> tuple[str, ...]:
    """Return the paths of an edit relative to their repositories, without those outside of any."""
    relative = (repository_path(path, event.roots, find_root) for path in event.paths)
    return tuple(dict.fromkeys(path for path in relative if path is not None and _is_usable(path)))


def _is_usable(path: str) -> bool:
    """Tell whether rules can be asked for a path."""
    is_relative = not path.startswith("~") and path[1:3] != ":/"  # a drive of another system
    return len(path) <= MAX_PATH_CHARS and path.isprintable() and is_relative


def _about_task(task: str, since: str | None = None) -> Inquiries:
    return Inquiries(context=ContextInquiry(task, since=since)) if task.strip() else NOTHING
