"""Front matter of each format: what its fields mean, and how to say the same in another."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from commonplace.instructions.adapters.rule import PortableRule, RuleActivation
from commonplace.instructions.clients.copilot import EVERYTHING
from commonplace.instructions.rulefiles.front_matter import patterns_of
from commonplace.kernel.json_types import Json, JsonObject

ALWAYS, GLOB = RuleActivation.ALWAYS, RuleActivation.GLOB
DESCRIPTION, MANUAL = RuleActivation.DESCRIPTION, RuleActivation.MANUAL
AMP_FOLDER = ".agents/rules"
_UP = "../../"  # from the folder of Amp's files to the top of the repository


@dataclass(frozen=True, slots=True)
class HeaderMeaning:
    """When a rule applies, by its front matter. `note` says where that may surprise."""

    activation: RuleActivation
    globs: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class HeaderDialect:
    """The fields that a format knows, and the two directions between them and a rule."""

    known: frozenset[str]
    read: Callable[[Mapping[str, Json]], HeaderMeaning]
    write: Callable[[PortableRule], JsonObject]


def _string_or_list(globs: tuple[str, ...]) -> Json:
    """Write globs as a comma-separated string, or as a list where that would read otherwise."""
    joined = ",".join(globs)
    return joined if patterns_of(joined) == globs else list(globs)


def _read_cursor(fields: Mapping[str, Json]) -> HeaderMeaning:
    globs = patterns_of(fields.get("globs"))
    if fields.get("alwaysApply") is True:
        return HeaderMeaning(ALWAYS, globs)
    if globs:
        return HeaderMeaning(GLOB, globs)
    return HeaderMeaning(DESCRIPTION if fields.get("description") else MANUAL)


def _write_cursor(rule: PortableRule) -> JsonObject:
    fields: JsonObject = {}
    if rule.activation is DESCRIPTION:
        fields["description"] = rule.description or rule.title
    elif rule.description and rule.activation is not MANUAL:
        fields["description"] = rule.description
    if rule.globs and rule.activation in (ALWAYS, GLOB):
        fields["globs"] = _string_or_list(rule.globs)
    return {**fields, "alwaysApply": rule.activation is ALWAYS}


def _read_claude(fields: Mapping[str, Json]) -> HeaderMeaning:
    globs = patterns_of(fields.get("paths"))
    return HeaderMeaning(GLOB if globs else ALWAYS, globs)


def _write_claude(rule: PortableRule) -> JsonObject:
    fields = _description(rule)
    return {**fields, "paths": list(rule.globs)} if rule.activation is GLOB else fields


def _read_copilot(fields: Mapping[str, Json]) -> HeaderMeaning:
    globs = patterns_of(fields.get("applyTo"))
    if not globs:
        return HeaderMeaning(MANUAL)
    return HeaderMeaning(ALWAYS if EVERYTHING.intersection(globs) else GLOB, globs)


def _write_copilot(rule: PortableRule) -> JsonObject:
    fields = _description(rule)
    if rule.activation is ALWAYS:
        everything = bool(EVERYTHING.intersection(rule.globs))
        return {**fields, "applyTo": _string_or_list(rule.globs) if everything else "**"}
    if rule.activation is GLOB:
        return {**fields, "applyTo": _string_or_list(rule.globs)}
    return fields


def _read_cline(fields: Mapping[str, Json]) -> HeaderMeaning:
    paths = fields.get("paths")
    if isinstance(paths, list):
        globs = patterns_of(paths)
        note = "" if globs else "Cline never loads a rule with an empty list of paths."
        return HeaderMeaning(GLOB if globs else MANUAL, globs, note)
    note = "Cline applies it always: paths is not a list." if paths else ""
    return HeaderMeaning(ALWAYS, (), note)


def _write_cline(rule: PortableRule) -> JsonObject:
    fields = _description(rule)
    if rule.activation is MANUAL:
        return {**fields, "paths": []}
    return {**fields, "paths": list(rule.globs)} if rule.activation is GLOB else fields


def _read_kiro(fields: Mapping[str, Json]) -> HeaderMeaning:
    globs = patterns_of(fields.get("fileMatchPattern"))
    modes = {"fileMatch": GLOB, "manual": MANUAL, "auto": DESCRIPTION}
    inclusion = fields.get("inclusion")
    activation = modes.get(inclusion, ALWAYS) if isinstance(inclusion, str) else ALWAYS
    return HeaderMeaning(activation, globs)


def _write_kiro(rule: PortableRule) -> JsonObject:
    modes = {ALWAYS: "always", GLOB: "fileMatch", MANUAL: "manual", DESCRIPTION: "auto"}
    fields: JsonObject = {"inclusion": modes[rule.activation]}
    if rule.globs:
        single = len(rule.globs) == 1 and patterns_of(rule.globs[0]) == rule.globs
        fields["fileMatchPattern"] = rule.globs[0] if single else list(rule.globs)
    return {**fields, **_description(rule)}


def _read_devin(fields: Mapping[str, Json]) -> HeaderMeaning:
    globs = patterns_of(fields.get("globs"))
    modes = {"always_on": ALWAYS, "glob": GLOB, "model_decision": DESCRIPTION, "manual": MANUAL}
    trigger = fields.get("trigger")
    if trigger:
        return HeaderMeaning(modes.get(trigger if isinstance(trigger, str) else "", MANUAL), globs)
    if globs:
        return HeaderMeaning(GLOB, globs)
    return HeaderMeaning(DESCRIPTION if fields.get("description") else MANUAL)


def _write_devin(rule: PortableRule) -> JsonObject:
    modes = {ALWAYS: "always_on", GLOB: "glob", DESCRIPTION: "model_decision", MANUAL: "manual"}
    fields: JsonObject = {"trigger": modes[rule.activation], **_description(rule)}
    return {**fields, "globs": list(rule.globs)} if rule.globs else fields


def _read_skill(fields: Mapping[str, Json]) -> HeaderMeaning:
    manual = fields.get("disable-model-invocation") is True
    return HeaderMeaning(MANUAL if manual else DESCRIPTION)


def _write_skill(rule: PortableRule) -> JsonObject:
    fields: JsonObject = {"description": (rule.description or rule.title)[:1_024]}
    if rule.activation is MANUAL:
        fields["disable-model-invocation"] = True
    return fields


def _read_amp(fields: Mapping[str, Json]) -> HeaderMeaning:
    globs = patterns_of(fields.get("globs"))
    return HeaderMeaning(GLOB if globs else ALWAYS, globs)


def spell_amp_glob(glob: str, folder: str) -> str:
    """Spell out a glob of Amp: any depth, or relative to the folder of the file that has it."""
    if glob.startswith(("./", "../")):
        return posixpath.normpath(posixpath.join(folder, glob))
    return glob if glob.startswith("**") else f"**/{glob}"


def _write_amp(rule: PortableRule) -> JsonObject:
    fields = _description(rule)
    if rule.activation is not GLOB:
        return fields
    globs = [
        glob.removeprefix("**/") if glob.startswith("**/") else _UP + glob for glob in rule.globs
    ]
    return {**fields, "globs": globs}


_GLOB_FIELDS = ("globs", "paths", "applyTo", "fileMatchPattern")
_MODES = {
    "inclusion": ("always", "fileMatch", "manual", "auto"),
    "trigger": ("always_on", "glob", "model_decision", "manual"),
}


def find_unused_values(fields: Mapping[str, Json]) -> Iterator[str]:
    """Say which values of a header cannot be what they were meant to be."""
    for name in _GLOB_FIELDS:
        value = fields.get(name)
        items = value if isinstance(value, list) else [value]
        if value is not None and not all(isinstance(item, str) for item in items):
            yield f"What is not text in `{name}` was left out."
    if isinstance(fields.get("alwaysApply"), str):
        yield "`alwaysApply` is a text, not true or false: the rule does not apply always."
    for name, modes in _MODES.items():
        if fields.get(name) is not None and fields[name] not in modes:
            yield f"`{name}` is none of {', '.join(modes)}."


def _description(rule: PortableRule) -> JsonObject:
    return {"description": rule.description} if rule.description else {}


def _dialect(
    known: str,
    read: Callable[[Mapping[str, Json]], HeaderMeaning],
    write: Callable[[PortableRule], JsonObject],
) -> HeaderDialect:
    return HeaderDialect(frozenset(("description", *known.split())), read, write)


DIALECTS: MappingProxyType[str, HeaderDialect] = MappingProxyType(
    {
        "cursor": _dialect("globs alwaysApply", _read_cursor, _write_cursor),
        "claude-code": _dialect("paths", _read_claude, _write_claude),
        "copilot": _dialect("applyTo", _read_copilot, _write_copilot),
        "cline": _dialect("paths", _read_cline, _write_cline),
        "kiro": _dialect("inclusion fileMatchPattern", _read_kiro, _write_kiro),
        "devin": _dialect("trigger globs", _read_devin, _write_devin),
        "skills": _dialect("disable-model-invocation", _read_skill, _write_skill),
        "amp": _dialect("globs", _read_amp, _write_amp),
    }
)
