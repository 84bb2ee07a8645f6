"""3.0 to 2.0: one server, body and form parameters, one schema per response, and a report of
everything 2.0 cannot say.
"""

from __future__ import annotations

import re
import sys
from urllib.parse import urlsplit

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.places import with_lasting_references
from commonplace.openapi.engine.convert.swagger_down import SchemaDown, ValueDown, old_reference
from commonplace.openapi.engine.convert.swagger_schema import pointer_of
from commonplace.openapi.engine.convert.swagger_security import SecurityDown
from commonplace.openapi.engine.convert.up_2_0 import FORM_TYPE, MULTIPART_TYPE
from commonplace.openapi.engine.pointers import resolve_pointer
from commonplace.openapi.engine.require import refuse, require_list, require_object
from commonplace.openapi.model import Family

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_COLLECTIONS = {"form": "csv", "simple": "csv", "spaceDelimited": "ssv", "pipeDelimited": "pipes"}
_HOST = re.compile(r"[^{}/ :\\]+(?::\d+)?")
_BINARY = re.compile(
    r"(?:image|audio|video|font)/|application/(?:octet-stream|pdf|zip|gzip)\b", re.IGNORECASE
)
_OPERATION_FIELDS = (
    "tags",
    "summary",
    "description",
    "externalDocs",
    "operationId",
    "deprecated",
    "security",
)


