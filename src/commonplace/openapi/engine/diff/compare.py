"""Comparison of two API descriptions by what their clients would notice."""

from __future__ import annotations

from commonplace.kernel.gc_control import gc_paused
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.diff.api import ApiView
from commonplace.openapi.engine.diff.collector import ChangeCollector
from commonplace.openapi.engine.diff.messages import MessageDiff
from commonplace.openapi.engine.diff.model import OperationView, RawOperation
from commonplace.openapi.engine.diff.rules import ApiChange, Direction
from commonplace.openapi.engine.diff.schema.compare import SchemaDiff
from commonplace.openapi.engine.diff.schema.model import SchemaSite
from commonplace.openapi.engine.diff.schema.values import canonical
from commonplace.openapi.engine.diff.security import SecurityDiff
from commonplace.openapi.engine.diff.unchanged import UnchangedParts
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.model import ApiDocument


def diff(
    old: ApiDocument,
    new: ApiDocument,
    old_resolver: ReferenceResolver,
    new_resolver: ReferenceResolver,
    *,
    literal: bool = False,
) -> list[ApiChange]:
    """Return every change, the most severe first.

    `literal` also counts differences of format between versions.
    """
    if old.family is new.family and same_json(old.data, new.data):
        return []
    with gc_paused():
        return _ApiDiff(ApiView(old, old_resolver), ApiView(new, new_resolver)).run(literal)


