"""The development corpus through every conversion, judged by the official schemas, our validator
and our own diff.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from commonplace.openapi.engine.convert.chain import LADDER, convert
from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.document.load import load, parse_text
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.fix import FixOptions, fix
from commonplace.openapi.engine.validate.report import validate
from commonplace.openapi.engine.yaml.emit import to_json
from commonplace.openapi.model import ApiDocument, Family

FILES = {
    Family.V20: "oas-2.0.json",
    Family.V30: "oas-3.0.yaml",
    Family.V31: "oas-3.1.yaml",
    Family.V32: "oas-3.2.yaml",
}
SMALL = (
    "petstore-3.0.yaml",
    "petstore-3.2.yaml",
    "tictactoe-3.1.yaml",
    "uber-2.0.json",
    "media-type-examples-3.2.yaml",
    "twilio-api-v2010.json",
    "docker-engine-swagger.yaml",
)
LARGE = (
    "asana.yaml",
    "discord.json",
    "google-maps.json",
    "kubernetes-swagger.json",
    "stripe.yaml",
    "github-next-ghes-3.6.yaml",
    "github-api.json",
)
# 2.0 says `file` for what 3.0 calls a binary string; words beside a $ref, which 3.0 ignores, become
# effective in 3.1.
HARMLESS = {"format-changed", "description-changed"}


@cache
def official(data: Path, family: Family) -> Any:
    return jsonschema_rs.validator_for(
        parse_text((data / "openapi/schemas" / FILES[family]).read_bytes()).data
    )


def names(soak: bool) -> tuple[str, ...]:
    return (*SMALL, *LARGE) if soak else SMALL


def read(data: Path, name: str) -> ApiDocument:
    return load((data / "openapi/dev" / name).read_bytes())


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_every_conversion_is_valid_by_the_official_schema_and_by_our_validator(
    data: Path, soak: bool
) -> None:
    for name in names(soak):
        source = read(data, name)
        known = Counter(
            finding.rule.id for finding in validate(source, ReferenceResolver(source)).errors
        )
        for target in LADDER:
            if target is source.family:
                continue
            result = convert(source.data, source.family, target)
            problems = [
                error.message for error in official(data, target).iter_errors(result.document)
            ]
            assert problems == [], f"{name} to {target}: {problems[:3]}"
            made = load(to_json(result.document))
            new = (
                Counter(
                    finding.rule.id for finding in validate(made, ReferenceResolver(made)).errors
                )
                - known
            )
            assert not new, f"{name} to {target}: {new}"
            counts = Counter(issue.severity for issue in result.issues)
            sys.stdout.write(f"{name} {source.version} -> {target}: {dict(counts)}\n")


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_converting_there_and_back_keeps_the_meaning(data: Path, soak: bool) -> None:
    between = {Family.V20: Family.V30, Family.V30: Family.V31, Family.V31: Family.V32}
    for name in names(soak):
        source = read(data, name)
        if source.family not in between:
            continue
        there = convert(source.data, source.family, between[source.family]).document
        back = load(
            to_json(convert(there, between[source.family], source.family, source.version).document)
        )
        changes = diff(source, back, ReferenceResolver(source), ReferenceResolver(back))
        kinds = Counter(change.rule.id for change in changes if change.rule.id not in HARMLESS)
        assert not kinds, f"{name}: {kinds}"


@pytest.mark.oracle
@pytest.mark.parametrize("version", ["3.0", "3.1", "3.2"])
def test_the_conformance_documents_convert_to_valid_documents(data: Path, version: str) -> None:
    for path in sorted((data / "openapi/conformance" / version / "pass").glob("*.yaml")):
        source = load(path.read_bytes())
        for target in LADDER:
            made = convert(source.data, source.family, target).document
            problems = [error.message for error in official(data, target).iter_errors(made)]
            assert problems == [], f"{path.name} to {target}: {problems[:3]}"


@pytest.mark.oracle
def test_fixing_twice_fixes_once_and_valid_documents_stay_as_they_are(data: Path) -> None:
    every = FixOptions(
        duplicate_operation_ids=True, schema_names=True, prune=True, stub_missing_refs=True
    )
    for name in SMALL:
        source = read(data, name)
        assert fix(source.data, source.family, FixOptions()).document is source.data, name
        once = fix(source.data, source.family, every)
        assert fix(once.document, source.family, every).fixes == (), name
