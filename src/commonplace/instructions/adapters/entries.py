"""Rules as entries of the catalogue: which field holds what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.instructions.adapters.rule import PortableRule, RuleActivation
from commonplace.instructions.engine.scope.languages import globs_of_languages
from commonplace.instructions.engine.scope.rule_scope import MAX_GLOBS, find_glob_problem
from commonplace.instructions.model import RuleOrigin
from commonplace.kernel.json_types import Json, JsonObject

EXTENSION = "ruleFile"
LONGEST_DESCRIPTION = 4_000


def entry_of(rule: PortableRule, id_: str, origin: RuleOrigin) -> JsonObject:
    """Return the fields that a rule file sets; null removes what the file no longer says.

    What the catalogue's fields cannot hold is kept under `extensions.ruleFile`: fields of one
    client, globs that are none, and the hash of the rule as the file said it.
    """
    legal = _legal_globs(rule.globs)
    activation = rule.activation
    kept: JsonObject = {"base": rule.hash}
    if legal != list(rule.globs):
        kept["globs"] = list(rule.globs)
    if activation is RuleActivation.GLOB and not _includes(legal):
        activation = RuleActivation.MANUAL
        kept["activation"] = RuleActivation.GLOB.value
    if rule.header:
        kept["header"] = dict(rule.header)
    if rule.dialect:
        kept["dialect"] = rule.dialect
    return {
        "id": id_,
        "title": rule.title,
        "body": rule.text,
        "description": rule.description or None,
        "activation": activation.value,
        "appliesTo": legal or None,
        "origin": origin.as_json(),
        "extensions": {EXTENSION: kept},
    }


def rule_of(document: Mapping[str, Json]) -> PortableRule:
    """Return what a rule file can say of an instruction."""
    kept = kept_of(document)
    stated = [glob for glob in document.get("appliesTo") or () if isinstance(glob, str)]
    written = kept.get("globs")
    if isinstance(written, list) and all(isinstance(glob, str) for glob in written):
        globs = tuple(written) if _legal_globs(tuple(written)) == stated else tuple(stated)
    elif not stated and document.get("languages"):
        globs = globs_of_languages(document["languages"])  # the nearest that a file can say
    else:
        globs = tuple(stated)
    activation = _activation(document.get("activation"), globs)
    waits = kept.get("activation") == RuleActivation.GLOB
    if waits and activation is RuleActivation.MANUAL and not _includes(stated):
        activation = RuleActivation.GLOB
    header, dialect = kept.get("header"), kept.get("dialect")
    return PortableRule(
        document["body"],
        activation,
        globs,
        document.get("title") or "",
        document.get("description") or "",
        header if isinstance(header, dict) else {},
        dialect if isinstance(dialect, str) else "",
    )


def find_unusable_globs(rule: PortableRule) -> dict[str, str]:
    """Return the globs that the catalogue cannot use, and why."""
    problems = {glob: find_glob_problem(glob) for glob in rule.globs}
    unusable = {glob: problem for glob, problem in problems.items() if problem is not None}
    usable = [glob for glob in rule.globs if glob not in unusable]
    return unusable | dict.fromkeys(usable[MAX_GLOBS:], f"more than {MAX_GLOBS} globs")


def kept_of(document: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return what an import keeps beside the catalogue's fields."""
    extensions = document.get("extensions")
    kept = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    return kept if isinstance(kept, dict) else {}


def _legal_globs(globs: tuple[str, ...]) -> list[str]:
    return [glob for glob in globs if find_glob_problem(glob) is None][:MAX_GLOBS]


def _includes(globs: Sequence[str]) -> bool:
    """Tell whether globs include a file, rather than none or only exclude some."""
    return any(not glob.startswith("!") for glob in globs)


def _activation(value: Json, globs: tuple[str, ...]) -> RuleActivation:
    """Return the activation; without one, globs decide."""
    if isinstance(value, str) and value in set(RuleActivation):
        return RuleActivation(value)
    return RuleActivation.GLOB if globs else RuleActivation.ALWAYS