class _ApiDiff:
    def __init__(self, old: ApiView, new: ApiView) -> None:
        self.old, self.new = old, new
        self.changes = ChangeCollector()
        self.same = UnchangedParts(old, new)
        self.schemas = SchemaDiff(old.views, new.views, self.changes, self.same)
        self.messages = MessageDiff(old, new, self.changes, self.schemas)
        self.security = SecurityDiff(old, new, self.changes)

    def run(self, literal: bool) -> list[ApiChange]:
        """Compare the documents and return the changes, the most severe first."""
        self._compare_documents(literal)
        self._compare_operations(self.old.operations, self.new.operations, "operation")
        self._compare_operations(self.old.webhooks, self.new.webhooks, "webhook")
        self.schemas.drain()
        self.security.compare_schemes()
        self._compare_components()
        return sorted(
            self.changes.list_changes(),
            key=lambda change: (change.level.rank, change.path, change.rule.id, change.message),
        )

    def _compare_documents(self, literal: bool) -> None:
        old, new = self.old.document, self.new.document
        if old.version != new.version:
            self.changes.add(
                "version-changed", "/openapi", f"OpenAPI {old.version} became {new.version}."
            )
        if literal and old.family is not new.family:
            for key in old.data.keys() - new.data.keys():
                self.changes.add(
                    "structure-removed",
                    f"/{escape_token(key)}",
                    f"{key!r} is not in the new document.",
                )
            for key in new.data.keys() - old.data.keys():
                self.changes.add(
                    "structure-added", f"/{escape_token(key)}", f"{key!r} is new in the document."
                )
        self._compare_info(old.data.get("info"), new.data.get("info"))
        self._compare_servers(self.old.servers, self.new.servers, "/servers")
        before, after = _list_tag_names(old.data.get("tags")), _list_tag_names(new.data.get("tags"))
        self.changes.add_names("tag", before, after, "/tags")

    def _compare_info(self, before: Json, after: Json) -> None:
        for name in ("title", "version", "description", "summary", "termsOfService"):
            first = before.get(name) if isinstance(before, dict) else None
            second = after.get(name) if isinstance(after, dict) else None
            if first != second:
                self.changes.add("info-changed", f"/info/{name}", f"info.{name} changed.")

    def _compare_servers(self, old: list[JsonObject], new: list[JsonObject], path: str) -> None:
        before = {_normalize_url(server): server for server in old}
        after = {_normalize_url(server): server for server in new}
        if "/" in (*before, *after) and not (before and after):
            return  # `/` is the default where no server is named
        self.changes.add_names("server", before, after, path)
        for url in before.keys() & after.keys():
            if _list_variables(before[url]) != _list_variables(after[url]):
                self.changes.add(
                    "server-variable-changed", path, f"The variables of {url!r} changed."
                )

    def _compare_own_servers(self, old: OperationView, new: OperationView) -> None:
        """Compare the servers of operations or path items; the default is the document's or `/`."""
        if old.servers is not None or new.servers is not None:
            before, after = (
                operation.servers or api.servers or [{"url": "/"}]
                for operation, api in ((old, self.old), (new, self.new))
            )
            self._compare_servers(before, after, f"{new.pointer}/servers")

    def _compare_operations(
        self,
        before: dict[str, RawOperation],
        after: dict[str, RawOperation],
        what: str,
        reverse: bool = False,
    ) -> None:
        reverse = reverse or what == "webhook"
        for key, operation in before.items():
            if key not in after:
                rule = f"{what}-removed"
                if what == "operation" and operation.operation.get("deprecated") is True:
                    rule = "deprecated-operation-removed"
                self.changes.add(rule, operation.pointer, f"{operation.label} was removed.")
        for key, operation in after.items():
            self.changes.operation = operation.label
            if key not in before:
                self.changes.operation = ""
                self.changes.add(
                    f"{what}-added", operation.pointer, f"{operation.label} was added."
                )
            elif not self.same.operation(before[key], operation):
                self._compare_operation(
                    self.old.operation(before[key]), self.new.operation(operation), reverse
                )
        self.changes.operation = ""

    def _compare_operation(self, old: OperationView, new: OperationView, reverse: bool) -> None:
        sent = Direction.RESPONSE if reverse else Direction.REQUEST
        self._compare_descriptions(old, new)
        self.messages.compare(old, new, sent)
        self.security.compare_requirements(old, new)
        self._compare_own_servers(old, new)
        for name in old.callbacks.keys() | new.callbacks.keys():
            if name not in new.callbacks:
                self.changes.add(
                    "callback-removed", old.pointer, f"The callback {name!r} was removed."
                )
            elif name not in old.callbacks:
                self.changes.add("callback-added", new.pointer, f"The callback {name!r} was added.")
            else:
                self._compare_operations(
                    old.callbacks[name], new.callbacks[name], "callback", not reverse
                )
                self.changes.operation = new.label

    def _compare_descriptions(self, old: OperationView, new: OperationView) -> None:
        if old.value.get("operationId") != new.value.get("operationId"):
            message = (
                f"The operationId changed from {old.value.get('operationId')!r} to "
                f"{new.value.get('operationId')!r}."
            )
            self.changes.add("operation-id-changed", f"{new.pointer}/operationId", message)
        was, now = old.value.get("deprecated") is True, new.value.get("deprecated") is True
        if was != now:
            rule = "operation-deprecated" if now else "operation-undeprecated"
            self.changes.add(
                rule,
                new.pointer,
                f"{new.label} {'became deprecated' if now else 'is no longer deprecated'}.",
            )
        for name in ("summary", "description"):
            if old.value.get(name) != new.value.get(name):
                self.changes.add(
                    "description-changed", f"{new.pointer}/{name}", f"The {name} changed."
                )
        if _collect_tags(old.value.get("tags")) != _collect_tags(new.value.get("tags")):
            self.changes.add("operation-tags-changed", f"{new.pointer}/tags", "The tags changed.")

    def _compare_components(self) -> None:
        """Compare named schemas that no operation uses; these changes are only informative."""
        reached = self.schemas.reached
        old_base, new_base = (
            self.old.document.component_pointer("schemas")[1:],
            self.new.document.component_pointer("schemas")[1:],
        )
        before, after = self.old.document.schemas, self.new.document.schemas
        for name in before:
            pointer = f"{old_base}/{escape_token(name)}"
            if name not in after:
                self.changes.add("component-removed", pointer, f"The schema {name!r} was removed.")
            elif pointer not in reached and f"{new_base}/{escape_token(name)}" not in reached:
                here = f"{new_base}/{escape_token(name)}"
                self.schemas.compare(
                    SchemaSite(before[name], pointer), SchemaSite(after[name], here), Direction.NONE
                )
        for name in after:
            if name not in before:
                self.changes.add(
                    "component-added",
                    f"{new_base}/{escape_token(name)}",
                    f"The schema {name!r} was added.",
                )
        self.schemas.drain()


def _normalize_url(server: JsonObject) -> str:
    """Return the URL without a final slash, which has no meaning: paths begin with one."""
    url = str(server.get("url"))
    return url.rstrip("/") or url


def _list_variables(server: JsonObject) -> dict[str, Json]:
    """Return the default and the allowed values of each server variable."""
    variables = server.get("variables")
    result = {}
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        if isinstance(variable, dict):
            values = variable["enum"] if isinstance(variable.get("enum"), list) else []
            result[name] = canonical(variable.get("default")), sorted(map(canonical, values))
    return result


def _list_tag_names(tags: Json) -> list[str]:
    return (
        [tag["name"] for tag in tags if isinstance(tag, dict) and isinstance(tag.get("name"), str)]
        if isinstance(tags, list)
        else []
    )


def _collect_tags(tags: Json) -> set[str]:
    return {tag for tag in tags if isinstance(tag, str)} if isinstance(tags, list) else set()
