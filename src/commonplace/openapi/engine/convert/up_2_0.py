"""2.0 to 3.0: servers, bodies, forms, styles, content, components, OAuth flows."""

from __future__ import annotations

import re

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.keywords import VALUE_KEYWORDS
from commonplace.openapi.engine.convert.places import with_lasting_references
from commonplace.openapi.engine.convert.swagger_schema import (
    Restored,
    SchemaUp,
    pointer_of,
    value_schema,
)
from commonplace.openapi.engine.convert.swagger_security import scheme_up
from commonplace.openapi.engine.pointers import resolve_pointer
from commonplace.openapi.engine.require import require_list
from commonplace.openapi.model import METHODS, Family

JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"
MULTIPART_TYPE = "multipart/form-data"
_STYLES = {
    "csv": ("form", False),
    "multi": ("form", True),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
}
_COMPONENT_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_HANDLED_ROOT = frozenset(
    [
        "swagger",
        "host",
        "basePath",
        "schemes",
        "consumes",
        "produces",
        "info",
        "paths",
        "definitions",
        "parameters",
        "responses",
        "securityDefinitions",
    ]
)
_HANDLED_OPERATION = frozenset(("consumes", "produces", "parameters", "responses", "schemes"))


def component_names(names: list[str]) -> dict[str, str]:
    """Each name with the form that components allow; distinct names stay distinct."""
    taken: set[str] = set()
    result = {}
    for name in sorted(names, key=lambda one: bool(_COMPONENT_NAME.search(one))):
        plain = _COMPONENT_NAME.sub("_", name).strip("_") or "unnamed"
        if not _COMPONENT_NAME.search(name) and name:
            plain = name
        unique, number = plain, 2
        while unique in taken:
            unique, number = f"{plain}_{number}", number + 1
        taken.add(unique)
        result[name] = unique
    return result


