"""Check and repair the fields of scope and origin."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.instructions.engine.scope.languages import LANGUAGE
from commonplace.instructions.engine.scope.rule_scope import (
    MAX_EXPANDED,
    MAX_GLOBS,
    MAX_LANGUAGES,
    find_glob_problem,
    split_globs,
)
from commonplace.instructions.fields import ACTIVATIONS, MAX_PATH_CHARS
from commonplace.kernel.json_types import Json, JsonObject

# Words of clients for the same modes; any other word is safest as `manual`.
_ACTIVATION_WORDS = {
    "always_on": "always",
    "alwaysapply": "always",
    "auto_attached": "glob",
    "filematch": "glob",
    "globs": "glob",
    "paths": "glob",
    "agent_requested": "description",
    "auto": "description",
    "model_decision": "description",
}

_ORIGIN_PARTS = frozenset({"file", "line", "client", "hash", "repository"})


def scope_problems(given: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return (field, problem) of given globs, languages and origin; the schema is checked."""
    problems: list[tuple[str, str]] = []
    globs = given.get("appliesTo")
    if isinstance(globs, list):
        for at, written in enumerate(globs):
            problem = find_glob_problem(written)
            if problem is not None:
                problems.append((f"appliesTo.{at}", problem))
        if not problems and sum(map(len, split_globs(globs))) > MAX_EXPANDED:
            problems.append(("appliesTo", f"expands to more than {MAX_EXPANDED} globs"))
    languages = given.get("languages")
    for at, name in enumerate(languages) if isinstance(languages, list) else ():
        if not isinstance(name, str) or not LANGUAGE.fullmatch(name.strip().lower()):
            problems.append((f"languages.{at}", "must be a name such as python or c++"))
    origin = given.get("origin")
    if isinstance(origin, dict) and not _is_inner_path(origin.get("file")):
        problems.append(("origin.file", "must be a path inside the repository, without '..'"))
    return problems


def activation_problem(document: Mapping[str, Json]) -> str | None:
    """Say what an activation needs and a complete document does not have."""
    if document.get("activation") == "glob" and not (
        document.get("appliesTo") or document.get("languages")
    ):
        return "glob needs appliesTo or languages"
    return None


def repair_scope(document: JsonObject, repaired: list[str]) -> None:
    """Bring scope and origin of a stored document into their form, in place.

    A rule whose globs cannot be read becomes `manual`: it must not apply everywhere.
    """
    if "appliesTo" in document:
        _repair_globs(document, repaired)
    if "languages" in document:
        _repair_languages(document, repaired)
    if "activation" in document:
        _repair_activation(document, repaired)
    if (
        "origin" in document
        and not is_origin(document["origin"])
        and document.pop("origin") is not None
    ):
        repaired.append("origin")


def _repair_globs(document: JsonObject, repaired: list[str]) -> None:
    stored = document["appliesTo"]
    written = [stored] if isinstance(stored, str) else stored
    if written is None or written == []:
        del document["appliesTo"]
        return
    kept: list[str] = []
    for glob in written if isinstance(written, list) else ():
        if find_glob_problem(glob) is None:
            kept.append(glob.strip())
    kept = list(dict.fromkeys(kept))[:MAX_GLOBS]
    while sum(map(len, split_globs(kept))) > MAX_EXPANDED:
        kept.pop()
    if not any(not glob.startswith("!") for glob in kept) and kept != stored:
        kept = []  # the exclusions alone would include everything else
    if kept:
        document["appliesTo"] = kept
    else:
        del document["appliesTo"]
        document["activation"] = "manual"
    if kept != stored:
        repaired.append("appliesTo")


def _repair_languages(document: JsonObject, repaired: list[str]) -> None:
    stored = document["languages"]
    if stored is None or stored == []:
        del document["languages"]
        return
    names = [
        name.strip().lower()
        for name in (stored if isinstance(stored, list) else [stored])
        if isinstance(name, str) and LANGUAGE.fullmatch(name.strip().lower())
    ]
    unique = list(dict.fromkeys(names))[:MAX_LANGUAGES]
    if not isinstance(stored, list) or len(names) < len(stored):
        repaired.append("languages")
    if unique:
        document["languages"] = unique
    else:
        del document["languages"]
        document["activation"] = "manual"


def _repair_activation(document: JsonObject, repaired: list[str]) -> None:
    stored = document["activation"]
    if stored is None:
        del document["activation"]
    elif not isinstance(stored, str) or stored not in ACTIVATIONS:
        word = stored.strip().lower() if isinstance(stored, str) else ""
        known = word if word in ACTIVATIONS else _ACTIVATION_WORDS.get(word, "manual")
        document["activation"] = known
        repaired.append("activation")


def is_origin(value: Json) -> bool:
    """Tell whether a value says from which file an instruction was imported."""
    if not isinstance(value, dict) or not _is_inner_path(value.get("file")):
        return False
    line = value.get("line", 1)
    return (
        value.keys() <= _ORIGIN_PARTS
        and isinstance(line, int)
        and not isinstance(line, bool)
        and line > 0
        and all(isinstance(value.get(name, ""), str) for name in ("client", "hash", "repository"))
    )


def _is_inner_path(path: object) -> bool:
    return (
        isinstance(path, str)
        and 0 < len(path) <= MAX_PATH_CHARS
        and path.isprintable()
        and not path.startswith("/")
        and ".." not in path.replace("\\", "/").split("/")
    )