class SwaggerDown:
    """One conversion of a 3.0 document."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        self.source = document
        self.issues = issues
        self.components = require_object(document.get("components"), "/components")
        self.values = ValueDown(document, issues)
        self.security = SecurityDown(self.components, self._resolved, issues)

    def convert(self) -> JsonObject:
        source = self.source
        result: JsonObject = {"swagger": "2.0", "info": self._info()}
        result.update(self._server(source.get("servers"), ["servers"]))
        definitions = self.security.definitions()
        paths = source.get("paths")
        result["paths"] = {
            path: self._path_item(item, ["paths", path])
            if isinstance(item, dict) and not path.startswith("x-")
            else item
            for path, item in (paths.items() if isinstance(paths, dict) else ())
        }
        result.update(self._components(definitions))
        if isinstance(source.get("security"), list):
            result["security"] = self.security.requirements(source["security"], ["security"])
        for key, value in source.items():
            if key in ("tags", "externalDocs") or (key.startswith("x-") and key != "x-webhooks"):
                result[key] = value
            elif key == "x-webhooks":
                self.issues.critical("/x-webhooks", "2.0 has no webhooks; they were dropped.")
        return dict(self._with_old_references(result))

    def _info(self) -> JsonObject:
        info = self.source.get("info")
        return dict(info) if isinstance(info, dict) else {"title": "", "version": ""}

    # Servers
    def _server(self, servers: Json, at: list[str]) -> JsonObject:
        if not isinstance(servers, list) or not servers:
            return {}
        urls = []
        for server in servers:
            if isinstance(server, dict) and isinstance(server.get("url"), str):
                urls.append(_expanded(server))
        if not urls:
            return {}
        if any(isinstance(server, dict) and server.get("variables") for server in servers):
            self.issues.warning(
                pointer_of(at), "2.0 has no server variables; their default values were put in."
            )
        if any(isinstance(server, dict) and server.get("description") for server in servers):
            self.issues.info(
                pointer_of(at), "2.0 cannot describe a server; its description was dropped."
            )
        parts = urlsplit(urls[0])
        result: JsonObject = {}
        if parts.netloc and _HOST.fullmatch(parts.netloc):
            result["host"] = parts.netloc
        elif parts.netloc:
            self.issues.critical(
                pointer_of([*at, "0"]), f"{parts.netloc!r} cannot be a host in 2.0 and was dropped."
            )
        path = parts.path.rstrip("/")
        if path:
            result["basePath"] = path if path.startswith("/") else "/" + path
        schemes = [parts.scheme] if parts.scheme in ("http", "https", "ws", "wss") else []
        for index, url in enumerate(urls[1:], start=1):
            other = urlsplit(url)
            same = (other.netloc, other.path.rstrip("/")) == (parts.netloc, parts.path.rstrip("/"))
            if same and other.scheme in ("http", "https", "ws", "wss"):
                if other.scheme not in schemes:
                    schemes.append(other.scheme)
            else:
                self.issues.warning(
                    pointer_of([*at, str(index)]), f"2.0 has one server; {url!r} was dropped."
                )
        if schemes:
            result["schemes"] = schemes
        return result

    # References
    def _with_old_references(self, node: Json) -> Json:
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                new = old_reference(reference)
                return {**node, "$ref": new} if new != reference else node
            return {key: self._with_old_references(value) for key, value in node.items()}
        if isinstance(node, list):
            return [self._with_old_references(value) for value in node]
        return node

    def _resolved(self, node: Json) -> JsonObject:
        for _ in range(20):
            if not isinstance(node, dict):
                return {}
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            try:
                node = resolve_pointer(self.source, reference)
            except LookupError:
                self.issues.critical("", f"{reference!r} leads nowhere.")
                return {}
        return {}

    def _schema(self, schema: Json, at: list[str]) -> Json:
        return SchemaDown(self.issues, list(at)).rewrite(schema, "schema")

    # Components
    def _components(self, definitions: JsonObject) -> JsonObject:
        result: JsonObject = {}
        components = self.components

        def section(name: str) -> JsonObject:
            value = components.get(name)
            return value if isinstance(value, dict) else {}

        schemas = {
            name: self._schema(schema, ["components", "schemas", name])
            for name, schema in section("schemas").items()
        }
        parameters = {}
        for name, parameter in section("parameters").items():
            found = self._parameter(self._resolved(parameter), ["components", "parameters", name])
            if found is not None:
                parameters[name] = found
        responses = {}
        for name, response in section("responses").items():
            responses[name], _ = self._response(
                self._resolved(response), ["components", "responses", name]
            )
        for key, value in (
            ("definitions", schemas),
            ("parameters", parameters),
            ("responses", responses),
            ("securityDefinitions", definitions),
        ):
            if value:
                result[key] = value
        for name in (name for name in components if name.startswith("x-")):
            self.issues.info(
                pointer_of(["components", name]),
                "2.0 has no `components`; what extends them was dropped.",
            )
        for name in ("links", "callbacks"):
            if section(name):
                self.issues.critical(
                    pointer_of(["components", name]), f"2.0 has no {name}; they were dropped."
                )
        return result

    # Paths
    def _path_item(self, item: JsonObject, at: list[str]) -> JsonObject:
        result: JsonObject = {}
        for key, value in item.items():
            if key == "parameters" and isinstance(value, list):
                parameters = self._parameters(value, [*at, "parameters"])
                if parameters:
                    result["parameters"] = parameters
            elif key in _METHODS and isinstance(value, dict):
                result[key] = self._operation(value, [*at, key])
            elif key == "trace":
                self.issues.critical(
                    pointer_of([*at, key]), "2.0 has no TRACE operations; it was dropped."
                )
            elif key == "servers":
                self.issues.warning(
                    pointer_of([*at, key]), "2.0 has no servers per path; they were dropped."
                )
            elif key in ("summary", "description"):
                self.issues.info(
                    pointer_of([*at, key]),
                    f"2.0 path items have no `{key}`; it is kept as `x-{key}`.",
                )
                result[f"x-{key}"] = value
            else:
                result[key] = value
        return result

    def _parameters(self, parameters: Json, at: list[str]) -> JsonArray:
        parameters = require_list(parameters, pointer_of(at))
        converted = [
            self._parameter(one, [*at, str(index)]) for index, one in enumerate(parameters)
        ]
        kept = [one for one in converted if one is not None]
        return [one for index, one in enumerate(kept) if one not in kept[:index]]

    def _operation(self, operation: JsonObject, at: list[str]) -> JsonObject:
        result: JsonObject = {
            key: operation[key]
            for key in _OPERATION_FIELDS
            if key in operation and key != "security"
        }
        result.update({key: value for key, value in operation.items() if key.startswith("x-")})
        parameters = self._parameters(operation.get("parameters") or [], [*at, "parameters"])
        if "requestBody" in operation:
            consumes, more = self._request_body(
                self._resolved(operation["requestBody"]), [*at, "requestBody"]
            )
            if consumes:
                result["consumes"] = consumes
            parameters += more
        if parameters:
            result["parameters"] = parameters
        produces: list[str] = []
        fewest = sys.maxsize
        responses: JsonObject = {}
        source = operation.get("responses")
        source = source if isinstance(source, dict) else {}
        for code, response in source.items():
            where = [*at, "responses", code]
            if code.startswith("x-"):
                responses[code] = response
                continue
            kept = self._status(str(code), source, where)
            if kept is None:
                continue
            if isinstance(response, dict) and isinstance(response.get("$ref"), str):
                responses[kept] = {"$ref": response["$ref"]}
                content = self._resolved(response).get("content")
                kinds = list(content) if isinstance(content, dict) else []
            else:
                responses[kept], kinds = self._response(self._resolved(response), where)
            produces += [kind for kind in kinds if kind not in produces]
            fewest = min(fewest, len(kinds)) if kinds else fewest
        if not any(not code.startswith("x-") for code in responses):
            responses["default"] = {"description": ""}
        if fewest < len(produces):
            told = (
                "2.0 has media types per operation only; all that any response has are listed "
                "for all of them."
            )
            self.issues.warning(pointer_of([*at, "responses"]), told)
        if produces:
            result["produces"] = produces
        result["responses"] = responses
        if isinstance(operation.get("security"), list):
            result["security"] = self.security.requirements(
                operation["security"], [*at, "security"]
            )
        if operation.get("callbacks"):
            self.issues.critical(
                pointer_of([*at, "callbacks"]), "2.0 has no callbacks; they were dropped."
            )
        if operation.get("servers"):
            self.issues.warning(
                pointer_of([*at, "servers"]), "2.0 has no servers per operation; they were dropped."
            )
        return result

    def _status(self, code: str, responses: JsonObject, at: list[str]) -> str | None:
        if code == "default" or re.fullmatch(r"\d{3}", code):
            return code
        if not code:
            raise refuse(pointer_of(at), "a response needs a status code")
        exact = f"{code[0]}00"
        if exact not in responses:
            self.issues.warning(
                pointer_of(at), f"2.0 has no ranges of status codes; {code} became {exact}."
            )
            return exact
        self.issues.warning(
            pointer_of(at), f"2.0 has no ranges of status codes; {code} was dropped beside {exact}."
        )
        return None

    def _parameter(self, parameter: Json, at: list[str]) -> JsonObject | None:
        resolved = self._resolved(parameter)
        place = resolved.get("in")
        if place not in ("path", "query", "header"):
            if not (isinstance(parameter, dict) and "$ref" in parameter and at[0] == "paths"):
                self.issues.critical(
                    pointer_of(at), f"2.0 has no parameters in {place!r}; it was dropped."
                )
            return None
        if isinstance(parameter, dict) and isinstance(parameter.get("$ref"), str):
            return {"$ref": parameter["$ref"]}
        result: JsonObject = {
            key: value
            for key, value in resolved.items()
            if key in ("name", "in", "description") or key.startswith("x-")
        }
        if place == "path" or resolved.get("required") is True:
            result["required"] = True
        if place == "query" and "allowEmptyValue" in resolved:
            result["allowEmptyValue"] = resolved["allowEmptyValue"]
        if resolved.get("deprecated") is True:
            self.issues.info(
                pointer_of(at), "2.0 parameters cannot be deprecated; it is kept as `x-deprecated`."
            )
            result["x-deprecated"] = True
        schema = resolved.get("schema")
        if schema is None and isinstance(resolved.get("content"), dict):
            self.issues.warning(
                pointer_of([*at, "content"]),
                "2.0 parameters have no content; the value is described as a string.",
            )
            schema = {"type": "string"}
        result.update(
            self.values.value(
                schema or {},
                pointer_of([*at, "schema"]),
                collection=self._collection(resolved, str(place), at),
            )
        )
        self._keep_example(result, resolved, at)
        return result

    def _keep_example(self, result: JsonObject, source: JsonObject, at: list[str]) -> None:
        """2.0 has examples of responses only; one of a parameter or header is kept the way other
        tools do.
        """
        media = (
            next(iter(source["content"].values()), None)
            if isinstance(source.get("content"), dict)
            else None
        )
        for node, where in (
            (source, at),
            (media, [*at, "content"]),
            (source.get("schema"), [*at, "schema"]),
        ):
            for example in (
                self._examples(node, where)[:1]
                if isinstance(node, dict) and "x-example" not in result
                else ()
            ):
                self.issues.info(
                    pointer_of(where), "2.0 has no examples here; this one is kept as `x-example`."
                )
                result["x-example"] = example

    def _collection(self, parameter: JsonObject, place: str, at: list[str]) -> str:
        style = parameter.get("style") or ("form" if place == "query" else "simple")
        explode = parameter.get("explode", style == "form")
        if style == "form" and explode and place == "query":
            return "multi"
        if style not in _COLLECTIONS:
            self.issues.warning(
                pointer_of([*at, "style"]), f"2.0 has no style {style!r}; commas are assumed."
            )
        return _COLLECTIONS.get(str(style), "csv")

    # Bodies
    def _request_body(self, body: JsonObject, at: list[str]) -> tuple[list[str], list[JsonObject]]:
        content = body.get("content")
        content = (
            {kind: media for kind, media in content.items() if isinstance(media, dict)}
            if isinstance(content, dict)
            else {}
        )
        if not content:
            return [], []
        forms = [
            kind
            for kind in content
            if kind.split(";")[0].strip().lower() in (FORM_TYPE, MULTIPART_TYPE)
        ]
        if forms and len(forms) == len(content):
            flat = self.values.flatten(
                content[forms[0]].get("schema"), pointer_of([*at, "content", forms[0]])
            )
            if isinstance(flat.get("properties"), dict) and flat["properties"]:
                if any(
                    content[kind].get("schema") != content[forms[0]].get("schema") for kind in forms
                ):
                    self.issues.warning(
                        pointer_of([*at, "content"]),
                        f"2.0 has one form per operation; that of {forms[0]} was kept.",
                    )
                self._tell_form(body, flat, at)
                return forms, self._form(
                    flat, content[forms[0]], [*at, "content", forms[0], "schema"]
                )
        kinds = [kind for kind in content if kind not in forms] or list(content)
        if forms and len(kinds) < len(content):
            self.issues.warning(
                pointer_of([*at, "content"]),
                f"2.0 has either a body or a form; {', '.join(forms)} was dropped.",
            )
        chosen = next((kind for kind in kinds if "json" in kind), kinds[0])
        schema = content[chosen].get("schema", {})
        if any(content[kind].get("schema", {}) != schema for kind in kinds):
            self.issues.warning(
                pointer_of([*at, "content"]),
                f"2.0 has one schema per body; that of {chosen} was kept.",
            )
        if _is_binary(schema):
            schema = {"type": "string", "format": "binary"}
        name = body.get("x-body-name")
        parameter: JsonObject = {
            "name": name if isinstance(name, str) and name else "body",
            "in": "body",
        }
        if "description" in body:
            parameter["description"] = body["description"]
        if body.get("required") is True:
            parameter["required"] = True
        parameter["schema"] = self._schema(schema, [*at, "content", chosen, "schema"])
        parameter.update(
            {
                key: value
                for key, value in body.items()
                if key.startswith("x-") and key != "x-body-name"
            }
        )
        examples = {
            kind: example
            for kind in kinds
            for example in self._examples(content[kind], [*at, "content", kind])
        }
        if examples:
            self.issues.info(
                pointer_of([*at, "content"]),
                "2.0 has no examples of bodies; they are kept as `x-examples`.",
            )
            parameter.setdefault("x-examples", examples)
        self._tell_extensions(content, at)
        return kinds, [parameter]

    def _tell_extensions(self, content: JsonObject, at: list[str]) -> None:
        for kind, media in content.items():
            for key in (key for key in media if key.startswith("x-")):
                self.issues.info(
                    pointer_of([*at, "content", kind, key]),
                    "2.0 has no media types to extend; this was dropped.",
                )

    def _tell_form(self, body: JsonObject, schema: JsonObject, at: list[str]) -> None:
        """A form of 2.0 is its fields. What is said of the whole has no place there."""
        lost = [
            key
            for key in body
            if key == "description" or (key.startswith("x-") and key != "x-body-name")
        ]
        if lost:
            self.issues.info(
                pointer_of(at),
                f"2.0 forms are nothing but their fields; {', '.join(lost)} was dropped.",
            )
        demanded = bool(schema.get("required"))
        if demanded and body.get("required") is not True:
            self.issues.warning(
                pointer_of(at),
                "2.0 has no optional form with required fields; the form is required now.",
            )
        if not demanded and body.get("required") is True:
            self.issues.warning(
                pointer_of(at),
                "2.0 has no required form without required fields; the form may be left out now.",
            )
        content = body["content"]
        self._tell_extensions(
            {kind: media for kind, media in content.items() if isinstance(media, dict)}, at
        )

    def _form(self, schema: JsonObject, media: JsonObject, at: list[str]) -> list[JsonObject]:
        parameters = []
        required = schema.get("required") or []
        encoding = media.get("encoding") or {}
        whole = next(iter(self._examples(media, at[:-1])), None)
        for name, part in schema["properties"].items():
            where = [*at, "properties", name]
            rule = encoding.get(name) if isinstance(encoding, dict) else None
            rule = rule if isinstance(rule, dict) else {}
            collection = self._collection(rule, "query", where)
            for keyword in ("contentType", "headers"):
                if rule.get(keyword):
                    told = pointer_of([*at[:-1], "encoding", name, keyword])
                    self.issues.warning(
                        told, f"2.0 cannot say the {keyword} of a part; it was dropped."
                    )
            parameter: JsonObject = {"name": name, "in": "formData"}
            flat = self.values.flatten(part, pointer_of(where))
            if "description" in flat:
                parameter["description"] = flat["description"]
            if name in required:
                parameter["required"] = True
            value = self.values.value(part, pointer_of(where), file=True, collection=collection)
            if value.get("type") == "array" and _is_binary(value.get("items")):
                self.issues.warning(
                    pointer_of(where), "2.0 has no lists of files; one file is described."
                )
                value = {"type": "file"}
            parameter.update(value)
            parameter.update(
                {key: extension for key, extension in flat.items() if key.startswith("x-")}
            )
            example = (
                whole
                if isinstance(whole, dict) and name in whole
                else {name: flat["example"]}
                if "example" in flat
                else {}
            )
            if name in example:
                self.issues.info(
                    pointer_of(where), "2.0 has no examples here; this one is kept as `x-example`."
                )
                parameter.setdefault("x-example", example[name])
            parameters.append(parameter)
        return parameters

    def _response(self, response: JsonObject, at: list[str]) -> tuple[JsonObject, list[str]]:
        result: JsonObject = {"description": response.get("description", "")}
        content = response.get("content")
        content = (
            {kind: media for kind, media in content.items() if isinstance(media, dict)}
            if isinstance(content, dict)
            else {}
        )
        if content:
            told = [kind for kind in content if "schema" in content[kind]] or list(content)
            chosen = next((kind for kind in told if "json" in kind), told[0])
            schemas = [media["schema"] for media in content.values() if "schema" in media]
            if "schema" in content[chosen]:
                schema = content[chosen]["schema"]
                if any(other != schema for other in schemas):
                    self.issues.warning(
                        pointer_of([*at, "content"]),
                        f"2.0 has one schema per response; that of {chosen} was kept.",
                    )
                if _is_binary(schema):
                    result["schema"] = {"type": "file"}
                else:
                    result["schema"] = self._schema(schema, [*at, "content", chosen, "schema"])
            else:  # without a schema, 2.0 says that there is no content
                result["schema"] = (
                    {"type": "file"} if all(_BINARY.match(kind) for kind in content) else {}
                )
            self._tell_extensions(content, at)
            examples = {
                kind: example
                for kind, media in content.items()
                for example in self._examples(media, [*at, "content", kind])
            }
            if examples:
                result["examples"] = examples
        headers = response.get("headers")
        if isinstance(headers, dict) and headers:
            result["headers"] = {
                name: self._header(header, [*at, "headers", name])
                for name, header in headers.items()
            }
        if response.get("links"):
            self.issues.critical(pointer_of([*at, "links"]), "2.0 has no links; they were dropped.")
        result.update({key: value for key, value in response.items() if key.startswith("x-")})
        return result, list(content)

    def _examples(self, media: JsonObject, at: list[str]) -> JsonArray:
        if "example" in media:
            return [self._literal(media["example"])]
        examples = media.get("examples")
        values = (
            [self._resolved(one) for one in examples.values()] if isinstance(examples, dict) else []
        )
        given = [self._literal(one["value"]) for one in values if "value" in one]
        if len(values) > len(given[:1]):
            lost = len(values) - len(given[:1])
            self.issues.info(
                pointer_of([*at, "examples"]),
                f"2.0 has one example, with its value; {lost} of {len(values)} were dropped.",
            )
        return given[:1]

    def _literal(self, example: Json) -> Json:
        """Examples are data, but many are written as references to components, which 2.0 does
        not have.
        """
        reference = example.get("$ref") if isinstance(example, dict) and len(example) == 1 else None
        if not isinstance(reference, str) or not reference.startswith("#/components/examples/"):
            return example
        try:
            found = resolve_pointer(self.source, reference)
        except LookupError:
            return example
        return (
            found["value"]
            if isinstance(found, dict) and reference.count("/") == 3 and "value" in found
            else found
        )

    def _header(self, header: Json, at: list[str]) -> JsonObject:
        resolved = self._resolved(header)
        result: JsonObject = {
            key: value
            for key, value in resolved.items()
            if key == "description" or key.startswith("x-")
        }
        schema = resolved.get("schema")
        if schema is None and isinstance(resolved.get("content"), dict):
            self.issues.warning(
                pointer_of([*at, "content"]),
                "2.0 headers have no content; the value is described as a string.",
            )
        result.update(
            self.values.value(
                schema if schema is not None else {"type": "string"}, pointer_of([*at, "schema"])
            )
        )
        self._keep_example(result, resolved, at)
        for keyword in ("required", "deprecated"):
            if resolved.get(keyword) is True:
                self.issues.info(
                    pointer_of([*at, keyword]),
                    f"2.0 has no `{keyword}` in headers; it is kept as `x-{keyword}`.",
                )
                result[f"x-{keyword}"] = True
        return result


def _is_binary(schema: Json) -> bool:
    return (
        isinstance(schema, dict)
        and schema.get("type") == "string"
        and schema.get("format") == "binary"
    )


def _expanded(server: JsonObject) -> str:
    url = str(server["url"])
    variables = server.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        url = url.replace(
            "{" + name + "}", str(variable.get("default", "")) if isinstance(variable, dict) else ""
        )
    return url


def down_to_2_0(document: JsonObject, issues: IssueLog) -> JsonObject:
    return SwaggerDown(
        with_lasting_references(document, issues, Family.V30, Family.V20), issues
    ).convert()
