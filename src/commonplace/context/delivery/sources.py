"""What a hook needs to build its output, and how the command `hook` asks for that output.

A hook lives for milliseconds. Modules that it imports use the small part of the standard library:
no pydantic, no dataclasses, no `re` where a string method does. Import this module for annotations
only (`if TYPE_CHECKING`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from commonplace.kernel.json_types import JsonObject

HOOK_BUDGET = 2_000  # tokens; clients take 10,000 characters, Codex about 2,500 tokens


class AnswerSource(Protocol):
    """Answers questions of a hook: a running server, or the index of rules that was kept on disk.

    Answers have the form of the tools' structured content. Errors of any kind are exceptions; the
    command turns them into an entry of its log and prints nothing.
    """

    @property
    def is_warm(self) -> bool:
        """Tell whether a server answers; otherwise there are rules and words only."""
        ...

    def rules_for(
        self,
        paths: Sequence[str],
        *,
        task: str = "",
        budget: int = HOOK_BUDGET,
        repo: str | None = None,
    ) -> JsonObject:
        """Return what the tool `rules_for` returns. `repo` adds the rule files of a folder."""
        ...

    def context(
        self,
        task: str,
        *,
        paths: Sequence[str] = (),
        since: str | None = None,
        budget: int = HOOK_BUDGET,
        repo: str | None = None,
    ) -> JsonObject:
        """Return what the tool `context` returns; without a server its rules only.

        `since` is the id of the last pack of the session, if it is still in the model's context.
        """
        ...


class HookDelivery(Protocol):
    """Turns an event of a client into the output of its hook.

    `commonplace hook EVENT [--client NAME]` calls `commonplace.context.delivery.hook.deliver`,
    which has this form. `client` is empty if it was not named: the payload tells. `folder` is the
    data folder; what a session was given may be kept in `folder/hooks`.
    """

    def __call__(
        self, event: str, client: str, payload: JsonObject, source: AnswerSource, folder: str
    ) -> bytes:
        """Return what the hook prints; empty where nothing applies."""
        ...
