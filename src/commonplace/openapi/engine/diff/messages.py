"""Comparison of what operations send and receive: parameters, bodies and responses."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.openapi.engine.diff.api import ApiView
from commonplace.openapi.engine.diff.collector import ChangeCollector
from commonplace.openapi.engine.diff.model import (
    ContentView,
    OperationView,
    ParameterView,
    ResponseView,
)
from commonplace.openapi.engine.diff.rules import Direction
from commonplace.openapi.engine.diff.schema.compare import SchemaDiff
from commonplace.openapi.engine.diff.schema.model import SchemaSite
from commonplace.openapi.engine.diff.schema.values import canonical
from commonplace.openapi.engine.pointers import escape_token


class MessageDiff:
    """Compares the parameters, body and responses of two operations."""

    def __init__(
        self, old: ApiView, new: ApiView, changes: ChangeCollector, schemas: SchemaDiff
    ) -> None:
        self.old, self.new = old, new
        self.changes = changes
        self.schemas = schemas

    def compare(self, old: OperationView, new: OperationView, sent: Direction) -> None:
        """Compare two operations; `sent` is the direction of what the caller sends."""
        self._compare_parameters(old, new, sent)
        self._compare_body(old, new, sent)
        self._compare_responses(old, new, sent.reversed)

    def _compare_parameters(
        self, old: OperationView, new: OperationView, direction: Direction
    ) -> None:
        for key, parameter in old.parameters.items():
            if key not in new.parameters:
                self.changes.add(
                    "parameter-removed",
                    parameter.pointer,
                    f"{_describe_parameter(parameter)} was removed.",
                    direction,
                )
        for key, parameter in new.parameters.items():
            before = old.parameters.get(key)
            if before is None:
                rule = (
                    "required-parameter-added" if parameter.required else "optional-parameter-added"
                )
                self.changes.add(
                    rule,
                    parameter.pointer,
                    f"{_describe_parameter(parameter)} was added.",
                    direction,
                )
            else:
                self._compare_parameter(before, parameter, direction)

    def _compare_parameter(
        self, old: ParameterView, new: ParameterView, direction: Direction
    ) -> None:
        if new.required != old.required:
            rule = "parameter-became-required" if new.required else "parameter-became-optional"
            self.changes.add(
                rule,
                new.pointer,
                f"{_describe_parameter(new)} is {'required' if new.required else 'optional'} now.",
                direction,
            )
        if new.location == "path" and old.name != new.name:
            self.changes.add(
                "path-parameter-renamed",
                new.pointer,
                f"The path parameter {old.name!r} is called {new.name!r} now.",
            )
        self._compare_style(old, new, direction)
        if new.deprecated and not old.deprecated:
            self.changes.add(
                "parameter-deprecated",
                new.pointer,
                f"{_describe_parameter(new)} became deprecated.",
                direction,
            )
        if old.description != new.description:
            self.changes.add(
                "description-changed",
                new.pointer,
                f"The description of the {new.location} parameter {new.name!r} changed.",
            )
        self.schemas.compare(old.schema, new.schema, direction)

    def _compare_style(self, old: ParameterView, new: ParameterView, direction: Direction) -> None:
        if old.media != new.media:
            self.changes.add(
                "parameter-style-changed",
                new.pointer,
                f"{_describe_parameter(new)} is written {_describe_style(new.media)} now.",
                direction,
            )
        elif (old.style, old.explode) != (new.style, new.explode):
            before, after = self.old.views.view(old.schema), self.new.views.view(new.schema)
            if any(
                view.types is None or view.types & {"array", "object"} for view in (before, after)
            ):
                message = (
                    f"{_describe_parameter(new)} is written as {new.style}, explode "
                    f"{str(new.explode).lower()} now."
                )
                self.changes.add("parameter-style-changed", new.pointer, message, direction)

    def _compare_body(self, old: OperationView, new: OperationView, direction: Direction) -> None:
        if old.body is None and new.body is None:
            return
        if old.body is None:
            if new.body is not None:
                rule = "required-body-added" if new.body_required else "optional-body-added"
                self.changes.add(rule, new.body.pointer, "A request body was added.", direction)
            return
        if new.body is None:
            self.changes.add(
                "body-removed", old.body.pointer, "The request body was removed.", direction
            )
            return
        if old.body_required != new.body_required:
            rule = "body-became-required" if new.body_required else "body-became-optional"
            self.changes.add(
                rule,
                new.body.pointer,
                f"The request body is {'required' if new.body_required else 'optional'} now.",
                direction,
            )
        self._compare_content(old.body, new.body, direction)

    def _compare_content(self, old: ContentView, new: ContentView, direction: Direction) -> None:
        before = {_normalize_media_type(name): name for name in old.media}
        after = {_normalize_media_type(name): name for name in new.media}
        for key, name in before.items():
            if key not in after and not _is_covered(key, after):
                self.changes.add(
                    "media-type-removed",
                    f"{old.pointer}/content/{escape_token(name)}",
                    f"{name} was removed.",
                    direction,
                )
        for key, name in after.items():
            if key not in before:
                if not _is_covered(key, before):
                    self.changes.add(
                        "media-type-added",
                        f"{new.pointer}/content/{escape_token(name)}",
                        f"{name} was added.",
                        direction,
                    )
                continue
            self.schemas.compare(old.media[before[key]], new.media[name], direction)
            self._compare_items(old.items.get(before[key]), new.items.get(name), direction)
            first, second = old.encodings.get(before[key]), new.encodings.get(name)
            if (
                canonical(first or {}) != canonical(second or {})
                and old.encodings
                and new.encodings
            ):
                self.changes.add(
                    "encoding-changed",
                    f"{new.pointer}/content/{escape_token(name)}/encoding",
                    f"The encoding of {name} changed.",
                    direction,
                )

    def _compare_items(
        self, old: SchemaSite | None, new: SchemaSite | None, direction: Direction
    ) -> None:
        """Compare the items of a stream; without itemSchema an item may be anything."""
        if old is not None or new is not None:
            anything = SchemaSite({}, (new or old or SchemaSite({}, "")).pointer)
            self.schemas.compare(old or anything, new or anything, direction)

    def _compare_responses(
        self, old: OperationView, new: OperationView, direction: Direction
    ) -> None:
        """Compare responses by status; a range such as 2XX is also compared with its codes."""
        for status, response in old.responses.items():
            counterparts = [status] if status in new.responses else []
            if status.endswith("XX") or not counterparts:
                counterparts += _find_counterparts(status, new.responses, old.responses)
            for counterpart in counterparts:
                self._compare_response(response, new.responses[counterpart], direction)
            if not counterparts:
                what = "success" if _is_success(status) else "error"
                self.changes.add(
                    f"{what}-response-removed",
                    response.pointer,
                    f"The response {status} was removed.",
                    direction,
                )
        for status, response in new.responses.items():
            if status not in old.responses:
                what = "success" if _is_success(status) else "error"
                self.changes.add(
                    f"{what}-response-added",
                    response.pointer,
                    f"The response {status} was added.",
                    direction,
                )

    def _compare_response(self, old: ResponseView, new: ResponseView, direction: Direction) -> None:
        if old.description != new.description:
            self.changes.add(
                "description-changed", f"{new.pointer}/description", "The description changed."
            )
        self._compare_content(old.content, new.content, direction)
        self._compare_headers(old, new, direction)
        self.changes.add_names("link", old.links, new.links, f"{new.pointer}/links")

    def _compare_headers(self, old: ResponseView, new: ResponseView, direction: Direction) -> None:
        for name, header in old.headers.items():
            if name not in new.headers:
                rule = "required-header-removed" if header.required else "optional-header-removed"
                self.changes.add(
                    rule, header.pointer, f"The header {name!r} was removed.", direction
                )
        for name, header in new.headers.items():
            before = old.headers.get(name)
            if before is None:
                self.changes.add(
                    "header-added", header.pointer, f"The header {name!r} was added.", direction
                )
                continue
            if before.required != header.required:
                rule = "header-became-required" if header.required else "header-became-optional"
                self.changes.add(
                    rule,
                    header.pointer,
                    f"The header {name!r} is {'always' if header.required else 'not always'} "
                    f"sent now.",
                    direction,
                )
            if before.media != header.media:
                message = f"The header {name!r} is written {_describe_style(header.media)} now."
                self.changes.add("parameter-style-changed", header.pointer, message, direction)
            self.schemas.compare(before.schema, header.schema, direction)


def _describe_parameter(parameter: ParameterView) -> str:
    return f"The {parameter.location} parameter {parameter.name!r}"


def _describe_style(media: str) -> str:
    return f"as {media}" if media else "by its style, not as a media type,"


def _is_success(status: str) -> bool:
    return status[:1] in ("1", "2", "3")


def _find_counterparts(status: str, others: Iterable[str], beside: Iterable[str]) -> list[str]:
    """Return the range that includes a status code, or the codes that a range describes.

    Codes in `beside` have a response of their own, so the range does not describe them.
    """
    if status.endswith("XX"):
        return [code for code in others if code[:1] == status[:1] and code not in beside]
    return [code for code in others if code == f"{status[:1]}XX"]


def _normalize_media_type(name: str) -> str:
    kind, _, rest = name.partition(";")
    parameters = sorted(
        part.strip().lower()
        for part in rest.split(";")
        if part.strip() and "charset" not in part.lower()
    )
    return ";".join([kind.strip().lower(), *parameters])


def _is_covered(media: str, others: dict[str, str]) -> bool:
    return "*/*" in others or f"{media.split('/', 1)[0]}/*" in others
