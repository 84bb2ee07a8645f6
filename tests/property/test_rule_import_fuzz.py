"""Fuzzed rule files: no crash, none above a second, each accounted for."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.instructions.adapters.entries import entry_of, rule_of
from commonplace.instructions.adapters.losses import find_losses
from commonplace.instructions.adapters.naming import candidate_id
from commonplace.instructions.adapters.reading import read_rule_file
from commonplace.instructions.adapters.writing import TARGETS, ExportedRule, write_for_client
from commonplace.instructions.fields import is_valid_id
from commonplace.instructions.model import RuleOrigin
from commonplace.instructions.rulefiles.scan import scan

PATHS = (
    "{}.mdc",
    "{}.instructions.md",
    ".cursor/rules/{}.mdc",
    ".claude/rules/{}.md",
    ".github/instructions/{}.instructions.md",
    ".clinerules/{}.md",
    ".clinerules/{}.txt",
    ".kiro/steering/{}.md",
    ".devin/rules/{}.md",
    ".windsurf/rules/{}.md",
    ".agents/rules/{}.md",
    ".claude/skills/{}/SKILL.md",
    "sub/{}/AGENTS.md",
    "sub/{}/AGENTS.override.md",
    "sub/{}/CLAUDE.md",
    "sub/{}/GEMINI.md",
)
SEEDS = (
    '---\ndescription: "Go"\nglobs: **/*.go, *.{mod,sum}\nalwaysApply: false\n---\n# Go\n\nText.\n',
    "---\napplyTo: '**/*.py,src/**'\nexcludeAgent: [a]\n---\n\n# Python\n\n- one\n- two\n",
    "---\npaths:\n  - src/**\n  - '!src/x/**'\n---\n# Rules\n\n```sh\nmake test\n```\n",
    "---\ninclusion: fileMatch\nfileMatchPattern: ['*.ts']\nname: x\n---\nText\n",
    "---\ntrigger: glob\nglobs: a/**\n---\nText with `code` and <!-- comment of some words -->\n",
    "# Plain\n\n@docs/other.md and <details>more</details>\n",
    (
        "<!-- commonplace begin=a hash=0123456789abcdef -->\nA\n"
        "<!-- commonplace end=0123456789abcdef -->\n"
    ),
    "Text\n\n<!-- commonplace rule=a hash=0123456789abcdef -->\n",
)
PIECES = (
    "---\n",
    "\n---\n",
    "globs: ",
    "applyTo: [",
    "paths: {a: ",
    "- - - ",
    "&a *a ",
    "!!python/object ",
    "{",
    "[",
    "`",
    "```\n",
    "<!--",
    "-->",
    "\u200b",
    "\u202e",
    "\U000e0041",
    "\x00",
    "\x85",
    "\u2028",
    "\r",
    "\n" * 60,
    " " * 200,
    "curl http://x | sh\n",
    "# ",
    "**",
    "../",
    "commonplace rule=",
    "\ufeff",
    "A" * 100,
    "1e999",
    "2026-01-01",
    "<<: *x",
)


def fuzzed_content(generator: random.Random) -> bytes:
    """Return a rule file that something happened to."""
    content = generator.choice(SEEDS)
    for _ in range(generator.randrange(6)):
        at = generator.randrange(len(content) + 1)
        piece = generator.choice(PIECES)
        action = generator.randrange(4)
        if action == 0:
            content = content[:at] + piece * generator.choice((1, 2, 30)) + content[at:]
        elif action == 1:
            content = content[:at] + content[at + generator.randrange(20) :]
        elif action == 2:
            content = content[:at]
        else:
            content += generator.choice(SEEDS)
    if generator.random() < 0.02:
        content += generator.choice(PIECES) * (200_000 // 4)
    data = content.encode("utf-8", "replace")
    if generator.random() < 0.1 and data:
        at = generator.randrange(len(data))
        data = data[:at] + generator.randbytes(generator.randrange(1, 9)) + data[at:]
    return data


def fuzzed_files(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    generator = random.Random(seed)
    for number in range(count):
        yield generator.choice(PATHS).format(f"f{number}"), fuzzed_content(generator)


@pytest.mark.soak
def test_every_fuzzed_file_is_read_scanned_and_written_in_time(soak: bool) -> None:
    clients = sorted(TARGETS)
    slowest = 0.0
    for number, (path, data) in enumerate(fuzzed_files(10_000 if soak else 400, seed=7)):
        start = time.thread_time()
        reading = read_rule_file(path, data)
        assert bool(reading.rules) != bool(reading.problem), path
        for found in reading.rules:
            scan(found.rule.text)
            id_ = candidate_id(path, found.rule.title)
            assert is_valid_id(id_)
            entry = entry_of(found.rule, id_, RuleOrigin(path))
            json.dumps(entry)
            document = {key: value for key, value in entry.items() if value is not None}
            assert rule_of(document) == found.rule
            client = clients[number % len(clients)]
            exported = [ExportedRule(id_, found.rule, path)]
            export = write_for_client(client, exported)
            losses = find_losses(export, exported, {}, client)
            assert export.paths or any(loss.field == "rule" for loss in losses)
        spent = time.thread_time() - start
        assert spent < 1, (path, spent, data[:200])
        slowest = max(slowest, spent)
    assert slowest > 0


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_an_import_accounts_for_every_fuzzed_file_and_repeats(tmp_path: Path, soak: bool) -> None:
    repo = tmp_path / "repo"
    written = set()
    for path, data in fuzzed_files(10_000 if soak else 150, seed=11):
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_bytes(data)
        written.add(path)
    first = import_folder(repo, tmp_path)
    files = {file["path"]: file for file in first["files"]}
    assert set(files) == written
    assert all(file["id"] or file["reason"] for file in first["files"])
    assert first["counts"]["imported"] > len(written) / 2
    again = import_folder(repo, tmp_path)
    assert not {"imported", "updated"} & set(again["counts"]), again["counts"]
    assert len(again["files"]) == len(first["files"])


def import_folder(repo: Path, home: Path) -> dict[str, list[dict[str, str]]]:
    """Run the program, and return its report."""
    environment = {**os.environ, "COMMONPLACE_HOME": str(home / "data")}
    line = [sys.executable, "-m", "commonplace", "rules", "import", str(repo), "--json"]
    done = subprocess.run(
        line, cwd=home, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode in (0, 1), done.stderr[-2_000:]
    report: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
    return report
