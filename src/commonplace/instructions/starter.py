"""Starter set: a few instructions, policy gates, and prompt criteria."""

from __future__ import annotations

import shutil
from pathlib import Path

import orjson

from commonplace.instructions.engine.codec import prepare_change
from commonplace.instructions.engine.entry.compose import Origin, compose
from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.store.directory import InstructionDirectory
from commonplace.instructions.store.staging import FileStager
from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.json_types import JsonObject

ENTRIES: tuple[JsonObject, ...] = (
    {
        "id": "secrets-stay-out",
        "title": "Secrets stay out of code, prompts and logs",
        "body": "Never write a key, token or password into source, a prompt, a log or a test.\n"
        "Read it from the environment or the secret store, and name the variable in the README.\n"
        "If one slipped in: revoke it first, then remove it.",
        "priority": 5,
        "requirement": "mandatory",
        "owner": "team",
        "categories": ["security"],
    },
    {
        "id": "search-before-you-write",
        "title": "Look for a rule before you change code",
        "body": "Search the instructions for the files, tools and words of your task before you "
        "begin.\n"
        "Follow mandatory and critical rules to the letter; say so when you depart from a "
        "recommended one.",
        "priority": 10,
        "requirement": "recommended",
        "categories": ["process"],
    },
    {
        "id": "amend-do-not-add",
        "title": "Amend a rule instead of adding a second one",
        "body": "When a rule is wrong or incomplete, change it (add with overwrite, or "
        "governanceUpdate), and say why in its change log.\n"
        "Two rules that disagree are worse than one that is old: deprecate the old one and name "
        "its replacement.",
        "priority": 20,
        "requirement": "recommended",
        "categories": ["governance", "process"],
    },
    {
        "id": "tests-with-every-change",
        "title": "A change comes with its test",
        "body": "Add or change a test with every change of behaviour, and run it before you say "
        "that you are done.\n"
        "A test that cannot fail is not a test.",
        "priority": 30,
        "requirement": "recommended",
        "categories": ["quality"],
    },
)
GATES: JsonObject = {
    "gates": [
        {
            "id": "some-mandatory-rule",
            "type": "count",
            "where": {"requirement": "mandatory"},
            "op": ">=",
            "value": 1,
            "severity": "error",
            "description": "At least one rule is mandatory.",
        },
        {
            "id": "few-drafts",
            "type": "count",
            "where": {"status": "draft"},
            "op": "<=",
            "value": 20,
            "severity": "warn",
            "description": "Drafts are reviewed, not collected.",
        },
    ]
}


def write_starter(folder: Path, clock: Clock = utc_now) -> list[str]:
    """Write the files that do not exist yet, and return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    directory = InstructionDirectory(folder)
    stager = FileStager(directory)
    written: list[str] = []
    for entry in ENTRIES:
        target = Path(directory.file_of(entry["id"]))
        if not target.exists():
            content = _encode_entry(entry, iso(clock()))
            stager.place(*stager.stage([(entry["id"], content)]))
            written.append(target.name)
    gates = folder / "gates.json"
    if not gates.exists():
        gates.write_bytes(
            orjson.dumps(GATES, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
        written.append(gates.name)
    criteria = folder / "PROMPT-CRITERIA.json"
    if not criteria.exists():
        shutil.copyfile(Path(__file__).parent / "store" / "criteria.json", criteria)
        written.append(criteria.name)
    stager.sync_folder()
    return written


def _encode_entry(entry: JsonObject, now: str) -> bytes:
    rules = ReadingRules()
    document = compose(entry, None, lax=True, origin=Origin(now), rules=rules, keep_omitted=False)
    change = prepare_change(document, "starter", rules)
    assert change.content is not None
    return change.content
