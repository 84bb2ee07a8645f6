"""Every flag of the Go command is translated, ignored or refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.cli.dropin.oastools import Translation, translate
from commonplace.kernel.errors import CommonplaceError

# erraggy/oastools, cmd/oastools/commands/*.go, February 2026. A flag with `=` takes a value.
_WALK = "format= q quiet detail extension= resolve-refs"
GO_FLAGS = {
    "validate": "strict no-warnings q quiet format= source-map s",
    "parse": "resolve-refs validate-structure q quiet",
    "fix": (
        "o= output= infer q quiet source-map s fix-schema-names generic-naming= "
        "generic-separator= generic-param-separator= "
        "preserve-casing prune-schemas prune-paths prune-all prune fix-duplicate-operationids "
        "operationid-template= operationid-path-sep= "
        "operationid-tag-sep= stub-missing-refs stub-response-desc= dry-run"
    ),
    "convert": "t= target= o= output= strict no-warnings q quiet source-map s",
    "diff": "breaking no-info format= source-map s",
    "join": (
        "o= output= path-strategy= schema-strategy= component-strategy= no-merge-arrays "
        "no-dedup-tags q quiet source-map s "
        "rename-template= equivalence-mode= collision-report semantic-dedup namespace-prefix= "
        "always-prefix operation-context "
        "primary-operation-policy= pre-overlay= post-overlay="
    ),
    "generate": (
        "o= output= p= package= client server types no-pointers no-validation strict no-warnings "
        "source-map s no-security oauth2-flows "
        "credential-mgmt security-enforce oidc-discovery no-readme max-lines-per-file= "
        "max-types-per-file= max-ops-per-file= "
        "no-split-by-tag no-split-by-path server-router= server-middleware server-binder "
        "server-responses server-stubs "
        "server-embed-spec server-all"
    ),
    "overlay apply": "s= spec= overlay= o= output= strict dry-run q quiet",
    "overlay validate": "q quiet",
    "walk operations": f"method= path= tag= deprecated operationId= {_WALK}",
    "walk schemas": f"name= component inline type= {_WALK}",
    "walk parameters": f"in= name= path= method= {_WALK}",
    "walk responses": f"status= path= method= {_WALK}",
    "walk security": f"name= type= {_WALK}",
    "walk paths": f"path= {_WALK}",
}


def understood(words: list[str]) -> Translation | str:
    """What a command line is here, or why it is refused."""
    try:
        return translate(words)
    except CommonplaceError as refused:
        return refused.message


@pytest.mark.parametrize("command", GO_FLAGS)
def test_every_flag_of_the_go_command_is_understood(command: str) -> None:
    for written in GO_FLAGS[command].split():
        name, value = written.removesuffix("="), ["json"] if written.endswith("=") else []
        for dashes in ("-", "--"):
            made = understood([*command.split(), f"{dashes}{name}", *value, "spec.yaml"])
            if isinstance(made, str):
                assert "is not supported. " in made
                continue
            assert made.sources == ["spec.yaml"], written
            assert f"{dashes}{name}" not in made.options or f"--{name}" in made.options


def ours(*words: str) -> list[str]:
    made = translate(words)
    assert isinstance(made, Translation)
    return made.arguments


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "walk operations --method get --deprecated a.yaml",
            "walk operations a.yaml --where method=get --where deprecated=true --limit 1000",
        ),
        (
            "walk schemas --component --deprecated=false a.yaml",
            "walk schemas a.yaml --where component=true --deprecated=false --limit 1000",
        ),
        ("diff --breaking a.yaml b.yaml", "diff a.yaml b.yaml --fail-on breaking"),
        ("diff a.yaml b.yaml", "diff a.yaml b.yaml --fail-on any"),
        ("fix -prune-schemas a.yaml -o b.yaml", "fix a.yaml --prune-schemas --output b.yaml --yes"),
        (
            "join --path-strategy=accept-left -o m.yaml a.yaml b.yaml",
            "join a.yaml b.yaml --paths accept-left --output m.yaml --yes",
        ),
        ("parse -q a.yaml", "parse a.yaml --full"),
        ("overlay validate o.yaml", "overlay-validate o.yaml"),
        ("overlay apply -s a.yaml --overlay o.yaml", "overlay a.yaml o.yaml --yes"),
        ("overlay apply --spec a.yaml o.yaml", "overlay a.yaml o.yaml --yes"),
        ("generate -o out a.yaml", "generate a.yaml --output-dir out --no-client"),
        (
            "generate --client --server-router stdlib -o out a.yaml",
            "generate a.yaml --output-dir out",
        ),
        ("convert -t 3.1.0 -", "convert - --target 3.1.0 --yes"),
    ],
)
def test_a_command_line_means_the_same_here(words: str, expected: str) -> None:
    assert ours(*words.split()) == expected.split()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("join --no-merge-arrays a b", "--no-merge-arrays is not supported"),
        ("join --pre-overlay o.yaml a b", "oastools overlay apply"),
        ("walk nothing a.yaml", "operations, schemas"),
        ("transform a.yaml", "no command"),
        ("validate --format xml a.yaml", "text, json, yaml"),
        ("convert -t", "takes a value"),
    ],
)
def test_unsupported_flags_are_refused_with_a_reason(words: str, told: str) -> None:
    with pytest.raises(CommonplaceError) as refused:
        translate(words.split())
    assert told in refused.value.message


def test_help_names_oastools_and_lists_mcp() -> None:
    helped: Any = translate(["--help"])
    assert helped.startswith("Usage: oastools ")
    assert "  mcp " in helped
    assert "commonplace " not in helped
    for command in GO_FLAGS:
        told: Any = translate([*command.split(), "--help"])
        assert told.startswith(f"Usage: oastools {command} ")