class SwaggerUp:
    """One conversion of a 2.0 document."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        document = Restored(issues).rewrite(document, "document")
        document = with_lasting_references(document, issues, Family.V20, Family.V30)
        self.source = document
        self.issues = issues
        self.consumes = _strings(document.get("consumes"))
        self.produces = _strings(document.get("produces"))
        self.renamed: dict[str, dict[str, str]] = {}
        self.originals: dict[str, dict[str, str]] = {}
        for section in ("definitions", "parameters", "responses", "securityDefinitions"):
            names = list(_mapping(document, section))
            self.renamed[section] = component_names(names)
            self.originals[section] = {new: old for old, new in self.renamed[section].items()}
            for old, new in self.renamed[section].items():
                if old != new:
                    issues.info(
                        pointer_of([section, old]),
                        f"Renamed to {new!r}: 3.0 allows only letters, digits, `.`, `_`, `-` here.",
                    )

    def convert(self, version: str) -> JsonObject:
        source = self._with_new_references(self.source)
        self.document = source
        self.shared = self._shared_responses(source)
        result: JsonObject = {"openapi": version}
        result["info"] = source.get("info", {})
        servers = self._servers(source.get("schemes"), note=True)
        if servers:
            result["servers"] = servers
        result["paths"] = {
            path: self._path_item(item, ["paths", path])
            if isinstance(item, dict) and not path.startswith("x-")
            else item
            for path, item in _mapping(source, "paths").items()
        }
        components = self._components(source)
        if components:
            result["components"] = components
        result.update(
            {
                key: value
                for key, value in source.items()
                if key not in _HANDLED_ROOT and key != "security"
            }
        )
        if "security" in source:
            result["security"] = self._requirements(source["security"])
        return result

    # References first, so that nothing below has to think of them.
    def _with_new_references(self, node: Json) -> Json:
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                new = self._reference(reference)
                return {**node, "$ref": new} if new != reference else node
            return {
                key: self._with_new_mapping(value)
                if key == "discriminator" and isinstance(value, dict)
                else self._with_new_references(value)
                for key, value in node.items()
            }
        if isinstance(node, list):
            return [self._with_new_references(value) for value in node]
        return node

    def _with_new_mapping(self, discriminator: JsonObject) -> JsonObject:
        """Mappings give references or names.

        A property may be called `discriminator` too; then it is a schema as any other.
        """
        mapping = discriminator.get("mapping")
        if not isinstance(discriminator.get("propertyName"), str) or not isinstance(mapping, dict):
            return dict(self._with_new_references(discriminator))
        names = self.renamed["definitions"]
        new = {
            key: names.get(one, self._reference(one)) if isinstance(one, str) else one
            for key, one in mapping.items()
        }
        return {**discriminator, "mapping": new}

    def _reference(self, reference: str) -> str:
        tokens = reference.split("/")
        if len(tokens) < 3 or tokens[0] != "#":
            return reference
        section, name = tokens[1], tokens[2].replace("~1", "/").replace("~0", "~")
        if name not in self.renamed.get(section, {}):
            from urllib.parse import unquote

            name = unquote(name)
        new = self.renamed.get(section, {}).get(name, name)
        rest = "".join("/" + token for token in tokens[3:])
        if section == "definitions":
            return f"#/components/schemas/{new}{rest}"
        if section == "responses":
            return f"#/components/responses/{new}{rest}"
        if section == "parameters":
            target = _mapping(self.source, "parameters").get(name)
            kind = (
                "requestBodies"
                if isinstance(target, dict) and target.get("in") in ("body", "formData")
                else "parameters"
            )
            return f"#/components/{kind}/{new}{rest}"
        return reference

    def _servers(self, schemes: Json, *, note: bool = False) -> list[JsonObject]:
        host, base = self.source.get("host"), self.source.get("basePath") or ""
        base = base.rstrip("/") if isinstance(base, str) else ""
        if not isinstance(host, str) or not host:
            return [{"url": base}] if base else []
        chosen = _strings(schemes)
        if not chosen:
            if note:
                self.issues.info(
                    "/host",
                    "No scheme is declared; the server address starts with `//` and takes the "
                    "reader's scheme.",
                )
            return [{"url": f"//{host}{base}"}]
        return [{"url": f"{scheme}://{host}{base}"} for scheme in chosen]

    def _schema(self, schema: Json, at: list[str]) -> Json:
        return SchemaUp(self.issues, list(at)).rewrite(schema, "schema")

    def _components(self, source: JsonObject) -> JsonObject:
        components: JsonObject = {}
        schemas = {
            self.renamed["definitions"][name]: self._schema(schema, ["definitions", name])
            for name, schema in _mapping(source, "definitions").items()
        }
        parameters: JsonObject = {}
        bodies: JsonObject = {}
        for name, parameter in _mapping(source, "parameters").items():
            at = ["parameters", name]
            new = self.renamed["parameters"][name]
            if not isinstance(parameter, dict):
                continue
            if parameter.get("in") == "body":
                bodies[new] = self._body(parameter, self.consumes or [JSON_TYPE], at)
            elif parameter.get("in") == "formData":
                bodies[new] = self._form([(parameter, at)], self.consumes)
            else:
                parameters[new] = self._parameter(parameter, at)
        responses = {
            self.renamed["responses"][name]: self._response(
                response, self._produced(self.renamed["responses"][name]), ["responses", name]
            )
            for name, response in _mapping(source, "responses").items()
        }
        schemes = {
            self.renamed["securityDefinitions"][name]: scheme_up(
                scheme, self.issues, ["securityDefinitions", name]
            )
            for name, scheme in _mapping(source, "securityDefinitions").items()
        }
        for key, value in (
            ("schemas", schemas),
            ("responses", responses),
            ("parameters", parameters),
            ("requestBodies", bodies),
            ("securitySchemes", schemes),
        ):
            if value:
                components[key] = value
        return components

    def _path_item(self, item: JsonObject, at: list[str]) -> JsonObject:
        shared = [
            (entry, [*at, "parameters", str(index)])
            for index, entry in enumerate(
                require_list(item.get("parameters"), pointer_of([*at, "parameters"]))
            )
        ]
        result: JsonObject = {}
        for key, value in item.items():
            if key == "parameters":
                plain = [
                    self._parameter(entry, where)
                    for entry, where in shared
                    if self._place(entry) not in ("body", "formData")
                ]
                if plain:
                    result["parameters"] = plain
            elif key in METHODS and isinstance(value, dict):
                result[key] = self._operation(value, shared, [*at, key])
            else:
                result[key] = value
        return result

    def _place(self, parameter: Json) -> str:
        return str(self._resolved(parameter).get("in", ""))

    def _resolved(self, parameter: Json) -> JsonObject:
        """The 2.0 parameter itself, through a reference that has already been renamed."""
        if not isinstance(parameter, dict):
            return {}
        reference = parameter.get("$ref")
        if not isinstance(reference, str):
            return parameter
        name = reference.rsplit("/", 1)[-1]
        if name in self.originals["parameters"] and reference.startswith(
            ("#/components/parameters/", "#/components/requestBodies/")
        ):
            found = self.document["parameters"][self.originals["parameters"][name]]
            return found if isinstance(found, dict) else {}
        try:
            found = resolve_pointer(self.document, reference)
        except LookupError:
            return {}
        return found if isinstance(found, dict) else {}

    def _operation(
        self, operation: JsonObject, shared: list[tuple[Json, list[str]]], at: list[str]
    ) -> JsonObject:
        own = [
            (entry, [*at, "parameters", str(index)])
            for index, entry in enumerate(
                require_list(operation.get("parameters"), pointer_of([*at, "parameters"]))
            )
        ]
        consumes = _strings(operation.get("consumes")) if "consumes" in operation else self.consumes
        produces = self._produces(operation)
        result: JsonObject = {
            key: value
            for key, value in operation.items()
            if key not in _HANDLED_OPERATION and key != "security"
        }
        plain = [
            self._parameter(entry, where)
            for entry, where in own
            if self._place(entry) not in ("body", "formData")
        ]
        if plain:
            result["parameters"] = plain
        body = self._request_body([*own, *shared], consumes, own_consumes="consumes" in operation)
        if body is not None:
            result["requestBody"] = body
        result["responses"] = {
            code: self._response(response, produces, [*at, "responses", code])
            if not code.startswith("x-")
            else response
            for code, response in _mapping(operation, "responses").items()
        }
        if "schemes" in operation:
            servers = self._servers(operation["schemes"])
            if servers:
                result["servers"] = servers
        if "security" in operation:
            result["security"] = self._requirements(operation["security"])
        return result

    def _request_body(
        self, parameters: list[tuple[Json, list[str]]], consumes: list[str], *, own_consumes: bool
    ) -> JsonObject | None:
        bodies = [(entry, at) for entry, at in parameters if self._place(entry) == "body"]
        if bodies:
            entry, at = bodies[0]
            if (
                "$ref" in entry
                and not own_consumes
                and str(entry["$ref"]).startswith("#/components/requestBodies/")
            ):
                return {"$ref": entry["$ref"]}
            return self._body(self._resolved(entry), consumes or [JSON_TYPE], at)
        fields: dict[str, tuple[JsonObject, list[str]]] = {}
        for entry, at in parameters:
            if self._place(entry) == "formData":
                field = self._resolved(entry)
                fields.setdefault(str(field.get("name", "")), (field, at))
        return self._form(list(fields.values()), consumes) if fields else None

    def _body(self, parameter: JsonObject, consumes: list[str], at: list[str]) -> JsonObject:
        schema = self._schema(parameter.get("schema", {}), [*at, "schema"])
        body: JsonObject = {}
        if "description" in parameter:
            body["description"] = parameter["description"]
        body["content"] = {media_type: {"schema": schema} for media_type in consumes}
        if parameter.get("required"):
            body["required"] = True
        body.update(_extensions(parameter))
        examples = _mapping(body, "x-examples")
        given = [kind for kind in body["content"] if kind in examples]
        for kind in given:
            body["content"][kind]["example"] = examples[kind]
        if given and len(given) == len(examples):
            del body["x-examples"]
        if parameter.get("name") not in (None, "body"):
            body.setdefault("x-body-name", parameter["name"])
        return body

    def _form(self, fields: list[tuple[JsonObject, list[str]]], consumes: list[str]) -> JsonObject:
        properties: JsonObject = {}
        encoding: JsonObject = {}
        required: list[str] = []
        has_file = False
        for field, at in fields:
            name = str(field.get("name", ""))
            schema = value_schema(field, self.issues, at)
            has_file = has_file or field.get("type") == "file"
            if "description" in field:
                schema["description"] = field["description"]
            schema.update(_extensions(field))
            if "x-example" in schema:
                schema["example"] = schema.pop("x-example")
            properties[name] = schema
            if field.get("required"):
                required.append(name)
            if field.get("type") == "array":
                style, explode = self._style(field, "formData", at)
                if (style, explode) != ("form", True):
                    encoding[name] = {"style": style, "explode": explode}
        schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        media_type: JsonObject = {"schema": schema}
        if encoding:
            media_type["encoding"] = encoding
        allowed = (MULTIPART_TYPE,) if has_file else (FORM_TYPE, MULTIPART_TYPE)
        kinds = [kind for kind in consumes if kind in allowed] or [allowed[0]]
        body: JsonObject = {"content": dict.fromkeys(kinds, media_type)}
        if required:
            body["required"] = True
        return body

    def _style(self, parameter: JsonObject, place: str, at: list[str]) -> tuple[str, bool]:
        collection = parameter.get("collectionFormat", "csv")
        if collection == "tsv":
            self.issues.warning(
                pointer_of(at, "collectionFormat"),
                "Tab-separated values have no 3.0 style; commas are used.",
            )
            collection = "csv"
        if place in ("path", "header"):
            if collection != "csv":
                self.issues.warning(
                    pointer_of(at, "collectionFormat"),
                    f"{collection!r} is not possible in a {place}; commas are used.",
                )
            return "simple", False
        return _STYLES.get(str(collection), ("form", False))

    def _parameter(self, parameter: Json, at: list[str]) -> Json:
        if not isinstance(parameter, dict) or "$ref" in parameter:
            return parameter
        place = str(parameter.get("in", ""))
        result = {
            key: value
            for key, value in parameter.items()
            if key not in VALUE_KEYWORDS and key not in ("collectionFormat", "schema")
        }
        if place == "path":
            result["required"] = True
        if place != "query":
            result.pop("allowEmptyValue", None)
        if parameter.get("type") == "array":
            style, explode = self._style(parameter, place, at)
            if (style, explode) != (
                ("simple", False) if place in ("path", "header") else ("form", True)
            ):
                result.update(style=style, explode=explode)
        result["schema"] = value_schema(parameter, self.issues, at)
        return result

    def _shared_responses(self, source: JsonObject) -> dict[str, list[list[str]]]:
        """What the operations that refer to a shared response produce: in 2.0 its media types
        are theirs.
        """
        found: dict[str, list[list[str]]] = {}
        for item in _mapping(source, "paths").values():
            for operation in (
                (item.get(method) for method in METHODS) if isinstance(item, dict) else ()
            ):
                if not isinstance(operation, dict):
                    continue
                produces = self._produces(operation)
                for response in _mapping(operation, "responses").values():
                    reference = response.get("$ref") if isinstance(response, dict) else None
                    lists = found.setdefault(reference, []) if isinstance(reference, str) else None
                    if lists is not None and produces not in lists:
                        lists.append(produces)
        return found

    def _produces(self, operation: JsonObject) -> list[str]:
        return _strings(operation.get("produces")) if "produces" in operation else self.produces

    def _produced(self, name: str) -> list[str]:
        """The media types of a shared response: those of the operations that refer to it, the
        document's where they differ.
        """
        lists = self.shared.get(f"#/components/responses/{name}") or [self.produces]
        return self.produces if self.produces in lists else lists[0]

    def _referred(self, reference: Json, produces: list[str], at: list[str]) -> Json | None:
        """A shared response as it is in an operation that produces other media types than the
        rest; None where it is the same.
        """
        name = str(reference).removeprefix("#/components/responses/")
        old = self.originals["responses"].get(name, "")
        shared = _mapping(self.document, "responses").get(old)
        if (
            not isinstance(shared, dict)
            or not shared.keys() & {"schema", "examples"}
            or produces == self._produced(name)
        ):
            return None
        self.issues.info(
            pointer_of(at),
            f"The response {old!r} stands here itself, for this operation produces other media "
            f"types.",
        )
        return self._response(shared, produces, at)

    def _response(self, response: Json, produces: list[str], at: list[str]) -> Json:
        if not isinstance(response, dict):
            return response
        if "$ref" in response:
            return (
                self._referred(response["$ref"], produces, at) if at[0] == "paths" else None
            ) or response
        result: JsonObject = {"description": response.get("description", "")}
        if isinstance(response.get("headers"), dict):
            result["headers"] = {
                name: self._header(header, [*at, "headers", name])
                for name, header in response["headers"].items()
                if isinstance(header, dict)
            }
        examples = response.get("examples")
        examples = examples if isinstance(examples, dict) else {}
        if "schema" in response:
            schema = self._schema(response["schema"], [*at, "schema"])
            is_file = (
                isinstance(response["schema"], dict) and response["schema"].get("type") == "file"
            )
            kinds = produces or (["application/octet-stream"] if is_file else [JSON_TYPE])
            result["content"] = {kind: {"schema": schema} for kind in kinds}
        self._examples(result, examples, produces, at)
        result.update(_extensions(response))
        return result

    def _examples(
        self, response: JsonObject, examples: JsonObject, produces: list[str], at: list[str]
    ) -> None:
        """Each example goes to its own media type.

        Where media types are declared, an example of another one does not add to them.
        """
        given = {kind: example for kind, example in examples.items() if not kind.startswith("x-")}
        content: JsonObject = response.get("content", {})
        schema = next((media["schema"] for media in content.values()), None)
        declared = list(content) or produces
        strange: JsonObject = {}
        for kind, example in given.items():
            same = (one for one in declared if _essence(one) == _essence(kind) and one not in given)
            here = kind if kind in declared else next(same, kind)
            if here not in declared and produces:
                strange[kind] = example
                message = f"{kind!r} is not produced here; its example is kept as `x-examples`."
                self.issues.warning(pointer_of(at, "examples", kind), message)
            else:
                content[here] = {
                    **content.get(here, {} if schema is None else {"schema": schema}),
                    "example": example,
                }
        if content:
            response["content"] = content
        if strange:
            response["x-examples"] = strange

    def _header(self, header: JsonObject, at: list[str]) -> JsonObject:
        result = {
            key: value
            for key, value in header.items()
            if key not in VALUE_KEYWORDS and key != "collectionFormat"
        }
        if header.get("type") == "array":
            self._style(header, "header", at)
        result["schema"] = value_schema(header, self.issues, at)
        return result

    def _requirements(self, requirements: Json) -> Json:
        if not isinstance(requirements, list):
            return requirements
        names = self.renamed["securityDefinitions"]
        return [
            {names.get(name, name): scopes for name, scopes in one.items()}
            if isinstance(one, dict)
            else one
            for one in requirements
        ]


def _mapping(node: JsonObject, key: str) -> JsonObject:
    value = node.get(key)
    return value if isinstance(value, dict) else {}


def _strings(value: Json) -> list[str]:
    return (
        list(dict.fromkeys(one for one in value if isinstance(one, str)))
        if isinstance(value, list)
        else []
    )


def _essence(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _extensions(node: JsonObject) -> JsonObject:
    return {
        key: value for key, value in node.items() if key.startswith("x-") and key != "x-nullable"
    }
