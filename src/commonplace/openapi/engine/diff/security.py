"""Comparison of security requirements and security schemes."""

from __future__ import annotations

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.diff.api import ApiView
from commonplace.openapi.engine.diff.collector import ChangeCollector
from commonplace.openapi.engine.diff.model import OperationView
from commonplace.openapi.engine.diff.schema.values import canonical
from commonplace.openapi.engine.pointers import escape_token

_V2_FLOWS = {
    "accessCode": "authorizationCode",
    "application": "clientCredentials",
    "implicit": "implicit",
    "password": "password",
}


class SecurityDiff:
    """Compares which credentials operations need and how they are sent."""

    def __init__(self, old: ApiView, new: ApiView, changes: ChangeCollector) -> None:
        self.old, self.new = old, new
        self.changes = changes
        self.renamed = _find_renamed(old.schemes, new.schemes)

    def compare_requirements(self, old: OperationView, new: OperationView) -> None:
        """Report sets of credentials that are no longer, or newly, enough for an operation."""
        needed = [
            {self.renamed.get(name, name): scopes for name, scopes in requirement.items()}
            for requirement in new.security
        ]
        if all(before in needed for before in old.security) and all(
            after in old.security for after in needed
        ):
            return  # only the order of the alternatives may differ
        lost = [
            before
            for before in old.security
            if not any(_satisfies(before, after) for after in needed)
        ]
        pairs = zip(new.security, needed, strict=True)
        gained = [
            written
            for written, after in pairs
            if not any(_satisfies(after, before) for before in old.security)
        ]
        path = f"{new.pointer}/security"
        for requirement in lost:
            self.changes.add(
                "security-tightened",
                path,
                f"{_describe_requirement(requirement)} is no longer enough for {new.label}.",
            )
        for requirement in gained if not lost else ():
            self.changes.add(
                "security-loosened",
                path,
                f"{_describe_requirement(requirement)} is enough for {new.label} now.",
            )
        if not lost and not gained:
            self.changes.add("security-loosened", path, f"{new.label} needs fewer credentials now.")

    def compare_schemes(self) -> None:
        """Compare the security schemes of the documents."""
        base = self.new.document.component_pointer("securitySchemes")[1:]
        removed = [name for name in self.old.schemes if name not in self.renamed.values()]
        added = [name for name in self.new.schemes if name not in self.renamed]
        self.changes.add_names("security-scheme", removed, added, base)
        for name, before in self.renamed.items():
            self.changes.add(
                "security-scheme-renamed",
                f"{base}/{escape_token(name)}",
                f"The security scheme {before!r} is called {name!r} now.",
            )
        for name in self.old.schemes.keys() & self.new.schemes.keys():
            before, after = self.old.schemes[name], self.new.schemes[name]
            if isinstance(before, dict) and isinstance(after, dict):
                self._compare_scheme(
                    name,
                    _normalize_scheme(before),
                    _normalize_scheme(after),
                    f"{base}/{escape_token(name)}",
                )

    def _compare_scheme(
        self, name: str, old: dict[str, Json], new: dict[str, Json], path: str
    ) -> None:
        for key in ("type", "in", "name", "scheme", "openIdConnectUrl"):
            if old.get(key) != new.get(key):
                self.changes.add(
                    "security-scheme-changed",
                    f"{path}/{key}",
                    f"{key} of {name!r} changed from {old.get(key)!r} to {new.get(key)!r}.",
                )
        flows_old, flows_new = old.get("flows") or {}, new.get("flows") or {}
        for flow in flows_old.keys() | flows_new.keys():
            before, after = flows_old.get(flow), flows_new.get(flow)
            if before is None or after is None:
                self.changes.add(
                    "oauth-flow-changed",
                    path,
                    f"The flow {flow!r} of {name!r} was "
                    f"{'added' if before is None else 'removed'}.",
                )
                continue
            if any(
                before.get(key) != after.get(key)
                for key in ("authorizationUrl", "tokenUrl", "refreshUrl")
            ):
                self.changes.add(
                    "oauth-flow-changed",
                    path,
                    f"A URL of the flow {flow!r} of {name!r} changed.",
                )
            self.changes.add_names(
                "oauth-scope",
                before.get("scopes") or {},
                after.get("scopes") or {},
                f"{path}/flows/{flow}/scopes",
            )


def _satisfies(held: dict[str, frozenset[str]], wanted: dict[str, frozenset[str]]) -> bool:
    return all(name in held and scopes <= held[name] for name, scopes in wanted.items())


def _describe_requirement(requirement: dict[str, frozenset[str]]) -> str:
    if not requirement:
        return "No credential"
    return " with ".join(
        name + (f" ({', '.join(sorted(scopes))})" if scopes else "")
        for name, scopes in sorted(requirement.items())
    )


def _normalize_scheme(value: dict[str, Json]) -> dict[str, Json]:
    """Return a security scheme as 3.x writes it; broken flows and scopes are left out."""
    if value.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    found = dict(value)
    if isinstance(found.get("scheme"), str):
        found["scheme"] = found["scheme"].lower()
    if isinstance(found.get("flow"), str):
        flow = {key: found.get(key) for key in ("authorizationUrl", "tokenUrl", "scopes")}
        found["flows"] = {_V2_FLOWS.get(found["flow"], found["flow"]): flow}
    flows = found.get("flows")
    found["flows"] = (
        {name: _normalize_flow(flow) for name, flow in flows.items() if isinstance(flow, dict)}
        if isinstance(flows, dict)
        else {}
    )
    return found


def _find_renamed(old: dict[str, Json], new: dict[str, Json]) -> dict[str, str]:
    """Return the schemes that only have another name, which clients never see: new -> old."""
    unmatched = {
        canonical(_select_visible(value)): name
        for name, value in old.items()
        if name not in new and isinstance(value, dict)
    }
    found = {}
    for name, value in new.items():
        if name not in old and isinstance(value, dict):
            before = unmatched.pop(canonical(_select_visible(value)), None)
            if before is not None:
                found[name] = before
    return found


def _select_visible(value: dict[str, Json]) -> dict[str, Json]:
    """Return what a client must know about a scheme."""
    scheme = _normalize_scheme(value)
    return {
        key: scheme[key]
        for key in ("type", "in", "name", "scheme", "openIdConnectUrl", "flows")
        if key in scheme
    }


def _normalize_flow(flow: dict[str, Json]) -> dict[str, Json]:
    scopes = flow.get("scopes")
    return {
        **flow,
        "scopes": {k: v for k, v in scopes.items() if not k.startswith("x-")}
        if isinstance(scopes, dict)
        else {},
    }
