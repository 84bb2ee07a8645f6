"""One event of a session: what to ask for it, and what its hook prints."""

from __future__ import annotations

from commonplace.context.delivery.composing import compose
from commonplace.context.delivery.event import HookEvent, Moment
from commonplace.context.delivery.forms import keeps_prompt, write_output
from commonplace.context.delivery.inquiry import DeliveryAnswer, DeliveryItem
from commonplace.context.delivery.places import RootFinder, find_repository
from commonplace.context.delivery.questions import NOTHING, Inquiries, edited_paths, inquire
from commonplace.context.delivery.sessions import HookSessions, SessionState


class SessionDelivery:
    """Answers the hooks of one tenant. No question is asked while a session is locked."""

    def __init__(
        self,
        sessions: HookSessions,
        tenant: str,
        find_root: RootFinder = find_repository,
    ) -> None:
        self._sessions = sessions
        self._tenant = tenant
        self._find_root = find_root

    def begin(self, event: HookEvent) -> Inquiries:
        """Return what to ask for an event."""
        if event.moment is Moment.OTHER:
            return NOTHING
        if not event.session:
            return inquire(event, SessionState(), self._find_root)
        # a subagent continues the work of its session
        asker = event._replace(agent="") if event.moment is Moment.SUBAGENT else event
        known = self._sessions.peek(self._tenant, asker)
        return inquire(event, known, self._find_root)

    def finish(
        self, event: HookEvent, inquiries: Inquiries, rules: DeliveryAnswer, context: DeliveryAnswer
    ) -> str:
        """Return what the hook prints, and remember it as delivered."""
        if event.moment in (Moment.OTHER, Moment.TOOL) and inquiries == NOTHING:
            return ""
        items = (*rules.items, *context.items)
        if not event.session:
            return _print(event, inquiries, items, SessionState())

        def change(state: SessionState) -> str:
            self._note(event, inquiries, state)
            output = _print(event, inquiries, items, state)
            state.pack = context.pack or state.pack
            return output

        return self._sessions.update(self._tenant, event, change)

    def _note(self, event: HookEvent, inquiries: Inquiries, state: SessionState) -> None:
        """Remember what the session works on."""
        if event.moment is Moment.SESSION_START:
            state.prompt, state.paths = "", []
        if event.moment in (Moment.SESSION_START, Moment.COMPACTED, Moment.COMPACTING):
            state.forget_delivered()
        if event.moment is Moment.COMPACTING:
            state.waiting = bool(state.prompt)
        elif event.moment in (Moment.PROMPT, Moment.SESSION_START) and event.prompt:
            state.prompt, state.waiting = _without_secrets(event.prompt), keeps_prompt(event)
        elif inquiries.context is not None:
            state.waiting = False
        if event.moment is Moment.EDIT:
            state.note_paths(inquiries.paths or edited_paths(event, self._find_root))


def _without_secrets(prompt: str) -> str:
    """Mask secrets in a prompt before it is stored; the search for them is slow to load."""
    if all(word.isalpha() or len(word) < 8 for word in prompt.split()):
        return prompt
    from commonplace.kernel.secrets.detection import find_secrets, mask_secrets

    return mask_secrets(prompt, find_secrets(prompt))


def _print(
    event: HookEvent, inquiries: Inquiries, items: tuple[DeliveryItem, ...], state: SessionState
) -> str:
    composed = compose(event, items, inquiries.paths, state)
    for ref, fingerprint in composed.delivered:
        state.note_delivered(ref, fingerprint)
    return write_output(event, composed.text) if composed.text else ""
