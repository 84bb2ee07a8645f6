"""Security schemes between 2.0 and 3.0.

What 2.0 cannot express is kept as extensions, which the way back to 3.0 restores.
"""

from __future__ import annotations

from collections.abc import Callable

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of
from commonplace.openapi.engine.require import require_object

FLOWS_UP = {
    "implicit": "implicit",
    "password": "password",
    "application": "clientCredentials",
    "accessCode": "authorizationCode",
}
FLOWS_DOWN = {new: old for old, new in FLOWS_UP.items()}


class SecurityDown:
    """Converts the schemes of a 3.0 document, and the requirements that name them."""

    def __init__(
        self,
        components: JsonObject,
        resolved: Callable[[Json], JsonObject],
        issues: IssueLog,
    ) -> None:
        self.components = components
        self._resolved = resolved
        self.issues = issues
        self.schemes: dict[str, list[str]] = {}

    def definitions(self) -> JsonObject:
        """Return the security definitions."""
        found: JsonObject = {}
        schemes = self.components.get("securitySchemes")
        for name, scheme in schemes.items() if isinstance(schemes, dict) else ():
            at = ["components", "securitySchemes", name]
            definitions = self._scheme(name, self._resolved(scheme), at)
            self.schemes[name] = list(definitions)
            found.update(definitions)
        return found

    def _scheme(self, name: str, scheme: JsonObject, at: list[str]) -> JsonObject:
        rest = {
            key: value
            for key, value in scheme.items()
            if key == "description" or key.startswith("x-")
        }
        kind = scheme.get("type")
        if kind == "http":
            if str(scheme.get("scheme", "")).lower() == "basic":
                return {name: {"type": "basic", **rest}}
            self.issues.warning(
                pointer_of(at),
                f"2.0 has no HTTP scheme {scheme.get('scheme')!r}; it is an API key in the "
                f"Authorization header.",
            )
            words = {f"x-{key}": scheme[key] for key in ("scheme", "bearerFormat") if key in scheme}
            return {
                name: {"type": "apiKey", "name": "Authorization", "in": "header", **words, **rest}
            }
        if kind == "apiKey":
            if scheme.get("in") == "cookie":
                self.issues.warning(
                    pointer_of(at),
                    "2.0 has no keys in cookies; it is an API key in the Cookie header.",
                )
                return {
                    name: {
                        "type": "apiKey",
                        "name": "Cookie",
                        "in": "header",
                        "x-cookie-name": scheme.get("name"),
                        **rest,
                    }
                }
            return {
                name: {key: value for key, value in scheme.items() if key in ("type", "name", "in")}
                | rest
            }
        if kind == "oauth2":
            return self._oauth(name, scheme, rest, at)
        self.issues.critical(
            pointer_of(at),
            f"2.0 has no security scheme of type {kind!r}; it was dropped, and so was the "
            "requirement for it.",
        )
        return {}

    def _oauth(self, name: str, scheme: JsonObject, rest: JsonObject, at: list[str]) -> JsonObject:
        flows = {
            key: flow
            for key, flow in require_object(scheme.get("flows"), pointer_of([*at, "flows"])).items()
            if key in FLOWS_DOWN and isinstance(flow, dict)
        }
        if len(flows) > 1:
            self.issues.info(
                pointer_of(at),
                f"2.0 has one flow per scheme; {name!r} became {len(flows)} schemes.",
            )
        result = {}
        for index, (kind, flow) in enumerate(flows.items()):
            definition = {"type": "oauth2", "flow": FLOWS_DOWN[kind], **rest}
            wanted = {
                "implicit": ("authorizationUrl",),
                "authorizationCode": ("authorizationUrl", "tokenUrl"),
            }.get(kind, ("tokenUrl",))
            definition.update({key: flow.get(key, "") for key in wanted})
            definition["scopes"] = flow.get("scopes") or {}
            if "refreshUrl" in flow:
                self.issues.info(
                    pointer_of([*at, "flows", kind, "refreshUrl"]),
                    "2.0 has no `refreshUrl`; it is kept as an extension.",
                )
                definition["x-refreshUrl"] = flow["refreshUrl"]
            result[name if index == 0 else self._new_name(f"{name}_{FLOWS_DOWN[kind]}")] = (
                definition
            )
        return result

    def _new_name(self, plain: str) -> str:
        taken = {
            *(self.components.get("securitySchemes") or ()),
            *(name for names in self.schemes.values() for name in names),
        }
        name, number = plain, 2
        while name in taken:
            name, number = f"{plain}{number}", number + 1
        return name

    def requirements(self, requirements: JsonArray, at: list[str]) -> JsonArray:
        """Convert requirements; a scheme that became several is met by any of them."""
        found: list[JsonObject] = []
        for requirement in requirements:
            if not isinstance(requirement, dict):
                continue
            alternatives: list[JsonObject] = [{}]
            for name, scopes in requirement.items():
                names = self.schemes.get(name, [name])
                if not names:
                    continue
                alternatives = [
                    {**alternative, new: scopes} for alternative in alternatives for new in names
                ]
            if alternatives == [{}] and requirement:
                continue
            found.extend(alternative for alternative in alternatives if alternative not in found)
        if requirements and not found:
            self.issues.critical(pointer_of(at), "No security requirement could be carried over.")
        return found


