"""Reading API descriptions through the shipped program: cold parse, validation, walks,
comparison; time and peak memory.

Marks are those of the Go oastools on a machine of this kind. `make bench SUITE=openapi`; PEERS=1
adds Redocly and openapi-spec-validator.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import which
from typing import Any

import orjson
import yaml_rs

from benchmarks.measure import ROOT, StdioServer, show

DATA = (
    Path(os.environ.get("COMMONPLACE_TEST_DATA", ROOT.parent / "shared" / "data"))
    / "openapi"
    / "dev"
)
ROUNDS = 3
Step = tuple[str, str, dict[str, Any], str]


def main() -> None:
    if not DATA.is_dir():
        raise SystemExit(f"no documents at {DATA}: set COMMONPLACE_TEST_DATA")
    with tempfile.TemporaryDirectory() as folder:
        as_yaml = Path(folder) / "github-api.yaml"
        value = orjson.loads((DATA / "github-api.json").read_bytes())
        as_yaml.write_text(yaml_rs.dumps(value))
        rows = [
            *github(DATA / "github-api.json", "JSON"),
            *cold(as_yaml, "github YAML", "3.9"),
            *stripe(),
            *cold(DATA / "kubernetes-swagger.json", "kubernetes", ""),
        ]
        if os.environ.get("PEERS"):
            rows += peers(DATA / "github-api.json")
    show(
        f"openapi, medians of {ROUNDS}",
        ("document", "call", "seconds", "mark (Go)", "peak RSS MB"),
        rows,
    )


def _server(folder: str) -> StdioServer:
    return StdioServer([sys.executable, "-m", "commonplace", "serve"], {"COMMONPLACE_DATA": folder})


def _timed(server: StdioServer, tool: str, arguments: dict[str, Any]) -> float:
    begun = time.perf_counter()
    answer = server.call(tool, arguments)
    took = time.perf_counter() - begun
    if answer.get("error") or answer["result"].get("isError"):
        raise SystemExit(f"{tool} failed: {orjson.dumps(answer)[:400]!r}")
    return took


def _peak_mb(server: StdioServer) -> float:
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def run(document: str, steps: list[Step]) -> list[tuple[str, str, str, str, str]]:
    """The steps in order in a fresh server, several times; the first step is cold."""
    times: list[list[float]] = [[] for _ in steps]
    peaks = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            server = _server(folder)
            try:
                server.call(
                    "oas_parse",
                    {
                        "spec": {
                            "content": "openapi: 3.0.0\ninfo: {title: a, version: '1'}\npaths: {}"
                        }
                    },
                )  # imports
                for position, (_, tool, arguments, _) in enumerate(steps):
                    times[position].append(_timed(server, tool, arguments))
                peaks.append(_peak_mb(server))
            finally:
                server.close()
    peak = f"{statistics.median(peaks):.0f}"
    return [
        (document, name, f"{statistics.median(took):.3f}", mark, peak)
        for (name, _, _, mark), took in zip(steps, times, strict=True)
    ]


def github(path: Path, kind: str) -> list[tuple[str, str, str, str, str]]:
    spec = {"spec": {"file": str(path)}}
    return run(
        f"github {kind}",
        [
            ("parse cold", "oas_parse", spec, "2.2"),
            ("parse cached", "oas_parse", spec, "0.001"),
            ("walk_operations (builds the index)", "oas_walk_operations", spec, "0.08"),
            ("walk_operations", "oas_walk_operations", spec, "0.08"),
            (
                "walk_operations detail + refs",
                "oas_walk_operations",
                {**spec, "detail": True, "resolve_refs": True},
                "3.9",
            ),
            (
                "walk_schemas grouped (44,079)",
                "oas_walk_schemas",
                {**spec, "group_by": "type"},
                "0.11",
            ),
            ("walk_schemas name=*user*", "oas_walk_schemas", {**spec, "name": "*user*"}, ""),
            ("walk_parameters in=path", "oas_walk_parameters", {**spec, "in": "path"}, "4.2"),
            (
                "walk_parameters grouped",
                "oas_walk_parameters",
                {**spec, "group_by": "location"},
                "0.30",
            ),
            (
                "walk_responses grouped",
                "oas_walk_responses",
                {**spec, "group_by": "status_code"},
                "0.12",
            ),
            ("walk_paths grouped", "oas_walk_paths", {**spec, "group_by": "segment"}, "0.06"),
            ("walk_refs", "oas_walk_refs", spec, "0.10"),
            ("validate (document cached)", "oas_validate", spec, "0.15"),
            ("validate again", "oas_validate", spec, "0.15"),
        ],
    )


def cold(path: Path, name: str, mark: str) -> list[tuple[str, str, str, str, str]]:
    spec = {"spec": {"file": str(path)}}
    return run(
        name,
        [
            ("parse cold", "oas_parse", spec, mark),
            ("validate", "oas_validate", spec, ""),
            ("walk_schemas grouped", "oas_walk_schemas", {**spec, "group_by": "type"}, ""),
        ],
    )


def stripe() -> list[tuple[str, str, str, str, str]]:
    pair = {
        "base": {"file": str(DATA / "stripe-prev.yaml")},
        "revision": {"file": str(DATA / "stripe.yaml")},
    }
    return run(
        "stripe pair (YAML)",
        [("diff cold", "oas_diff", pair, "2.0"), ("diff cached", "oas_diff", pair, "")],
    )


def peers(path: Path) -> list[tuple[str, str, str, str, str]]:
    """The same validation by others, where they are installed."""
    commands = {
        "openapi-spec-validator": [sys.executable, "-m", "openapi_spec_validator", str(path)]
    }
    redocly = which("redocly")
    if redocly:
        commands["redocly lint"] = [redocly, "lint", str(path), "--max-problems", "1"]
    rows = []
    for name, command in commands.items():
        begun = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False, timeout=400)
        rows.append(
            ("github JSON", f"{name} (whole command)", f"{time.perf_counter() - begun:.1f}", "", "")
        )
    return rows


if __name__ == "__main__":
    main()
