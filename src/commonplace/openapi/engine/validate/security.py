"""Rules about security requirements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.engine.validate.context import (
    RuleContext,
)
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.rules import Severity, ValidationFinding
from commonplace.openapi.model import Family

_WITHOUT_SCOPES = frozenset({"apiKey", "http", "basic"})


def check_security(context: RuleContext) -> Iterator[ValidationFinding]:
    """Check the security requirements of the document and its operations."""
    schemes = {
        node.name: context.resolver.try_follow(node.value)
        for node in context.index.security_schemes
    }
    holders: list[tuple[Json, str]] = [(context.document.data.get("security"), "/security")]
    holders += [
        (node.value.get("security"), f"{node.place.pointer}/security")
        for node in context.index.operations
    ]
    for requirements, pointer in holders:
        if not isinstance(requirements, list):
            continue
        for position, requirement in enumerate(requirements):
            if isinstance(requirement, dict):
                for name, scopes in requirement.items():
                    where = f"{pointer}/{position}/{escape_token(name)}"
                    yield from _check_requirement(context, name, scopes, schemes, where)


def _check_requirement(
    context: RuleContext, name: str, scopes: Json, schemes: dict[str, Json], where: str
) -> Iterator[ValidationFinding]:
    if name not in schemes:
        if context.document.family is Family.V32 and re.search(r"[/#:.]", name):
            return  # from 3.2 on a requirement may name a scheme by its URI
        severity = Severity.WARNING if context.partial else None
        yield make_finding(
            "security-undefined", where, f"No security scheme is called {name!r}.", severity
        )
        return
    scheme = schemes[name]
    if (
        scopes
        and isinstance(scheme, dict)
        and str(scheme.get("type")) in _WITHOUT_SCOPES
        and not context.document.family.json_schema
    ):
        yield make_finding(
            "security-scope",
            where,
            f"{name!r} is not an OAuth scheme: before 3.1 it takes no scopes.",
        )
    if isinstance(scheme, dict) and scheme.get("type") == "oauth2" and isinstance(scopes, list):
        known = _list_scopes(scheme)
        for scope in scopes:
            if isinstance(scope, str) and scope not in known:
                yield make_finding(
                    "security-scope",
                    where,
                    f"No OAuth flow of {name!r} lists the scope {scope!r}.",
                )


def _list_scopes(scheme: JsonObject) -> set[str]:
    flows = scheme.get("flows")
    tables = (
        [flow.get("scopes") for flow in flows.values() if isinstance(flow, dict)]
        if isinstance(flows, dict)
        else [scheme.get("scopes")]
    )
    return {scope for table in tables if isinstance(table, dict) for scope in table}
