"""The text of a document that was changed or newly made, in JSON or YAML."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.yaml.edit import edit_yaml
from commonplace.openapi.engine.yaml.emit import to_json, to_text, to_yaml
from commonplace.openapi.model import ApiDocument, Format, SourceTree
from commonplace.openapi.number_literals import NumberLiterals

EDIT_LIMIT_BYTES = 4_000_000


def format_for(output: str | None) -> Format | None:
    """Return the format that the name of an output file asks for."""
    name = (output or "").lower()
    if name.endswith(".json"):
        return "json"
    return "yaml" if name.endswith((".yaml", ".yml")) else None


def render_new(data: JsonObject, source: ApiDocument, output: str | None) -> str:
    """Render a new document in the format of its output file, else in that of its source."""
    return to_text(data, format_for(output) or source.format, source.numbers)


def render_changed(source: ApiDocument, data: JsonObject, output: str | None = None) -> str:
    """Render changed data in the form of its source; in YAML only the changes are rewritten.

    The name of the output file may ask for the other format.
    """
    if format_for(output) not in (None, source.format):
        return render_new(data, source, output)
    if data is source.data:
        return source.text
    if source.format == "json":
        return _render_json_like(source.text, data, source.numbers)
    if len(source.text) > EDIT_LIMIT_BYTES:
        return to_yaml(data, numbers=source.numbers)
    return edit_yaml(source.text, source.data, data, source.numbers)


def merge_number_literals(document: ApiDocument, *others: ApiDocument | SourceTree) -> ApiDocument:
    """Return the document with the number literals of others whose parts were merged into it."""
    numbers = NumberLiterals()
    for source in (document, *others):
        numbers.add(source.numbers)
    return replace(document, numbers=numbers)


def _render_json_like(text: str, data: JsonObject, numbers: NumberLiterals) -> str:
    """Render JSON with the indentation of the source text."""
    indented = re.match(r"\s*\{(\r?\n)([ \t]*)", text)
    if indented is not None and indented.group(2) == "  ":
        return to_json(data, numbers)
    marked = numbers.mark(data)
    if indented is not None:
        rendered = json.dumps(marked, ensure_ascii=False, indent=indented.group(2)) + "\n"
    else:
        spaced = re.match(r'\s*\{"[^"]*": ', text)
        separators = (", ", ": ") if spaced else (",", ":")
        rendered = json.dumps(marked, ensure_ascii=False, separators=separators)
    return numbers.restore(rendered, json=True)
