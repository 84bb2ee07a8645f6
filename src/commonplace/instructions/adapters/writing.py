"""Write rules as a client's files: the form that loses least, its place and its text."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from commonplace.instructions.adapters.dialects import AMP_FOLDER, DIALECTS
from commonplace.instructions.adapters.marker import mark_file, mark_section
from commonplace.instructions.adapters.naming import skill_name
from commonplace.instructions.adapters.places import place_of
from commonplace.instructions.adapters.reading import MENTIONS
from commonplace.instructions.adapters.rule import PortableRule, RuleActivation
from commonplace.instructions.adapters.yaml_header import write_header
from commonplace.instructions.clients.copilot import EVERYTHING
from commonplace.instructions.rulefiles.formats import format_of
from commonplace.kernel.json_types import JsonObject

ALWAYS, GLOB = RuleActivation.ALWAYS, RuleActivation.GLOB
DESCRIPTION, MANUAL = RuleActivation.DESCRIPTION, RuleActivation.MANUAL
_FOLDER = re.compile(r"(?!(?:[^/]*/)*\.{1,2}/)(?:[^/*?\[\]{}!\\\x00-\x1f]+/)+")
_WHOLE_FOLDER = re.compile(r"(?:[^/*?\[\]{}!\\]+/)+\*\*(?:/\*)?\Z")


_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class ClientFiles:
    """Where a client keeps rules: files of their own, a shared file, a folder of skills."""

    folder: str = ""
    suffix: str = ".md"
    shared: str = ""
    nested: bool = False
    """Whether a shared file may lie in the folder that it is about."""
    skills: str = ""
    manual_skills: bool = False


TARGETS: Mapping[str, ClientFiles] = {
    "agents-md": ClientFiles(shared="AGENTS.md", nested=True),
    "amp": ClientFiles(AMP_FOLDER, skills=".agents/skills"),
    "claude-code": ClientFiles(".claude/rules", skills=".claude/skills", manual_skills=True),
    "cline": ClientFiles(".clinerules"),
    "codex": ClientFiles(shared="AGENTS.md", nested=True, skills=".agents/skills"),
    "copilot": ClientFiles(".github/instructions", ".instructions.md", skills=".github/skills"),
    "cursor": ClientFiles(".cursor/rules", ".mdc"),
    "devin": ClientFiles(".devin/rules"),
    "gemini": ClientFiles(shared="GEMINI.md", nested=True),
    "junie": ClientFiles(shared=".junie/guidelines.md"),
    "kiro": ClientFiles(".kiro/steering"),
    "skills": ClientFiles(skills=".agents/skills"),
}
"""The clients that rules can be written for."""


@dataclass(frozen=True, slots=True)
class ExportedRule:
    """A rule of the catalogue, and the file it came from, if it came from one."""

    id: str
    rule: PortableRule
    file: str = ""


@dataclass(slots=True)
class ClientExport:
    """The files of an export. A file with sections may also hold text of a person."""

    files: dict[str, str] = field(default_factory=dict)
    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    """Sections by id, of files that rules share."""
    paths: dict[str, list[str]] = field(default_factory=dict)
    """Where each rule went."""
    unwritten: dict[str, str] = field(default_factory=dict)
    """Rules that the client has no form for, and why."""
    taken: Container[str] = ()

    def is_free(self, path: str) -> bool:
        """Tell whether a file of this export may have a path."""
        return path not in self.files and path not in self.taken


def write_for_client(
    client: str, rules: Sequence[ExportedRule], taken: Container[str] = ()
) -> ClientExport:
    """Write every rule in the client's nearest form. The order of rules does not matter.

    `taken` are paths that no rule may have.
    """
    export = ClientExport(taken=taken)
    target = TARGETS[client]
    for given in sorted(rules, key=lambda given: given.id):
        exported = _without_waiting(client, given)
        if client == "skills" or (target.skills and _needs_skill(target, exported.rule)):
            _add_skill(export, target, exported)
        elif exported.rule.activation is MANUAL and (target.shared or client == "amp"):
            export.unwritten[exported.id] = "the client has no rules that a person calls by name"
        elif target.shared:
            _add_sections(export, target, exported)
        else:
            _add_file(export, client, target, exported)
    if client == "amp" and export.files:
        mentions = sorted(path for path in export.files if path.startswith(AMP_FOLDER))
        text = "".join(f"@{path}\n" for path in mentions)
        if mentions:
            export.sections["AGENTS.md"] = {MENTIONS: mark_section(MENTIONS, text)}
    return export


def _needs_skill(target: ClientFiles, rule: PortableRule) -> bool:
    return rule.activation is DESCRIPTION or (rule.activation is MANUAL and target.manual_skills)


def _add_file(
    export: ClientExport, client: str, target: ClientFiles, exported: ExportedRule
) -> None:
    choices = (_own_path(client, exported), _own_name(exported), exported.id)
    paths = [
        choice if choice and "/" in choice else f"{target.folder}/{choice}{target.suffix}"
        for choice in choices
        if choice
    ]
    path = next((path for path in paths if export.is_free(path)), None)
    number = 2
    while path is None:
        numbered_path = f"{target.folder}/{exported.id}-{number}{target.suffix}"
        path = numbered_path if export.is_free(numbered_path) else None
        number += 1
    export.files[path] = mark_file(exported.id, compose_file(exported.rule, client, path))
    export.paths[exported.id] = [path]


def _own_path(client: str, exported: ExportedRule) -> str | None:
    """Return the file that a rule came from, if the client reads it from the top folder."""
    path = exported.file
    known = format_of(path) if path else None
    if known is None or known.client != client or not known.globs or "/" not in path:
        return None
    if path != path.strip("/") or {"", ".", ".."} & set(path.split("/")):
        return None
    return path if place_of(path).owner == "." and not path.startswith("~") else None


def _own_name(exported: ExportedRule) -> str | None:
    """Return the name of the file that a rule came from, if it is its own."""
    if not exported.rule.dialect or not exported.file:
        return None
    name = place_of(exported.file).stem.rpartition("/")[2]
    return name if _PLAIN_NAME.match(name) else None


def compose_file(rule: PortableRule, dialect: str, path: str = "") -> str:
    """Write the text of a file that is one rule, without a marker."""
    fields: JsonObject = DIALECTS[dialect].write(rule)
    if rule.dialect == dialect:
        fields = {**{key: value for key, value in rule.header.items() if key != "paths"}, **fields}
        if dialect == "cline" and "paths" in rule.header and "paths" not in fields:
            fields["paths"] = rule.header["paths"]
    if dialect == "kiro" and rule.activation is DESCRIPTION:
        fields = {"name": place_of(path).stem, "description": rule.title, **fields}
    header = write_header(fields) + "\n" if fields or rule.text.startswith("---") else ""
    return f"{header}{rule.text}\n"


def _without_waiting(client: str, exported: ExportedRule) -> ExportedRule:
    """Make a rule manual that waits for a file but names none; some clients can say that."""
    rule = exported.rule
    if rule.activation is not GLOB or rule.globs or client in ("kiro", "devin"):
        return exported
    return replace(exported, rule=replace(rule, activation=MANUAL))


def _add_skill(export: ClientExport, target: ClientFiles, exported: ExportedRule) -> None:
    rule = exported.rule
    named = rule.header.get("name") if rule.dialect == "skills" else None
    valid = isinstance(named, str) and skill_name(named) == named
    first = str(named) if valid else skill_name(exported.id)
    name, number = first, 2
    while not export.is_free(f"{target.skills}/{name}/SKILL.md"):
        name, number = f"{first}-{number}", number + 1
    fields: JsonObject = {"name": name, **DIALECTS["skills"].write(rule)}
    if rule.dialect == "skills":
        fields = {**fields, **{key: rule.header[key] for key in rule.header if key != "name"}}
    path = f"{target.skills}/{name}/SKILL.md"
    content = f"{write_header(fields)}\n{rule.text}\n"
    export.files[path] = mark_file(exported.id, content)
    export.paths[exported.id] = [path]


def _add_sections(export: ClientExport, target: ClientFiles, exported: ExportedRule) -> None:
    """Add a rule to the files of the folders that it is about, else to the file of the top."""
    rule = exported.rule
    paths, advice = [target.shared], advice_of(rule)
    if rule.activation is GLOB and target.nested and rule.globs:
        folders = [_FOLDER.match(glob) for glob in rule.globs]
        if all(folders):
            paths = [f"{folder[0]}{target.shared}" for folder in folders if folder]
        if all(_WHOLE_FOLDER.match(glob) for glob in rule.globs):
            advice = ""
    export.paths[exported.id] = list(dict.fromkeys(paths))
    for path in export.paths[exported.id]:
        section = mark_section(exported.id, f"{advice}{rule.text}\n")
        export.sections.setdefault(path, {})[exported.id] = section


def advice_of(rule: PortableRule) -> str:
    """Say in words what the format cannot: the model can still obey it."""
    if rule.activation is GLOB and rule.globs and not EVERYTHING.intersection(rule.globs):
        globs = ", ".join(f"`{' '.join(glob.split())}`" for glob in rule.globs)
        return f"**Applies to files that match {globs}**\n\n"
    if rule.activation is DESCRIPTION and rule.description:
        return f"**Applies when {' '.join(rule.description.split())}**\n\n"
    return ""


def join_sections(sections: Mapping[str, str]) -> str:
    """Write a file that holds nothing but sections."""
    return "\n".join(sections.values())
