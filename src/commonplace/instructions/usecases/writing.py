"""The catalogue's use cases, writing side: add, import, remove, and the history that undoes them.

Each runs in the caller's thread, waits for the disk, and answers only when the change is durable
and visible to every process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.entry import (
    ADD_SCHEMA,
    Origin,
    Problem,
    Refused,
    check_id,
    compose,
    warnings_of,
)
from commonplace.instructions.engine.normalise import NotAnInstruction
from commonplace.instructions.errors import (
    CATALOGUE_UNWRITABLE,
    CONFIRMATION_REQUIRED,
    HASH_MISMATCH,
    REMOVE_MISSING,
)
from commonplace.instructions.model import (
    WARN_BODY_CHARS,
    Actor,
    Instruction,
    is_reserved_id,
    is_valid_id,
    stored_form,
)
from commonplace.instructions.service import Service
from commonplace.instructions.store.folder import Change
from commonplace.instructions.usecases.adding import Adding, Wanted
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import disk_full
from commonplace.storage.failures import is_disk_full

CONFIRM_ABOVE = 10
TOGETHER = 200  # changes with one wait for the disk
HISTORY_SHOWN = 50
PREVIEW_CHARS = 200
MAX_WARNINGS = 50
FOLLOWS_BODY = frozenset(
    {"body", "version", "changeLog", "semanticSummary", "updatedAt", "sourceHash", "schemaVersion"}
)
HOPELESS = 3  # failures in a row after which the disk is not asked again


class Writing:
    """Changes to one or many instructions."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._shelf = service.shelf
        self._adding = Adding(self._add_group)

        service.on_close(self._adding.close)

    def _origin(self, actor: Actor) -> Origin:
        settings = self._service.settings
        agent = settings.agent_id or (actor.label if actor.label != "local" else None)
        return Origin(self._service.now(), agent, settings.workspace)

    def change(self, document: dict[str, Any], action: str) -> Change:
        try:
            instruction, content = self._shelf.directory.parse(document["id"], document)
        except NotAnInstruction as error:
            raise Refused(Problem("invalid_fields", error.detail or error.reason)) from None
        return Change(instruction.id, instruction, content, action)

    # add

    def add(
        self,
        entry: object,
        *,
        overwrite: bool,
        lax: bool,
        expected_hash: str | None = None,
        actor: Actor,
    ) -> tuple[dict[str, Any], bool]:
        """The contract's answer and whether it is a success."""
        try:
            wanted = self._wanted(entry, overwrite, lax, expected_hash, actor)
            self._adding.write([wanted])
            return wanted.result(), True
        except Refused as refused:
            return self._refusal(entry, refused.problem), False

    async def add_with_others(
        self,
        entry: object,
        *,
        overwrite: bool,
        lax: bool,
        expected_hash: str | None = None,
        actor: Actor,
    ) -> tuple[dict[str, Any], bool]:
        """The same for a server, where many call at once."""
        try:
            return await self._adding.put(
                self._wanted(entry, overwrite, lax, expected_hash, actor)
            ), True
        except Refused as refused:
            await asyncio.to_thread(self._service.load)
            return self._refusal(entry, refused.problem), False

    @staticmethod
    def _wanted(
        entry: object, overwrite: bool, lax: bool, expected_hash: str | None, actor: Actor
    ) -> Wanted:
        if not isinstance(entry, Mapping):
            hint = "Wrap the instruction in `entry`: {entry: {id, body, ...}, lax: true}."
            raise Refused(Problem("missing entry", hint, structural=True))
        return Wanted(
            check_id(entry), entry, overwrite, lax or entry.get("lax") is True, expected_hash, actor
        )

    def _add_group(self, group: Sequence[Wanted]) -> None:
        self._service.load()
        with self._shelf.writing() as catalogue:
            planned: dict[str, tuple[Wanted, Change, bool]] = {}
            for wanted in group:
                id_ = wanted.id
                if id_ in planned or (
                    planned and wanted.expected_hash is not None
                ):  # it must see what the others did
                    self._finish(planned)
                try:
                    planned_change = self._plan_add(wanted, catalogue)
                except (Refused, CommonplaceError) as error:
                    wanted.failure = error
                    continue
                if planned_change is not None:
                    planned[id_] = (wanted, *planned_change)
            self._finish(planned)

    def _finish(self, planned: dict[str, tuple[Wanted, Change, bool]]) -> None:
        failures: dict[str, Exception] = {}
        for actor in {
            wanted.actor for wanted, _, _ in planned.values()
        }:  # history names who did it
            failures |= self.commit(
                [change for wanted, change, _ in planned.values() if wanted.actor == actor], actor
            )
        for wanted, change, existed in planned.values():
            wanted.failure = failures.get(change.id)
            if wanted.failure is not None:
                continue
            assert change.after is not None
            wanted.answer = self.added(
                change.after, created=not existed, overwritten=existed, content=change.content
            )
            if warnings := [*wanted.warnings, *wanted.answer.get("warnings", ())]:
                wanted.answer["warnings"] = warnings
        planned.clear()

    def commit(self, changes: Sequence[Change], actor: Actor) -> dict[str, Exception]:
        """Make the changes; where the disk refuses one, the others are made without it.

        What failed, and why.
        """
        try:
            self._shelf.commit(changes, actor)
            return {}
        except (CommonplaceError, OSError) as error:
            if len(changes) == 1:
                removed = changes[0].after is None and self._made(
                    changes[0]
                )  # the next writer announces it
                return {} if removed else {changes[0].id: error}
        failures: dict[str, Exception] = {}
        in_a_row = 0
        for change in changes:
            if self._made(change):
                continue  # before the other failed
            if in_a_row >= HOPELESS:
                failures[change.id] = next(reversed(failures.values()))
                continue
            failed = self.commit([change], actor)
            failures |= failed
            in_a_row = in_a_row + 1 if failed else 0
        return failures

    def take_away(self, ids: Sequence[str], action: str, actor: Actor) -> dict[str, Exception]:
        """Remove these, many with one wait for the disk. What failed, and why."""
        failures: dict[str, Exception] = {}
        for start in range(0, len(ids), TOGETHER):
            failures |= self.commit(
                [Change(id_, None, None, action) for id_ in ids[start : start + TOGETHER]], actor
            )
        return failures

    def _made(self, change: Change) -> bool:
        if change.after is None:
            return self._shelf.directory.stamp_of(f"{change.id}.json") is None
        return self._shelf.catalogue.get(change.id) is change.after

    def _plan_add(self, wanted: Wanted, catalogue: Catalogue) -> tuple[Change, bool] | None:
        """The change and whether the id exists; None where it is skipped and already answered.

        Raises Refused.
        """
        id_, entry, overwrite = wanted.id, wanted.entry, wanted.overwrite
        self._shelf.look_at(id_)
        existing = catalogue.get(id_)
        expect(wanted.expected_hash, existing, catalogue.hash, body_only=True)
        if existing is not None and not overwrite:
            wanted.answer = self.added(existing, skipped=True)
            return None
        hidden = self._shelf.rejections.get(f"{id_}.json")
        if (
            existing is None
            and overwrite
            and self._service.settings.strict_create
            and hidden is None
        ):
            hint = (
                f"{id_} does not exist, and overwrite may not create it while "
                f"MCP_INSTRUCTIONS_STRICT_CREATE=1."
            )
            raise Refused(Problem("strict_create", hint))
        if existing is None and hidden is not None:
            if not overwrite:
                self._check_hidden(id_)
            if not entry.get("body"):
                raise Refused(
                    Problem(
                        "hydration_mismatch", "The stored body cannot be read; send entry.body."
                    )
                )
        document = compose(
            entry,
            existing,
            lax=wanted.lax,
            origin=self._origin(wanted.actor),
            rules=self._service.rules,
            keep_omitted=existing is not None,
        )
        existed = existing is not None or hidden is not None
        change = self.change(document, "overwrite" if existed else "add")
        wanted.warnings = warnings_of(entry, existing, lax=wanted.lax, rules=self._service.rules)
        if existing is not None and wanted.expected_hash == existing.source_hash:
            expect(
                wanted.expected_hash,
                existing,
                catalogue.hash,
                body_only=_changes_body_only(existing, change.after),
            )
        return change, existed

    def added(
        self,
        entry: Instruction,
        *,
        created: bool = False,
        overwritten: bool = False,
        skipped: bool = False,
        content: bytes | None = None,
    ) -> dict[str, Any]:
        with self._shelf.lock:
            catalogue = self._shelf.catalogue
            present = catalogue.get(entry.id)
            issues = (
                []
                if present is not None and present.fingerprint == entry.fingerprint
                else ["not-in-catalog"]
            )
            stored = self._shelf.directory.read_bytes(entry.id)
            if stored is None or (content is not None and stored != content):
                issues.append("not-on-disk" if stored is None else "differs-on-disk")
            answer: dict[str, Any] = {
                "id": entry.id,
                "hash": catalogue.hash,
                "created": created and not issues,
                "overwritten": overwritten and not issues,
                "skipped": skipped,
                "verified": not issues,
                "sourceHash": entry.source_hash,
                "governanceHash": entry.governance_hash,
                "version": entry.document["version"],
            }
        if issues:
            answer["verifyIssues"] = issues
        if (
            len(entry.document.encoded) > WARN_BODY_CHARS
            and len(body := entry.document["body"]) > WARN_BODY_CHARS
        ):
            answer["warnings"] = [
                f"The body has {len(body)} characters; agents read shorter rules better."
            ]
        return answer

    def _refusal(self, sent: object, problem: Problem) -> dict[str, Any]:
        """Contract 000's failure: a machine-readable error, a hint, what was sent, and the
        schema when the shape was wrong.
        """
        entry = sent if isinstance(sent, Mapping) else None
        id_ = entry.get("id") if entry is not None else None
        shown = id_[:200] if isinstance(id_, str) else "unknown"
        repro: dict[str, Any] = {"id": shown}
        if entry is not None:
            repro |= {
                name: entry[name]
                for name in ("title", "requirement", "priorityTier", "owner", "version")
                if isinstance(entry.get(name), str)
            }
            body = entry.get("body")
            repro["bodyPreview"] = body.strip()[:PREVIEW_CHARS] if isinstance(body, str) else ""
        with self._shelf.lock:
            current = self._shelf.fresh().hash
        answer: dict[str, Any] = {
            "id": shown,
            "hash": current,
            "created": False,
            "overwritten": False,
            "skipped": False,
            "error": problem.error,
            "feedbackHint": f"{_sentence(problem.hint)} If this is unexpected, call feedback/submit with "
            f"reproEntry.",
            "reproEntry": repro,
        }
        if problem.validation:
            answer["validation"] = problem.validation
        if problem.structural:
            answer["schemaRef"] = "tools/list[name='instructions_add'].inputSchema"
            answer["inputSchema"] = ADD_SCHEMA
        return answer

    # import

    def import_entries(
        self,
        entries: Sequence[Any],
        *,
        mode: str,
        validate: bool,
        batch_size: int | None,
        expected_hash: str | None,
        actor: Actor,
    ) -> dict[str, Any]:
        """Each entry on its own: what is wrong with one is reported with its place and never
        stops the others.
        """
        begun = time.perf_counter()
        counts = {"imported": 0, "skipped": 0, "overwritten": 0}
        errors: list[dict[str, Any]] = []
        warnings: list[dict[str, Any]] = []
        size = max(1, min(batch_size or TOGETHER, 1000))
        with self._shelf.writing() as catalogue:
            expect(expected_hash, None, catalogue.hash)
            pending: dict[str, tuple[int, Change]] = {}

            def write() -> None:
                before = {id_: catalogue.get(id_) for id_ in pending}
                failures = self.commit([change for _, change in pending.values()], actor)
                if (
                    failures
                    and len(failures) == len(pending)
                    and not counts["imported"] + counts["overwritten"]
                ):
                    raise next(iter(failures.values()))  # nothing can be written at all
                for id_, (index, _) in pending.items():
                    if id_ in failures:
                        errors.append(
                            _import_error(index, entries[index], "unwritable", str(failures[id_]))
                        )
                    else:
                        counts["imported" if before[id_] is None else "overwritten"] += 1
                pending.clear()

            for index, entry in enumerate(entries):
                try:
                    id_ = check_id(entry) if isinstance(entry, Mapping) else ""
                    if not id_:
                        raise Refused(
                            Problem("missing entry", "Each entry is an object with id and body.")
                        )
                    if id_ in pending:  # twice in one import: the second sees the first
                        write()
                    self._shelf.look_at(id_)
                    existing = catalogue.get(id_)
                    if existing is not None and mode == "skip":
                        counts["skipped"] += 1
                        continue
                    if existing is None and mode != "overwrite":
                        self._check_hidden(id_)
                    pending[id_] = (index, self._import_one(entry, existing, mode, validate, actor))
                    said = warnings_of(
                        entry,
                        existing if mode == "merge" else None,
                        lax=True,
                        rules=self._service.rules,
                    )
                    warnings += [
                        {"index": index, "id": id_, "warning": warning} for warning in said
                    ]
                except Refused as refused:
                    errors.append(
                        _import_error(index, entry, refused.problem.error, refused.problem.hint)
                    )
                except CommonplaceError as error:
                    if error.code.kind.value == "unavailable":
                        raise
                    errors.append(
                        _import_error(index, entry, error.code.name.lower(), error.message)
                    )
                if len(pending) >= size:
                    write()
            if pending:
                write()
            current = catalogue.hash
        errors.sort(key=lambda line: int(line["index"]))
        elapsed = round((time.perf_counter() - begun) * 1000, 3)
        answer = {
            "hash": current,
            **counts,
            "total": len(entries),
            "errors": errors,
            "processingTimeMs": elapsed,
        }
        if warnings:
            answer["warnings"] = warnings[:MAX_WARNINGS]
        return answer

    def _check_hidden(self, id_: str) -> None:
        """Refuse to replace a file that is there and could not be read."""
        hidden = self._shelf.rejections.get(f"{id_}.json")
        if hidden is not None:
            hint = (
                f"{id_}.json exists but is no instruction ({hidden.reason}); mend it or set "
                f"overwrite."
            )
            raise Refused(Problem("existing_file_unreadable", hint))

    def _import_one(
        self,
        entry: Mapping[str, Any],
        existing: Instruction | None,
        mode: str,
        validate: bool,
        actor: Actor,
    ) -> Change:
        given = {
            key: value for key, value in entry.items() if key != "createdAt"
        }  # the contract: timestamps are now
        document = compose(
            given,
            existing,
            lax=True,
            origin=self._origin(actor),
            rules=self._service.rules,
            keep_omitted=mode == "merge",
            checked=validate,
        )
        return self.change(document, f"import:{mode}")

    # remove

    def remove(
        self,
        ids: Sequence[str],
        *,
        confirm: bool,
        cascade: bool,
        missing_ok: bool,
        expected_hash: str | None,
        actor: Actor,
    ) -> dict[str, Any]:
        wanted = list(dict.fromkeys(ids))
        with self._shelf.writing() as catalogue:
            self._shelf.look_at(*wanted)
            expect(
                expected_hash,
                catalogue.get(wanted[0]) if len(wanted) == 1 else None,
                catalogue.hash,
            )
            present = dict.fromkeys(id_ for id_ in wanted if self._on_disk(id_))
            missing = [id_ for id_ in wanted if id_ not in present]
            dependents = self._dependents(present) if cascade else []
            count = len(present) + len(dependents)
            if max(count, len(wanted)) > CONFIRM_ABOVE and not confirm:
                raise CommonplaceError(
                    CONFIRMATION_REQUIRED,
                    f"{len(wanted)} ids are given and {count} instructions would go; above "
                    f"{CONFIRM_ABOVE} that needs a confirmation.",
                    hint="Nothing was removed. Repeat the call with confirm: true if you mean it.",
                    details={
                        "count": count,
                        "cascadeRemovals": dependents[:100],
                        "field": "confirm",
                    },
                )
            if missing and self._service.settings.strict_remove and not missing_ok:
                raise CommonplaceError(
                    REMOVE_MISSING,
                    f"{len(missing)} of the ids do not exist; nothing was removed.",
                    hint="Leave the missing ids out, or unset MCP_INSTRUCTIONS_STRICT_REMOVE.",
                    details={"missing": [id_[:200] for id_ in missing[:100]], "field": "ids"},
                )
            doomed = [*present, *dependents]
            failures = self.take_away(doomed, "remove", actor)
            removed = [id_ for id_ in doomed if id_ not in failures]
            if (
                failures
                and not removed
                and all(is_disk_full(failed) for failed in failures.values())
            ):
                raise disk_full()
            current = catalogue.hash
        with suppress(OSError):
            self._service.usage.prune(removed)
        direct = [id_ for id_ in removed if id_ in present]
        answer: dict[str, Any] = {
            "removed": len(removed),
            "removedIds": direct,
            "missing": [id_[:200] for id_ in missing],
            "errorCount": len(failures),
            "errors": [_removal_error(id_, error) for id_, error in failures.items()],
            "hash": current,
        }
        if cascade:
            answer["cascadeRemovals"] = [id_ for id_ in removed if id_ not in present]
        return answer

    def _on_disk(self, id_: str) -> bool:
        """In the catalogue, or a file of that name that could not be loaded: both can be
        removed.
        """
        if self._shelf.catalogue.get(id_) is not None:
            return True
        rejection = self._shelf.rejections.get(f"{id_}.json")
        return (
            rejection is not None
            and is_valid_id(id_)
            and not is_reserved_id(id_)
            and rejection.reason != "symlink"
        )

    def _dependents(self, ids: Collection[str]) -> list[str]:
        """Everything that depends on these, and on those, and so on."""
        holders: dict[str, list[str]] = {}
        for entry in self._shelf.snapshot()[0]:
            for dependency in entry.document.get("dependencies", ()):
                holders.setdefault(dependency, []).append(entry.id)
        found: dict[str, None] = {}
        queue = list(ids)
        while queue:
            for dependent in holders.get(queue.pop(), ()):
                if dependent not in found and dependent not in ids:
                    found[dependent] = None
                    queue.append(dependent)
        return sorted(found)


