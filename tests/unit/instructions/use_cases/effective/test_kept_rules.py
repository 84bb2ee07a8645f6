"""Rules that are kept on disk answer like the catalogue, or not at all."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.instructions.assembly import build_service
from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.store.kept.index import FILE, UnusableIndexError
from commonplace.instructions.tools.effective.spelling import show_rules
from commonplace.instructions.use_cases.effective.kept import KeptRulesReader
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import InstructionsSettings

SENTENCES = (
    "Use tabs.",
    "Use spaces.",
    "Never log secrets.",
    "Log secrets.",
    "Limit lines to 80 characters.",
    "Limit lines to 100 characters.",
    "Write a test for every change of the payment module.",
)
GLOBS = ("src/**", "src/api/**", "**/*.py", "web/app/**/*.ts", "!src/api/gen/**", "docs/*.md")
PATHS = ("src/api/a.py", "src/api/gen/b.py", "web/app/x/y.ts", "docs/a.md", "top.txt", "src/x.py")
OLD_NS = 1_700_000_000_000_000_000


def make_rule(number: int, chance: random.Random) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": f"rule-{number:03}",
        "title": f"Rule {chance.choice(('payment', 'style', 'logging'))} {number}",
        "body": "\n".join(chance.choices(SENTENCES, k=chance.randint(1, 5))),
        "priority": chance.randint(1, 100),
        "requirement": chance.choice(("mandatory", "critical", "recommended", "optional")),
        "categories": [chance.choice(("payment", "style", "logging"))],
        "audience": "all",
        "owner": "ann",
    }
    for field, value, share in (
        ("appliesTo", chance.sample(GLOBS, 2), 0.5),
        ("activation", chance.choice(("always", "description", "manual")), 0.3),
        ("workspaceId", chance.choice(("one", "Two")), 0.1),
        ("teamIds", ["core", "web"], 0.1),
        ("status", chance.choice(("draft", "approved", "deprecated")), 0.3),
        ("supersedes", f"rule-{chance.randint(0, 99):03}", 0.1),
        ("conflictsWith", [f"rule-{chance.randint(0, 99):03}"], 0.1),
        ("description", "How we log and pay.", 0.3),
    ):
        if chance.random() < share:
            rule[field] = value
    return rule


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with 120 rules, in which hooks were used."""
    chance = random.Random(7)
    directory = tmp_path / "instructions"
    directory.mkdir()
    for number in range(120):
        rule = make_rule(number, chance)
        path = directory / f"{rule['id']}.json"
        path.write_text(json.dumps(rule))
        os.utime(path, ns=(OLD_NS, OLD_NS))
    (tmp_path / "hooks").mkdir()
    return tmp_path


@pytest.fixture
def service(folder: Path) -> Iterator[InstructionsService]:
    settings = InstructionsSettings(watch=False)
    made = build_service(folder / "instructions", folder, settings)
    yield made
    made.close()


def open_index(folder: Path) -> KeptRulesReader:
    return KeptRulesReader.of_folder(folder, folder / "instructions")


def test_the_index_answers_like_the_catalogue(folder: Path, service: InstructionsService) -> None:
    service.rules.keep(local_user())
    kept = open_index(folder)
    chance = random.Random(3)
    for _ in range(60):
        question = RuleQuestion(
            tuple(dict.fromkeys(chance.choices(PATHS, k=chance.randint(0, 3)))),
            task=chance.choice(("", "log what we pay", "fix the payment style")),
            budget=chance.choice((300, 2_000, 20_000)),
            workspace=chance.choice((None, "one", "two")),
            teams=chance.choice(((), ("web",))),
            drafts=chance.random() < 0.3,
        )
        rules, understood, catalogue_hash = service.rules.rules_for(local_user(), question)
        assert show_rules(kept.answer(question), question, kept.hash) == show_rules(
            rules, understood, catalogue_hash
        )


def test_a_changed_folder_makes_the_index_unusable(
    folder: Path, service: InstructionsService
) -> None:
    service.rules.keep(local_user())
    path = folder / "instructions" / "rule-001.json"
    before = path.read_text()
    for change in (
        lambda: path.write_text(before.replace("Rule", "Role")),
        lambda: path.unlink(),
        lambda: (folder / "instructions" / "new.json").write_text(before),
    ):
        open_index(folder)
        change()
        with pytest.raises(UnusableIndexError, match="changed"):
            open_index(folder)
        service.parts.store.synchronise()
        service.rules.keep(local_user())
        wait_for_settled(folder)


def wait_for_settled(folder: Path) -> None:
    """Give files an older time, as if they had changed a while ago, and keep them again."""
    for path in (folder / "instructions").glob("*.json"):
        os.utime(path, ns=(OLD_NS, OLD_NS))
    made = build_service(folder / "instructions", folder, InstructionsSettings(watch=False))
    made.rules.keep(local_user())
    made.close()


def test_a_file_that_changed_just_before_is_not_trusted(
    folder: Path, service: InstructionsService
) -> None:
    ahead = time.time_ns() + 3_600_000_000_000
    os.utime(folder / "instructions" / "rule-001.json", ns=(ahead, ahead))
    service.rules.keep(local_user())
    with pytest.raises(UnusableIndexError):
        open_index(folder)


def test_a_damaged_index_is_never_used(folder: Path, service: InstructionsService) -> None:
    service.rules.keep(local_user())
    path = folder / FILE
    whole = path.read_bytes()
    chance = random.Random(5)
    question = RuleQuestion(PATHS, budget=20_000)
    expected = show_rules(open_index(folder).answer(question), question, "")
    damaged = [b"", b"nonsense\n", whole[:100], whole[:-200]]
    for _ in range(60):
        at = chance.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
    for content in damaged:
        path.write_bytes(content)
        try:
            answer = show_rules(open_index(folder).answer(question), question, "")
        except UnusableIndexError:
            continue
        assert answer == expected  # the damage was in a part that the question does not need


def test_nothing_is_kept_where_no_hooks_are_used(
    folder: Path, service: InstructionsService
) -> None:
    (folder / "hooks").rmdir()
    service.rules.keep(local_user())
    assert not (folder / FILE).exists()
