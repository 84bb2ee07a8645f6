"""Write a changed rule back into the file it belongs to, in the form of that file."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import replace

from commonplace.instructions.adapters.marker import (
    MarkedText,
    mark_file,
    mark_section,
    read_file_marker,
    read_sections,
    replace_sections,
)
from commonplace.instructions.adapters.places import place_of
from commonplace.instructions.adapters.reading import FoundRule, read_rule_file
from commonplace.instructions.adapters.rule import PortableRule, RuleActivation
from commonplace.instructions.adapters.writing import advice_of, compose_file
from commonplace.instructions.rulefiles.front_matter import split_front_matter

_HEADER_FIELDS = ("activation", "globs", "description", "header")


def decode(data: bytes) -> str:
    """Return the text of a rule file, with Unix line ends."""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def has_windows_line_ends(data: bytes) -> bool:
    """Tell whether every line of a file ends as on Windows."""
    return data.count(b"\r\n") == data.count(b"\n") > 0


def encode_like(content: str, present: bytes | None) -> bytes:
    """Encode a text with the line ends and the byte order mark of the file that it replaces."""
    data = content.encode("utf-8", "replace")
    if present is None:
        return data
    if has_windows_line_ends(present):
        data = data.replace(b"\n", b"\r\n")
    return BOM_UTF8 + data if present.startswith(BOM_UTF8) else data


def rewrite(path: str, content: str, found: FoundRule, rule: PortableRule) -> str:
    """Return a file with a rule in the place of the one that was found there.

    The front matter stays byte by byte as it is unless the rule says something else.
    """
    if not found.rule.dialect:
        return _rewrite_shared(content, found, rule)
    marked = read_file_marker(content)
    body = marked.text if marked else content
    if all(getattr(found.rule, name) == getattr(rule, name) for name in _HEADER_FIELDS):
        parsed = split_front_matter(body)
        header = body[: len(body) - len(parsed.body)] if parsed.has_header else ""
        gap = "\n" if header and parsed.body.startswith("\n") else ""
        written = f"{header}{gap}{rule.text}\n"
    else:
        own = replace(rule, dialect=found.rule.dialect)
        written = compose_file(_relative_to(own, place_of(path).owner), own.dialect, path)
    return mark_file(marked.id, written) if marked else written


def _rewrite_shared(content: str, found: FoundRule, rule: PortableRule) -> str:
    if found.id is None:
        sections = {section.id: content[slice(*section.span)] for section in _sections(content)}
        kept = "\n".join(sections.values())
        return f"{rule.text}\n\n{kept}" if kept else f"{rule.text}\n"
    advice = "" if rule.activation is found.rule.activation else advice_of(rule)
    sections = {section.id: content[slice(*section.span)] for section in _sections(content)}
    sections[found.id] = mark_section(found.id, f"{advice}{rule.text}\n")
    return replace_sections(content, sections)


def _sections(content: str) -> tuple[MarkedText, ...]:
    return read_sections(content).sections


def remove_rule(path: str, content: str, found: FoundRule) -> str:
    """Return a file without a rule; blank if it held nothing else."""
    if found.rule.dialect:
        return ""
    sections = {section.id: content[slice(*section.span)] for section in _sections(content)}
    if found.id is None:
        return "\n".join(sections.values())
    sections.pop(found.id, None)
    return replace_sections(content, sections)


def _relative_to(rule: PortableRule, owner: str) -> PortableRule:
    """Write globs relative to the folder that a rule folder belongs to."""
    if owner == ".":
        return rule
    if rule.activation is RuleActivation.GLOB and rule.globs == (f"{owner}/**",):
        return replace(rule, activation=RuleActivation.ALWAYS, globs=())
    inside = re.compile(rf"(!?){re.escape(owner)}/")
    return replace(rule, globs=tuple(inside.sub(r"\1", glob, 1) for glob in rule.globs))


def take_over(stored: PortableRule, before: PortableRule, after: PortableRule) -> PortableRule:
    """Change a rule of the catalogue as its file changed, and nothing that the file cannot say.

    `before` is what the file would say of the stored rule, `after` what it says now.
    """
    names = ("text", "activation", "globs", "title", "description", "header", "dialect")
    changed = {
        name: getattr(after, name)
        for name in names
        if getattr(before, name) != getattr(after, name)
    }
    return replace(stored, **changed)


def read_found(path: str, content: str, found: FoundRule) -> PortableRule | None:
    """Read a rule of a file again, after the file was rewritten."""
    reading = read_rule_file(path, content.encode("utf-8", "replace"))
    return next((other.rule for other in reading.rules if other.id == found.id), None)
