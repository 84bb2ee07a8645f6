"""What an instruction was: its history with differences, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.instructions.engine.entry import bump
from commonplace.instructions.engine.normalise import mend_change_log
from commonplace.instructions.errors import CHANGE_NOT_FOUND, INSTRUCTION_NOT_FOUND
from commonplace.instructions.model import Actor, Instruction, stored_form
from commonplace.instructions.service import Service
from commonplace.instructions.store.folder import Change
from commonplace.instructions.store.history import describe
from commonplace.instructions.usecases.writing import Writing, expect
from commonplace.kernel.errors import CommonplaceError

HISTORY_SHOWN = 50


class Undo:
    """History and restore. History only goes forward: what is restored is a new version."""

    def __init__(self, service: Service, writing: Writing) -> None:
        self._service = service
        self._writing = writing
        self._shelf = service.shelf

    def history(self, id_: str, limit: int, actor: Actor) -> dict[str, Any]:
        """The change log and every recorded change with what it did, newest first."""
        with self._shelf.lock:
            current = self._shelf.fresh().get(id_)
        changes = self._shelf.history.changes(id_)
        shown: list[dict[str, Any]] = []
        following: Mapping[str, Any] | None = stored_form(current.document) if current else None
        for change in reversed(changes):
            before = change["before"]
            after = change.get("after", following)
            deleted = change is changes[-1] and _deleted(change, following)  # by hand, since
            if (
                before != following or deleted
            ):  # a change that was begun and never made leaves no trace
                if actor.sees_all or change.get("tenant") == actor.tenant:
                    listed = {
                        name: change[name]
                        for name in ("change", "at", "action", "by", "agent")
                        if name in change
                    }
                    listed["version"] = (after or before or {}).get("version")
                    shown.append({**listed, "diff": describe(before, after)})
                following = before
        if current is None and not shown:
            return {"id": id_[:200], "notFound": True, "changes": [], "count": 0, "changeLog": []}
        log = current.document["changeLog"] if current else []
        return {
            "id": id_,
            "exists": current is not None,
            "changeLog": log,
            "count": len(shown),
            "changes": shown[: min(limit, HISTORY_SHOWN)],
        }

    def restore(
        self, id_: str, change: int | None, *, expected_hash: str | None, actor: Actor
    ) -> dict[str, Any]:
        """Bring back what an instruction was before a change: the latest one, or the one
        numbered.
        """
        with self._shelf.writing() as catalogue:
            self._shelf.look_at(id_)
            existing = catalogue.get(id_)
            expect(expected_hash, existing, catalogue.hash)
            present = stored_form(existing.document) if existing else None
            candidates = [
                line
                for line in self._shelf.history.changes(id_)
                if (
                    line["change"] == change
                    if change is not None
                    else line["before"] != present or _deleted(line, present)
                )
                and (actor.sees_all or line.get("tenant") == actor.tenant)
            ]
            if not candidates:
                raise CommonplaceError(
                    CHANGE_NOT_FOUND,
                    f"The history of {id_[:130]} holds nothing to restore.",
                    hint="instructions_history lists the changes with their numbers.",
                    details={"id": id_[:200], "change": change},
                )
            before = candidates[-1]["before"]
            last = candidates[-1].get("after")
            if (
                change is None and last is not None and last != present
            ):  # changed or deleted by hand since: undo that
                before = last
            if before is None:
                if existing is None:
                    raise CommonplaceError(
                        INSTRUCTION_NOT_FOUND,
                        f"{id_} does not exist, and did not exist before that change either.",
                    )
                self._shelf.commit([Change(id_, None, None, "restore")], actor)
                return {
                    "id": id_,
                    "restored": True,
                    "removed": True,
                    "change": candidates[-1]["change"],
                    "hash": catalogue.hash,
                }
            restored = self._writing.change(self._restored(before, existing), "restore")
            self._shelf.commit([restored], actor)
            assert restored.after is not None
            return {
                **self._writing.added(restored.after, content=restored.content),
                "restored": True,
                "change": candidates[-1]["change"],
            }

    def _restored(self, before: Mapping[str, Any], existing: Instruction | None) -> dict[str, Any]:
        """The old content as a new version: history only goes forward."""
        document = dict(before)
        now = self._service.now()
        document["updatedAt"] = now
        if existing is not None:
            document["version"] = bump(str(existing.document["version"]), "patch")
            log = mend_change_log(
                existing.document["changeLog"], str(existing.document["version"]), now
            )
            document["changeLog"] = [
                *log,
                {
                    "version": document["version"],
                    "changedAt": now,
                    "summary": f"restored {before.get('version')}",
                },
            ]
        return document


def _deleted(line: Mapping[str, Any], present: Mapping[str, Any] | None) -> bool:
    """Tell whether a change made an instruction that is no longer there."""
    return present is None and line.get("after") is not None
