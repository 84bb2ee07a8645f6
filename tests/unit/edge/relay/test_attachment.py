"""What a client tells the local server of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import commonplace
from commonplace.edge.local.listener import version_key
from commonplace.edge.relay.attachment import relevant_environment
from commonplace.kernel.config.catalog import leaves
from commonplace.kernel.settings import ENVIRONMENT_ALIASES

HEAVY = {"asyncio", "dataclasses", "typing", "pathlib", "inspect", "argparse", "pydantic", "orjson"}


def test_every_variable_of_the_settings_is_sent() -> None:
    names = {spec.env for _, spec in leaves() if spec.env} | set(ENVIRONMENT_ALIASES)
    names |= {"COMMONPLACE_KEY", "HOME", "LANG"}
    environment = dict.fromkeys([*names, "PATH", "AWS_SECRET_ACCESS_KEY"], "x")
    assert set(relevant_environment(environment)) == names


def test_a_relay_imports_little() -> None:
    root = str(Path(commonplace.__file__).parent.parent)
    code = (
        f"import sys; sys.path.insert(0, {root!r}); import commonplace.edge.relay.main; "
        "print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert HEAVY.isdisjoint(ran.stdout.split())


def test_versions_are_compared_by_their_numbers() -> None:
    assert version_key("0.10.0") > version_key("0.9.9")
    assert version_key("0.2.0") == version_key("0.2.0+local")
    assert version_key("1.0.0rc1") >= version_key("1.0.0")
