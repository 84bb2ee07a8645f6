"""The catalogue's use cases, writing side: add, import, remove, and the history that undoes them.

Each runs in the caller's thread, waits for the disk, and answers only when the change is durable and visible to every process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from commonplace.instructions.engine.entry import ADD_SCHEMA, Origin, Problem, Refused, bump, check_id, compose, version_key
from commonplace.instructions.engine.normalise import NotAnInstruction, due_after, mend_change_log, parse_time
from commonplace.instructions.errors import (
    CHANGE_NOT_FOUND,
    CONFIRMATION_REQUIRED,
    HASH_MISMATCH,
    INSTRUCTION_NOT_FOUND,
    INVALID_INSTRUCTION,
    REMOVE_MISSING,
)
from commonplace.instructions.history import describe
from commonplace.instructions.model import (
    CLASSIFICATIONS,
    SEMVER,
    STATUSES,
    TIERS,
    WARN_BODY_CHARS,
    Actor,
    Instruction,
    is_reserved_id,
    is_valid_id,
    stored_form,
)
from commonplace.instructions.service import Service
from commonplace.instructions.shelf import Change
from commonplace.kernel.errors import CommonplaceError

CONFIRM_ABOVE = 10
IMPORT_BATCH = 200
HISTORY_SHOWN = 50
PREVIEW_CHARS = 200


class Writing:
    """Changes to one or many instructions."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._shelf = service.shelf

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
        self, entry: object, *, overwrite: bool, lax: bool, expected_hash: str | None = None, actor: Actor
    ) -> tuple[dict[str, Any], bool]:
        """The contract's answer and whether it is a success."""
        if not isinstance(entry, Mapping):
            hint = "Wrap the instruction in `entry`: {entry: {id, body, ...}, lax: true}."
            return self._refusal(None, Problem("missing entry", hint, structural=True)), False
        try:
            return self._add(entry, overwrite, lax or entry.get("lax") is True, expected_hash, actor), True
        except Refused as refused:
            return self._refusal(entry, refused.problem), False

    def _add(self, entry: Mapping[str, Any], overwrite: bool, lax: bool, expected_hash: str | None, actor: Actor) -> dict[str, Any]:
        id_ = check_id(entry)
        with self._shelf.writing() as catalogue:
            existing = catalogue.get(id_)
            expect(expected_hash, existing, catalogue.hash)
            if existing is not None and not overwrite:
                return self._added(existing, skipped=True)
            hidden = self._shelf.rejections.get(f"{id_}.json")
            if existing is None and overwrite and self._service.settings.strict_create and hidden is None:
                raise Refused(
                    Problem("strict_create", f"{id_} does not exist, and overwrite may not create while MCP_INSTRUCTIONS_STRICT_CREATE=1.")
                )
            if existing is None and hidden is not None:
                if not overwrite:
                    raise Refused(
                        Problem(
                            "existing_file_unreadable",
                            f"{id_}.json exists but is no instruction ({hidden.reason}); mend it or set overwrite.",
                        )
                    )
                if not entry.get("body"):
                    raise Refused(Problem("hydration_mismatch", "The stored body cannot be read; send entry.body."))
            document = compose(
                entry, existing, lax=lax, origin=self._origin(actor), rules=self._service.rules, keep_omitted=existing is not None
            )
            change = self.change(document, "overwrite" if existing or hidden else "add")
            self._shelf.commit([change], actor)
            assert change.after is not None
            return self._added(change.after, created=not (existing or hidden), overwritten=bool(existing or hidden), content=change.content)

    def _added(
        self, entry: Instruction, *, created: bool = False, overwritten: bool = False, skipped: bool = False, content: bytes | None = None
    ) -> dict[str, Any]:
        with self._shelf.lock:
            catalogue = self._shelf.catalogue
            present = catalogue.get(entry.id)
            issues = [] if present is not None and present.source_hash == entry.source_hash else ["not-in-catalog"]
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
        if len(entry.document["body"]) > WARN_BODY_CHARS:
            answer["warnings"] = [f"The body has {len(entry.document['body'])} characters; agents read shorter rules better."]
        return answer

    def _refusal(self, entry: Mapping[str, Any] | None, problem: Problem) -> dict[str, Any]:
        """Contract 000's failure: a machine-readable error, a hint, what was sent, and the schema when the shape was wrong."""
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
            "feedbackHint": f"{problem.hint} If this is unexpected, call feedback/submit with reproEntry.",
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
        self, entries: Sequence[Any], *, mode: str, validate: bool, batch_size: int | None, expected_hash: str | None, actor: Actor
    ) -> dict[str, Any]:
        """Each entry on its own: what is wrong with one is reported with its place and never stops the others."""
        begun = time.perf_counter()
        counts = {"imported": 0, "skipped": 0, "overwritten": 0}
        errors: list[dict[str, Any]] = []
        size = max(1, min(batch_size or IMPORT_BATCH, 1000))
        with self._shelf.writing() as catalogue:
            expect(expected_hash, None, catalogue.hash)
            pending: dict[str, Change] = {}
            for index, entry in enumerate(entries):
                try:
                    id_ = check_id(entry) if isinstance(entry, Mapping) else ""
                    if not id_:
                        raise Refused(Problem("missing entry", "Each entry is an object with id and body."))
                    if id_ in pending:  # twice in one import: the second sees the first
                        self._shelf.commit(list(pending.values()), actor)
                        pending.clear()
                    existing = catalogue.get(id_)
                    if existing is not None and mode == "skip":
                        counts["skipped"] += 1
                        continue
                    pending[id_] = self._import_one(entry, existing, mode, validate, actor)
                    counts["imported" if existing is None else "overwritten"] += 1
                except Refused as refused:
                    errors.append(_import_error(index, entry, refused.problem.error, refused.problem.hint))
                except CommonplaceError as error:
                    if error.code.kind.value == "unavailable":
                        raise
                    errors.append(_import_error(index, entry, error.code.name.lower(), error.message))
                if len(pending) >= size:
                    self._shelf.commit(list(pending.values()), actor)
                    pending.clear()
            self._shelf.commit(list(pending.values()), actor)
            current = catalogue.hash
        elapsed = round((time.perf_counter() - begun) * 1000, 3)
        return {"hash": current, **counts, "total": len(entries), "errors": errors, "processingTimeMs": elapsed}

    def _import_one(self, entry: Mapping[str, Any], existing: Instruction | None, mode: str, validate: bool, actor: Actor) -> Change:
        given = {key: value for key, value in entry.items() if key != "createdAt"}  # the contract: timestamps are now
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
        self, ids: Sequence[str], *, confirm: bool, cascade: bool, missing_ok: bool, expected_hash: str | None, actor: Actor
    ) -> dict[str, Any]:
        wanted = list(dict.fromkeys(ids))
        with self._shelf.writing() as catalogue:
            expect(expected_hash, catalogue.get(wanted[0]) if len(wanted) == 1 else None, catalogue.hash)
            present = [id_ for id_ in wanted if self._on_disk(id_)]
            missing = [id_ for id_ in wanted if id_ not in present]
            dependents = self._dependents(present) if cascade else []
            if len(present) + len(dependents) > CONFIRM_ABOVE and not confirm:
                raise CommonplaceError(
                    CONFIRMATION_REQUIRED,
                    f"This would remove {len(present) + len(dependents)} instructions; nothing was removed.",
                    hint="Repeat the call with confirm: true if you mean it.",
                    details={"count": len(present) + len(dependents), "cascadeRemovals": dependents[:100], "field": "confirm"},
                )
            if missing and self._service.settings.strict_remove and not missing_ok:
                raise CommonplaceError(
                    REMOVE_MISSING,
                    f"{len(missing)} of the ids do not exist; nothing was removed.",
                    hint="Leave the missing ids out, or unset MCP_INSTRUCTIONS_STRICT_REMOVE.",
                    details={"missing": [id_[:200] for id_ in missing[:100]], "field": "ids"},
                )
            errors: list[dict[str, str]] = []
            removed: list[str] = []
            for id_ in [*present, *dependents]:
                try:
                    self._shelf.commit([Change(id_, None, None, "remove")], actor)
                    removed.append(id_)
                except (CommonplaceError, OSError) as error:
                    code = error.code.name if isinstance(error, CommonplaceError) else "CATALOGUE_UNWRITABLE"
                    errors.append({"id": id_, "error": str(error)[:300], "code": code})
            current = catalogue.hash
        with suppress(OSError):
            self._service.usage.prune(removed)
        direct = [id_ for id_ in removed if id_ in present]
        answer: dict[str, Any] = {
            "removed": len(removed),
            "removedIds": direct,
            "missing": [id_[:200] for id_ in missing],
            "errorCount": len(errors),
            "errors": errors,
            "hash": current,
        }
        if cascade:
            answer["cascadeRemovals"] = [id_ for id_ in removed if id_ not in present]
        return answer

    def _on_disk(self, id_: str) -> bool:
        """In the catalogue, or a file of that name that could not be loaded: both can be removed."""
        if self._shelf.catalogue.get(id_) is not None:
            return True
        rejection = self._shelf.rejections.get(f"{id_}.json")
        return rejection is not None and is_valid_id(id_) and not is_reserved_id(id_) and rejection.reason != "symlink"

    def _dependents(self, ids: Sequence[str]) -> list[str]:
        """Everything that depends on these, and on those, and so on."""
        holders: dict[str, list[str]] = {}
        for entry in self._shelf.catalogue:
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

    # governanceUpdate

    def governance_update(
        self, id_: str, patch: Mapping[str, Any], *, bump_part: str, expected_hash: str | None, actor: Actor
    ) -> dict[str, Any]:
        _check_patch(patch)
        with self._shelf.writing() as catalogue:
            existing = catalogue.get(id_)
            if existing is None:
                return {"id": id_[:200], "notFound": True, "changed": False}
            expect(expected_hash, existing, catalogue.hash)
            previous = str(existing.document["version"])
            document = stored_form(existing.document)
            for name, value in patch.items():
                if value is None:
                    document.pop(name, None)
                else:
                    document[name] = value
            if "priorityTier" in patch and "reviewIntervalDays" not in patch:
                document.pop("reviewIntervalDays", None)
            if "lastReviewedAt" in patch and "nextReviewDue" not in patch and patch["lastReviewedAt"]:
                document["nextReviewDue"] = due_after(patch["lastReviewedAt"], existing.document["reviewIntervalDays"])
            version = str(document.get("version") or previous)
            if bump_part != "none":
                version = bump(previous, bump_part)
            elif version_key(version) < version_key(previous):
                raise _invalid(id_, "version", f"must not fall below {previous}")
            document["version"] = version
            changed = version != previous or any(existing.document.get(name) != document.get(name) for name in patch)
            if changed:
                now = self._service.now()
                document["updatedAt"] = now
                log = mend_change_log(document.get("changeLog"), previous, now)
                if version != previous:
                    log.append({"version": version, "changedAt": now, "summary": _summary(patch, bump_part)})
                document["changeLog"] = log
                try:
                    change = self.change(document, "governanceUpdate")
                except Refused as refused:
                    raise _invalid(id_, "patch", refused.problem.hint) from None
                self._shelf.commit([change], actor)
                assert change.after is not None
                existing = change.after
            shown = existing.document
            fields = ("owner", "status", "classification", "priorityTier", "lastReviewedAt", "nextReviewDue")
            return {
                "id": id_,
                "previousVersion": previous,
                "newVersion": shown["version"],
                "version": shown["version"],
                "changed": changed,
                **{name: shown[name] for name in fields if name in shown},
                "hash": catalogue.hash,
                "governanceHash": existing.governance_hash,
            }

    # history and restore

    def history(self, id_: str, limit: int, actor: Actor) -> dict[str, Any]:
        """The change log and every recorded change with what it did, newest first."""
        with self._shelf.lock:
            current = self._shelf.fresh().get(id_)
        changes = self._shelf.history.changes(id_)
        shown: list[dict[str, Any]] = []
        after: Mapping[str, Any] | None = stored_form(current.document) if current else None
        for change in reversed(changes):
            before = change["before"]
            if before != after:  # a change that was begun and never made leaves no trace
                if actor.sees_all or change.get("tenant") == actor.tenant:
                    listed = {name: change[name] for name in ("change", "at", "action", "by")}
                    listed["version"] = (after or before or {}).get("version")
                    shown.append({**listed, "diff": describe(before, after)})
                after = before
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

    def restore(self, id_: str, change: int | None, *, expected_hash: str | None, actor: Actor) -> dict[str, Any]:
        """Bring back what an instruction was before a change: the latest one, or the one numbered."""
        with self._shelf.writing() as catalogue:
            existing = catalogue.get(id_)
            expect(expected_hash, existing, catalogue.hash)
            present = stored_form(existing.document) if existing else None
            candidates = [
                line
                for line in self._shelf.history.changes(id_)
                if (line["change"] == change if change is not None else line["before"] != present)
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
            if before is None:
                if existing is None:
                    raise CommonplaceError(INSTRUCTION_NOT_FOUND, f"{id_} does not exist, and did not exist before that change either.")
                self._shelf.commit([Change(id_, None, None, "restore")], actor)
                return {"id": id_, "restored": True, "removed": True, "change": candidates[-1]["change"], "hash": catalogue.hash}
            restored = self.change(self._restored(before, existing), "restore")
            self._shelf.commit([restored], actor)
            assert restored.after is not None
            return {**self._added(restored.after, content=restored.content), "restored": True, "change": candidates[-1]["change"]}

    def _restored(self, before: Mapping[str, Any], existing: Instruction | None) -> dict[str, Any]:
        """The old content as a new version: history only goes forward."""
        document = dict(before)
        now = self._service.now()
        document["updatedAt"] = now
        if existing is not None:
            document["version"] = bump(str(existing.document["version"]), "patch")
            log = mend_change_log(existing.document["changeLog"], str(existing.document["version"]), now)
            document["changeLog"] = [
                *log,
                {"version": document["version"], "changedAt": now, "summary": f"restored {before.get('version')}"},
            ]
        return document


def expect(expected: str | None, entry: Instruction | None, catalogue_hash: str) -> None:
    """Compare and set: the caller's hash must be the entry's (source or governance) or the catalogue's present one."""
    if expected is None or expected == catalogue_hash:
        return
    if entry is not None and expected in (entry.source_hash, entry.governance_hash):
        return
    details: dict[str, Any] = {"expectedHash": expected[:100], "catalogHash": catalogue_hash}
    if entry is not None:
        details |= {"id": entry.id, "sourceHash": entry.source_hash, "governanceHash": entry.governance_hash}
    raise CommonplaceError(
        HASH_MISMATCH,
        "expectedHash does not match: it was changed in the meantime.",
        hint="Read it again, look at the change, then repeat.",
        details=details,
    )


def _import_error(index: int, entry: object, error: str, hint: str) -> dict[str, Any]:
    line: dict[str, Any] = {"index": index, "error": f"{error}: {hint}"[:500], "code": error.replace(" ", "_")}
    if isinstance(entry, Mapping) and isinstance(entry.get("id"), str):
        line["id"] = entry["id"][:200]
    return line


PATCHABLE = frozenset(
    {"owner", "status", "classification", "priorityTier", "lastReviewedAt", "nextReviewDue", "reviewIntervalDays", "version"}
)


def _check_patch(patch: Mapping[str, Any]) -> None:
    for name, value in patch.items():
        if name not in PATCHABLE:
            raise _invalid(None, name, f"is not governance; governanceUpdate changes {', '.join(sorted(PATCHABLE))}")
        if value is None:
            if name in ("owner", "status", "version"):
                raise _invalid(None, name, "cannot be cleared")
            continue
        allowed = {"status": STATUSES, "classification": CLASSIFICATIONS, "priorityTier": TIERS}.get(name)
        if allowed is not None and value not in allowed:
            raise _invalid(None, name, f"must be one of {', '.join(sorted(allowed))}")
        if name == "owner" and (not isinstance(value, str) or not value.strip() or len(value) > 200):
            raise _invalid(None, name, "must be a name of 1 to 200 characters")
        if name in ("lastReviewedAt", "nextReviewDue") and parse_time(value) is None:
            raise _invalid(None, name, "is not an ISO 8601 time")
        if name == "reviewIntervalDays" and (not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 365):
            raise _invalid(None, name, "must be a whole number from 1 to 365")
        if name == "version" and (not isinstance(value, str) or not SEMVER.fullmatch(value)):
            raise _invalid(None, name, "is not MAJOR.MINOR.PATCH")


def _invalid(id_: str | None, field: str, problem: str) -> CommonplaceError:
    return CommonplaceError(
        INVALID_INSTRUCTION,
        f"{field}: {problem}.",
        hint="Nothing was changed.",
        details={"field": field, "validation": [{"field": field, "problem": problem}], **({"id": id_} if id_ else {})},
    )


def _summary(patch: Mapping[str, Any], part: str) -> str:
    fields = ", ".join(sorted(patch)) or "no fields"
    return f"governance update ({part}): {fields}" if part != "none" else f"governance update: {fields}"
