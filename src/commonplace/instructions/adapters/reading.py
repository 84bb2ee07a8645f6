"""Read a rule file into rules, whatever its format and however broken its front matter."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace

from commonplace.instructions.adapters.dialects import (
    AMP_FOLDER,
    DIALECTS,
    find_unused_values,
    spell_amp_glob,
)
from commonplace.instructions.adapters.marker import read_file_marker, read_sections
from commonplace.instructions.adapters.places import RulePlace, move_globs, place_of
from commonplace.instructions.adapters.rule import PortableRule, RuleActivation
from commonplace.instructions.adapters.yaml_header import plain
from commonplace.instructions.engine.hashing import normalise_body
from commonplace.instructions.fields import MAX_BODY_CHARS, MAX_TITLE_CHARS
from commonplace.instructions.rulefiles.formats import find_format
from commonplace.instructions.rulefiles.front_matter import RuleText, split_front_matter
from commonplace.instructions.rulefiles.markdown_code import blank_code

LONGEST_BYTES = 4 << 20
ADVICE = re.compile(r"\A\*\*Applies (?:to files that match|when) .*\*\*\n+")
MENTIONS = "commonplace.mentions"  # the section that names the files for Amp
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.M)
_TITLE_WITHIN = 20_000  # characters
NO_TEXT = "it has no text"


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A rule in a file: where its text begins, and its owner if it carries a marker."""

    rule: PortableRule
    line: int = 1
    id: str | None = None
    intact: bool = False


@dataclass(frozen=True, slots=True)
class RuleReading:
    """What a rule file says. `problem` is the reason why it gives no rule."""

    client: str
    rules: tuple[FoundRule, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""


def read_rule_file(path: str, data: bytes, client: str = "") -> RuleReading:
    """Read the rules of one file. Never raises: what cannot be read is a problem.

    The client follows from the path, unless it is given.
    """
    known = find_format(path)
    client = client or ("amp" if is_amp_file(path) else known.client if known else "")
    if not client:
        return RuleReading("", problem="not a rule file")
    if len(data) > LONGEST_BYTES:
        return RuleReading(client, problem="larger than 4 MiB")
    try:
        content = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        return RuleReading(client, problem=f"not UTF-8 at byte {error.start}")
    has_header = client in ("amp", "skills") or (known is not None and bool(known.globs))
    return _read(path, client, content, client if has_header else "")


def is_amp_file(path: str) -> bool:
    """Tell whether a path is one of the files that AGENTS.md mentions to Amp."""
    return path.startswith(f"{AMP_FOLDER}/") and path.endswith(".md")


def _read(path: str, client: str, content: str, dialect: str) -> RuleReading:
    if dialect:
        marked = read_file_marker(content)
        found, notes = _read_single(path, marked.text if marked else content, dialect)
        if marked:
            found = replace(found, id=marked.id, intact=marked.intact)
        founds = [found]
    else:
        notes = ()
        founds = _read_shared(place_of(path), content)
    if path.endswith("AGENTS.override.md"):
        client = "codex"
    rules = tuple(found for found in founds if found.rule.text)
    problem = "" if rules else NO_TEXT
    if any(len(found.rule.text) > MAX_BODY_CHARS for found in rules):
        return RuleReading(client, (), notes, f"longer than {MAX_BODY_CHARS} characters")
    return RuleReading(client, rules, notes, problem)


def _read_single(path: str, content: str, dialect: str) -> tuple[FoundRule, tuple[str, ...]]:
    """Read a file that is one rule with front matter."""
    place = place_of(path)
    parsed = split_front_matter(content)
    notes = [*parsed.notes]
    if parsed.has_header and not parsed.valid and dialect == "cline":
        parsed = RuleText(body=content)  # Cline shows the whole file, always
        notes.append("Cline applies it always.")
    notes += find_unused_values(parsed.fields)
    format_ = DIALECTS[dialect]
    meaning = format_.read(parsed.fields)
    text = normalise_body(parsed.body)
    description = parsed.fields.get("description")
    header = {key: plain(value) for key, value in parsed.fields.items() if key not in format_.known}
    if description is not None and not isinstance(description, str):
        description = str(plain(description))
    if dialect == "cline" and "paths" in parsed.fields and meaning.note and not meaning.globs:
        header["paths"] = plain(parsed.fields["paths"])
    if meaning.note:
        notes.append(meaning.note)
    activation, globs = meaning.activation, move_globs(meaning.globs, place.owner)
    if dialect == "amp":
        globs = tuple(spell_amp_glob(glob, posixpath.dirname(path)) for glob in meaning.globs)
    if place.owner != "." and activation is RuleActivation.ALWAYS:
        activation, globs = RuleActivation.GLOB, (f"{place.owner}/**",)
    rule = PortableRule(
        text,
        activation,
        globs,
        find_title(text, header, place),
        (description or "").encode("utf-8", "replace").decode(),
        header,
        dialect,
    )
    start = content.find(text[:80]) if text else 0
    return FoundRule(rule, content.count("\n", 0, max(start, 0)) + 1), tuple(notes)


def _read_shared(place: RulePlace, content: str) -> list[FoundRule]:
    """Read a file without front matter: sections of ours, and what people wrote around them."""
    shared = read_sections(content)
    founds = [
        FoundRule(
            _plain_rule(ADVICE.sub("", section.text, 1), place),
            section.line,
            section.id,
            section.intact,
        )
        for section in shared.sections
        if section.id != MENTIONS
    ]
    if shared.rest.strip() or not shared.sections:
        founds.append(FoundRule(_plain_rule(shared.rest, place)))
    return founds


def _plain_rule(content: str, place: RulePlace) -> PortableRule:
    text = normalise_body(content)
    title = find_title(text, {}, place)
    if place.owner == ".":
        return PortableRule(text, title=title)
    return PortableRule(text, RuleActivation.GLOB, (f"{place.owner}/**",), title)


def find_title(text: str, header: dict[str, object], place: RulePlace) -> str:
    """Return the first heading outside code, or the name in the header, or the file's name."""
    text = text[:_TITLE_WITHIN]
    heading = _HEADING.search(blank_code(text)) if "#" in text else None
    if heading is not None:
        title = " ".join(text[heading.start(1) : heading.end(1)].rstrip("# \t").split())
        if title:
            return title[:MAX_TITLE_CHARS]
    for field in ("title", "name"):
        named = header.get(field)
        if isinstance(named, str) and named.strip():
            return " ".join(named.split())[:MAX_TITLE_CHARS]
    words = re.sub(r"[-_\s]+", " ", place.stem.rpartition("/")[2]).strip()
    return (words[:1].upper() + words[1:])[:MAX_TITLE_CHARS] or "Rule"