def expect(
    expected: str | None, entry: Instruction | None, catalogue_hash: str, *, body_only: bool = False
) -> None:
    """Compare and set: the caller's hash must cover what the write replaces.

    The catalogue hash and the entry's governanceHash change with every field. The entry's
    sourceHash covers the body alone, so it is accepted only for a write that changes nothing else.
    """
    if expected is None or expected == catalogue_hash:
        return
    if entry is not None and (
        expected == entry.governance_hash or (body_only and expected == entry.source_hash)
    ):
        return
    details: dict[str, Any] = {"expectedHash": expected[:100], "catalogHash": catalogue_hash}
    message, hint = (
        "expectedHash does not match: it was changed in the meantime.",
        "Read it again, look at the change, then repeat.",
    )
    if entry is not None:
        details |= {
            "id": entry.id,
            "sourceHash": entry.source_hash,
            "governanceHash": entry.governance_hash,
        }
        if expected == entry.source_hash:
            message = (
                "expectedHash is the entry's sourceHash, which covers its body only; this "
                "write changes more than the body."
            )
            hint = (
                "Send the governanceHash of the entry as you read it: it changes with every field."
            )
    raise CommonplaceError(HASH_MISMATCH, message, hint=hint, details=details)


def _changes_body_only(before: Instruction, after: Instruction | None) -> bool:
    """Tell whether a write leaves every field alone but the body and what follows from it."""
    if after is None:
        return False
    old, new = stored_form(before.document), stored_form(after.document)
    return all(
        old.get(name) == new.get(name)
        for name in old.keys() | new.keys()
        if name not in FOLLOWS_BODY
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!", ")")) else f"{text}."


def _removal_error(id_: str, error: Exception) -> dict[str, str]:
    code = error.code.name if isinstance(error, CommonplaceError) else CATALOGUE_UNWRITABLE.name
    return {"id": id_, "error": str(error)[:300], "code": code}


def _import_error(index: int, entry: object, error: str, hint: str) -> dict[str, Any]:
    line: dict[str, Any] = {
        "index": index,
        "error": f"{error}: {hint}"[:500],
        "code": error.replace(" ", "_"),
    }
    if isinstance(entry, Mapping) and isinstance(entry.get("id"), str):
        line["id"] = entry["id"][:200]
    return line
