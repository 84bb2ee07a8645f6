"""Generated Go code compiles, and its client and server understand each other."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from go_cases import SMALL, awkward, files_of, read, spec
from go_loopback import driver
from go_toolchain import check_go, go, write_module
from value_samples import Samples

from commonplace.openapi.engine.generate.go.package import build_go
from commonplace.openapi.engine.generate.operations import ApiReader
from commonplace.openapi.engine.generate.run import generate, upgrade_document
from commonplace.openapi.model import ApiDocument

LOOPBACK = ("petstore-3.0.yaml", "tictactoe-3.1.yaml", "asana.yaml")


LARGE = (
    "docker-engine-swagger.yaml",
    "google-maps.json",
    "twilio-api-v2010.json",
    "discord.json",
    "kubernetes-swagger.json",
    "github-next-ghes-3.6.yaml",
    "stripe.yaml",
    "stripe-prev.yaml",
    "github-api.json",
)


@pytest.mark.parametrize(
    ("client", "server"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_an_awkward_document_compiles_whatever_is_generated(
    tmp_path: Path, client: bool, server: bool
) -> None:
    check_go(write_module(tmp_path, files_of(awkward(), client=client, server=server)))


def test_an_empty_document_compiles(tmp_path: Path) -> None:
    check_go(write_module(tmp_path, files_of(spec())))


# The corpus
@pytest.mark.oracle
@pytest.mark.parametrize("name", SMALL)
def test_small_real_documents_compile(tmp_path: Path, data: Path, name: str) -> None:
    document = read(data, name)
    check_go(
        write_module(
            tmp_path, generate(document.data, document.family, client=True, server=True).files
        )
    )


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.timeout(7000)
def test_large_real_documents_compile(tmp_path: Path, data: Path, soak: bool) -> None:
    for name in LARGE if soak else ("docker-engine-swagger.yaml",):
        document = read(data, name)
        check_go(
            write_module(
                tmp_path / name,
                generate(document.data, document.family, client=True, server=True).files,
            ),
            timeout=1800,
        )


def talked(folder: Path, document: ApiDocument, timeout: int = 280) -> tuple[int, int, str]:
    """How many operations there are, for how many a sample could be made, and what client and
    server said to each other.
    """
    made = upgrade_document(document.data, document.family)
    reader = ApiReader(made)
    api = reader.read()
    files, operations = build_go(api, reader.types, "api", client=True, server=True)
    source, cases, counts = driver(operations, api, Samples(made))
    write_module(folder, {**files, "loop_test.go": source, "cases.json": cases})
    said = go(folder, "test", "-count=1", "-v", "./...", timeout=timeout)
    sys.stdout.write(f"\n{document.name}: {counts}; {re.findall(r'LOOPBACK .*', said)}\n")
    return len(api.operations), len(json.loads(cases)), said


@pytest.mark.oracle
@pytest.mark.parametrize("name", LOOPBACK)
def test_generated_client_and_server_understand_each_other(
    tmp_path: Path, data: Path, name: str
) -> None:
    operations, _, said = talked(tmp_path, read(data, name))
    assert f"LOOPBACK {operations} of {operations} operations" in said


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.timeout(7000)
def test_a_client_and_server_with_forms_understand_each_other(
    tmp_path: Path, data: Path, soak: bool
) -> None:
    """Stripe's bodies are nested forms.

    A few of its schemas contradict themselves, so that there is no sample to send.
    """
    operations, cases, said = talked(
        tmp_path, read(data, "stripe.yaml" if soak else "uber-2.0.json"), timeout=1800
    )
    assert cases >= operations * 0.98
    assert f"LOOPBACK {cases} of {cases} operations" in said
