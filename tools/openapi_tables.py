"""Measure the development documents and write the tables of docs/how-to/openapi-write.md.

`convert` and `generate NAME ...` add rows to a state file (`--state`), so that a long campaign can
be run in pieces; `write` puts the tables into the page. Without the data beside the repository
there is nothing to measure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from commonplace.openapi.engine.convert.chain import LADDER, convert
from commonplace.openapi.engine.document.load import load
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.generate.operations import ApiReader
from commonplace.openapi.engine.generate.run import generate, upgrade_document
from commonplace.openapi.engine.validate.report import validate
from commonplace.openapi.engine.yaml.emit import to_json

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "how-to" / "openapi-write.md"
DATA = Path(os.environ.get("COMMONPLACE_TEST_DATA", ROOT.parent / "shared" / "data")) / "openapi"
Rows = dict[str, dict[str, Any]]


sys.path[:0] = [
    str(ROOT / "tests" / "unit" / "openapi" / "engine"),
    str(ROOT / "tests" / "unit" / "openapi" / "engine" / "generate"),
    str(ROOT / "tests"),
]  # the oracles of the tests judge here too


def documents() -> list[Path]:
    return sorted((DATA / "dev").iterdir())


def convert_one(path: Path) -> dict[str, Any]:
    """Issues by target, and how many errors the official schema and our validator find in the
    results.
    """
    from test_openapi_corpus import official

    source = load(path.read_bytes())
    known = Counter(
        finding.rule.id for finding in validate(source, ReferenceResolver(source)).errors
    )
    row: dict[str, Any] = {"from": source.family.value, "invalid": 0}
    for target in LADDER:
        if target is not source.family:
            result = convert(source.data, source.family, target)
            made = load(to_json(result.document))
            new = (
                Counter(
                    finding.rule.id for finding in validate(made, ReferenceResolver(made)).errors
                )
                - known
            )
            row["invalid"] += (
                len(list(official(DATA.parent, target).iter_errors(result.document))) + new.total()
            )
            counts = Counter(issue.severity for issue in result.issues)
            row[target.value] = " / ".join(
                str(counts[name]) for name in ("critical", "warning", "info")
            )
    return row


def generate_one(path: Path) -> dict[str, Any]:
    """Go through build, vet and gofmt; Python through mypy --strict; how many declared
    properties have no type.
    """
    from go_toolchain import check_go, write_module
    from test_generate_go import untyped

    document = load(path.read_bytes())
    declared, lost = untyped(ApiReader(upgrade_document(document.data, document.family)).read())
    row: dict[str, Any] = {"declared": declared, "untyped": lost}
    began = time.process_time()
    made = generate(document.data, document.family, client=True, server=True)
    row |= {
        "types": made.types,
        "operations": made.operations,
        "seconds": round(time.process_time() - began, 2),
    }
    with tempfile.TemporaryDirectory() as folder:
        row["go"] = _verdict(
            lambda: check_go(write_module(Path(folder) / "go", made.files), timeout=1800)
        )
        package = Path(folder) / "python" / "client"
        package.mkdir(parents=True)
        for name, text in generate(
            document.data, document.family, language="python", client=True
        ).files.items():
            (package / name).write_text(text)
        row["mypy"] = _verdict(lambda: _mypy(package.parent))
    return row


def _verdict(check: Any) -> str:
    try:
        check()
    except (AssertionError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return "FAILS"
    return "clean"


def _mypy(folder: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "."]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]


def conversion_table(rows: Rows) -> str:
    targets = [target.value for target in LADDER]
    lines = [
        "| document | from | " + " | ".join(f"to {target}" for target in targets) + " | invalid |",
        "|---|---|---|---|---|---|---:|",
    ]
    for name, row in sorted(rows.items()):
        cells = [row.get(target, "-") for target in targets]
        lines.append(f"| {name} | {row['from']} | " + " | ".join(cells) + f" | {row['invalid']} |")
    return "\n".join(lines)


def generation_table(rows: Rows) -> str:
    head = (
        "| document | types | operations | untyped of declared properties | Go: build, vet, "
        "gofmt | Python: mypy --strict |"
    )
    lines = [head, "|---|---:|---:|---:|---|---|"]
    for name, row in sorted(rows.items()):
        share = row["untyped"] / row["declared"] if row["declared"] else 0
        untyped_share = f"{row['untyped']} of {row['declared']} ({share:.1%})"
        lines.append(
            f"| {name} | {row['types']} | {row['operations']} | {untyped_share} | {row['go']} | "
            f"{row['mypy']} |"
        )
    return "\n".join(lines)


def write(state: dict[str, Rows]) -> None:
    text = PAGE.read_text()
    for name, table in (
        ("conversions", conversion_table(state["convert"])),
        ("generated", generation_table(state["generate"])),
    ):
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        assert begin, f"{PAGE.name} has no place for {name}"
        assert end, f"{PAGE.name}: {name} has no end"
        text = before + begin + table + "\n" + end + after
    PAGE.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["convert", "generate", "write"])
    parser.add_argument("names", nargs="*", help="document names; none: all")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path(tempfile.gettempdir()) / "commonplace-openapi-tables.json",
    )
    given = parser.parse_args()
    state: dict[str, Rows] = (
        json.loads(given.state.read_text())
        if given.state.exists()
        else {"convert": {}, "generate": {}}
    )
    if given.what == "write":
        write(state)
        return
    measure = convert_one if given.what == "convert" else generate_one
    for path in documents():
        if not given.names or path.name in given.names:
            row = state[given.what][path.stem] = measure(path)
            print(path.name, row, flush=True)
            given.state.write_text(json.dumps(state))


if __name__ == "__main__":
    main()