def convert_scheme_up(scheme: Json, issues: IssueLog, at: list[str]) -> Json:
    """Convert a security scheme of 2.0 to 3.0."""
    if not isinstance(scheme, dict):
        return scheme
    rest = {
        key: value for key, value in scheme.items() if key == "description" or key.startswith("x-")
    }
    kind = scheme.get("type")
    if kind == "basic":
        return {"type": "http", "scheme": "basic", **rest}
    if kind == "oauth2":
        return _oauth_up(scheme, rest, issues, at)
    # The headers by which the conversion to 2.0 replaced these schemes.
    kept = {"x-scheme": "Authorization", "x-cookie-name": "Cookie"}
    word = next(
        (
            word
            for word, name in kept.items()
            if isinstance(rest.get(word), str) and scheme.get("name") == name
        ),
        None,
    )
    if kind != "apiKey" or scheme.get("in") != "header" or word is None:
        return dict(scheme)
    issues.info(
        pointer_of(at, word), f"`{word}` names the scheme that this key replaced; it was restored."
    )
    value = rest.pop(word)
    if word == "x-cookie-name":
        return {"type": "apiKey", "name": value, "in": "cookie", **rest}
    form = rest.pop("x-bearerFormat", None)
    return {
        "type": "http",
        "scheme": value,
        **({"bearerFormat": form} if isinstance(form, str) else {}),
        **rest,
    }


def _oauth_up(scheme: JsonObject, rest: JsonObject, issues: IssueLog, at: list[str]) -> JsonObject:
    flow: JsonObject = {
        key: scheme[key] for key in ("authorizationUrl", "tokenUrl") if key in scheme
    }
    if isinstance(rest.get("x-refreshUrl"), str):
        issues.info(pointer_of(at, "x-refreshUrl"), "`x-refreshUrl` became `refreshUrl`.")
        flow["refreshUrl"] = rest.pop("x-refreshUrl")
    scopes = scheme.get("scopes")
    flow["scopes"] = (
        {name: text for name, text in scopes.items() if not name.startswith("x-")}
        if isinstance(scopes, dict)
        else {}
    )
    name = FLOWS_UP.get(str(scheme.get("flow")))
    if name is None:
        issues.critical(
            pointer_of(at, "flow"),
            f"OAuth flow {scheme.get('flow')!r} is unknown; `implicit` is assumed.",
        )
        name = "implicit"
    return {"type": "oauth2", "flows": {name: flow}, **rest}
