"""Validation of arguments, with errors that a caller can act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from commonplace.dispatch.tool import Tool
from commonplace.kernel.errors import INVALID_ARGUMENT, Code, CommonplaceError
from commonplace.kernel.json_types import Json

MAX_PROBLEMS = 20
_WORDS = {  # by pydantic's type of error, where its own words are those of Python
    "missing": "is missing",
    "string_type": "must be a string",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
}
_OPENINGS = {
    "Value error, ": "",
    "Input should ": "must ",
    "String should ": "must ",
    "List should ": "must ",
    "Dictionary should ": "must ",
}


def validate(tool: Tool, arguments: Mapping[str, Json]) -> BaseModel:
    """Return the arguments as the tool's input type.

    Raises the code that the tool declares for the first bad field, else INVALID_ARGUMENT.
    """
    try:
        return tool.input.model_validate(arguments)
    except ValidationError as invalid:
        problems = invalid.errors(include_url=False, include_input=False, include_context=False)
    known = sorted(field.alias or name for name, field in tool.input.model_fields.items())
    fields = [
        {
            "field": ".".join(str(part) for part in problem["loc"]),
            "problem": _explain(problem, known),
        }
        for problem in problems[:MAX_PROBLEMS]
    ]
    name = str(problems[0]["loc"][0]) if problems[0]["loc"] else ""
    code: Code = tool.field_codes.get(name, INVALID_ARGUMENT)
    message = "; ".join(f"{item['field'] or 'arguments'}: {item['problem']}" for item in fields[:5])
    hint = _list_fields(tool, name, known)
    raise CommonplaceError(
        code, message, hint=hint, details={"field": fields[0]["field"], "fields": fields}
    )


def _list_fields(tool: Tool, name: str, known: Sequence[str]) -> str:
    """Say what a tool takes, or what objects in the wrong argument take."""
    argument = tool.input.model_fields.get(name)
    inner = _find_model(argument.annotation) if argument is not None else None
    if inner is not None:
        names = sorted(field.alias or key for key, field in inner.model_fields.items())
        return f"An object in {name} takes: {', '.join(names)}."
    return (
        f"{tool.name} takes: {', '.join(known)}." if known else f"{tool.name} takes no arguments."
    )


def _find_model(annotation: object) -> type[BaseModel] | None:
    """Return the type of the objects in a list or union; None if they have no fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_find_model, get_args(annotation))), None)


def _explain(problem: ErrorDetails, known: Iterable[str]) -> str:
    kind = problem["type"]
    if kind == "extra_forbidden":
        near = (
            get_close_matches(str(problem["loc"][-1]), known, 1, 0.7)
            if len(problem["loc"]) == 1
            else []
        )
        if near:
            return f"is not an argument; did you mean {near[0]}?"
        return "is not an argument" if len(problem["loc"]) == 1 else "is not known here"
    text = _WORDS.get(kind) or problem["msg"]
    for opening, ours in _OPENINGS.items():
        if text.startswith(opening):
            text = ours + text.removeprefix(opening)
    return (
        text.replace(" after validation", "")
        .replace("greater than or equal to", "at least")
        .replace("less than or equal to", "at most")
    )
