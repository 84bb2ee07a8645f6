"""Find rule files of one repository that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from commonplace.instructions.adapters.discovery import ExaminedFile
from commonplace.instructions.adapters.naming import slug
from commonplace.instructions.adapters.places import place_of
from commonplace.instructions.adapters.reading import FoundRule
from commonplace.instructions.adapters.rule import RuleActivation
from commonplace.instructions.clients.check import RuleFinding
from commonplace.instructions.engine.statements.directives import Directive, read_directives
from commonplace.instructions.rulefiles.scan import FindingSeverity

WARNING = FindingSeverity.WARNING
QUOTED = 100  # characters of a statement
_Scope = tuple[str, tuple[str, ...]]  # folder and globs
_Placed = tuple[ExaminedFile, FoundRule, Directive]


def find_versions(examined: Iterable[ExaminedFile]) -> Iterator[RuleFinding]:
    """Find rules of the same name and title that clients read in different versions."""
    groups: dict[tuple[str, str, str], list[tuple[ExaminedFile, FoundRule]]] = {}
    for file in examined:
        for found in file.reading.rules if file.reading else ():
            if not found.rule.dialect:
                continue
            place = place_of(file.path)
            name = slug(place.stem.rpartition("/")[2], 80)
            key = (place.owner, name, slug(found.rule.title, 80))
            groups.setdefault(key, []).append((file, found))
    for members in groups.values():
        first_file, first = members[0]
        for file, found in members[1:]:
            if file.reading is None or first_file.reading is None:
                continue
            if file.reading.client == first_file.reading.client:
                continue
            if found.rule.text != first.rule.text:
                message = f"It says something else than {first_file.path}, of the same title."
            elif (found.rule.activation, found.rule.globs) != (
                first.rule.activation,
                first.rule.globs,
            ):
                message = f"It applies to other files than {first_file.path}, with the same text."
            else:
                continue
            hint = "Keep one of them in the catalogue and export it."
            yield RuleFinding(
                "conflict", FindingSeverity.WARNING, file.path, found.line, message, hint
            )


def find_opposed(examined: Iterable[ExaminedFile]) -> Iterator[RuleFinding]:
    """Find statements that contradict each other in rules for the same files.

    Where one rule is for fewer files than the other, it holds there, and nothing is reported.
    Statements that several files repeat are reported once.
    """
    first: dict[tuple[_Scope, tuple[str, ...]], _Placed] = {}
    reported: set[tuple[_Scope, str, str]] = set()
    for file in examined:
        for found in file.reading.rules if file.reading else ():
            rule = found.rule
            if rule.activation not in (RuleActivation.ALWAYS, RuleActivation.GLOB):
                continue
            scope = (place_of(file.path).owner, tuple(sorted(rule.globs)))
            for subject, directive in read_directives(rule.text).items():
                other, _, said = first.setdefault((scope, subject), (file, found, directive))
                key = (scope, directive.text, said.text)
                if other is not file and said.opposes(directive) and key not in reported:
                    reported.add(key)
                    yield _report(file, found, directive, other.path, said)


def _report(
    file: ExaminedFile, found: FoundRule, directive: Directive, path: str, other: Directive
) -> RuleFinding:
    before = found.rule.text.partition(directive.text)[0]
    message = (
        f"It says \u201c{directive.text[:QUOTED]}\u201d, and {path} says "
        f"\u201c{other.text[:QUOTED]}\u201d ({directive.describe_against(other)})."
    )
    hint = "Change one of them, or say with globs which files each is for."
    line = found.line + before.count("\n")
    return RuleFinding("conflict", WARNING, file.path, line, message, hint)
