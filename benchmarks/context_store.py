"""A store for the tasks of the context benchmark: 500 rules, 500 lessons, a repository, 3 APIs.

Rules are public rule files and sections of them (COMMONPLACE_TEST_DATA), lessons are decisions,
release notes and commit messages of this project (`data/context/lessons.json`), the repository is a
wheel, and the API descriptions are those of Docker, Discord and Twilio. Built once, kept in
`.tools/context`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.repositories import SOURCE, stored_path, unpack
from benchmarks.retrieval import ROOT
from benchmarks.rule_corpus import RULES, RuleText, read_rules
from commonplace.bootstrap.app import App, build
from commonplace.files.model import WriteMode
from commonplace.instructions.use_cases.importing import EntryImportOptions
from commonplace.instructions.use_cases.rule_files.importing import RuleImportOptions
from commonplace.kernel.auth import LOCAL_TENANT, local_user
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.settings import Settings, StorageSettings
from commonplace.memory.model import EntryType

KEPT = ROOT / ".tools" / "context"
LESSONS = Path(__file__).parent / "data" / "context" / "lessons.json"
APIS = RULES.parent / "openapi" / "dev"
API_FILES = ("docker-engine-swagger.yaml", "discord.json", "twilio-api-v2010.json")
PACKAGE = "scrapy==2.11.2"
RULE_COUNT = 500
PART_BYTES = 1_500_000  # of one write
INDEX_SECONDS = 1_800.0
_SECTION = re.compile(r"^## +(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class RuleSection:
    """A section of a long rule file, as a rule of its own."""

    path: str  # of its file
    title: str
    body: str


def split_sections(rules: list[RuleText]) -> Iterator[RuleSection]:
    """Yield the sections of long rules, one of each file in turn."""
    queues = []
    for rule in rules:
        parts = _SECTION.split(rule.body)
        sections = [
            RuleSection(rule.path, f"{rule.title}: {heading.strip('*` ')}"[:200], body.strip())
            for heading, body in zip(parts[1::2], parts[2::2], strict=True)
            if 300 <= len(body) <= 3_000
        ]
        if len(rule.body) > 4_000 and len(sections) > 3:
            queues.append(sections)
    for at in range(max(map(len, queues))):
        for queue in queues:
            if at < len(queue):
                yield queue[at]


def open_store(models: Path | None) -> App:
    """Open the store, and build it first if there is none."""
    digest = hashlib.sha256(Path(__file__).read_bytes() + LESSONS.read_bytes())
    for name in ("files/engine/reindex.py", "search/chunk.py", "search/lexical/text.py"):
        digest.update((SOURCE / name).read_bytes())
    name = "words" if models is None else "model"
    folder = KEPT / f"{name}-{digest.hexdigest()[:10]}"
    settings = Settings(data=folder)
    if models is not None:
        settings = settings.replace(storage=StorageSettings(models=str(models)))
    is_new = not (folder / "complete").exists()
    if is_new:
        shutil.rmtree(folder, ignore_errors=True)
    app = build(settings, local_user_writes=True)
    if is_new:
        print("  building the store", flush=True)
        fill_rules(app)
        asyncio.run(fill_lessons(app))
        asyncio.run(fill_files(app))
        (folder / "complete").touch()
    return app


def fill_rules(app: App) -> None:
    """Import the rule files as a repository has them, then sections of long ones."""
    service, caller = app.services.instructions, local_user()
    service.load()
    folder = app.settings.data / "repository"
    for kind, place in (("cursor", ".cursor/rules"), ("copilot", ".github/instructions")):
        (folder / place).mkdir(parents=True)
        for path in sorted((RULES / kind).iterdir()):
            if path.suffix in (".mdc", ".md"):
                shutil.copyfile(path, folder / place / path.name)
    imported = service.rules.import_files(caller, folder, RuleImportOptions())
    count = sum(outcome.id is not None for outcome in imported.files)
    entries: list[JsonObject] = []
    for section in split_sections(read_rules()):
        if count + len(entries) >= RULE_COUNT:
            break
        name = hashlib.sha256(section.title.encode()).hexdigest()[:10]
        entries.append(
            {
                "id": f"section-{name}",
                "title": section.title,
                "body": section.body,
                "priority": 50,
                "audience": "all",
                "requirement": "recommended",
                "categories": ["rules"],
                "activation": "description",
                "description": section.title,
                "sourceWorkspace": section.path,
            }
        )
    always = [
        ("always-commits", "Commits", "Write commit messages in the imperative, one change each."),
        ("always-secrets", "Secrets", "Never write keys or passwords into files."),
    ]
    entries += [
        {
            "id": id_,
            "title": title,
            "body": body,
            "priority": 10,
            "audience": "all",
            "requirement": "mandatory",
            "categories": ["rules"],
        }
        for id_, title, body in always
    ]
    service.import_entries(caller, entries, EntryImportOptions())
    service.prepare_search()
    service.meaning.embed_now()


async def fill_lessons(app: App) -> None:
    memory = app.services.memory
    await memory.prepare(60)
    for entry in json.loads(LESSONS.read_text("utf-8")):
        draft = memory.draft(
            EntryType(entry["type"]), entry["title"], entry["content"], project=entry["project"]
        )
        await memory.add(LOCAL_TENANT, draft)
    if app.services.semantic.semantics is not None:
        await memory.embed_missing()


async def fill_files(app: App) -> None:
    files, caller = app.services.files, local_user()
    for path, text in unpack(PACKAGE).files.items():
        await files.write(caller, "crawler", stored_path(path), text, mode=WriteMode.TRUNCATE)
    for name in API_FILES:
        text = (APIS / name).read_text("utf-8")
        for start in range(0, len(text), PART_BYTES):
            mode = WriteMode.APPEND if start else WriteMode.TRUNCATE
            part = text[start : start + PART_BYTES]
            await files.write(caller, "apis", f"/{name}", part, mode=mode)
    await files.wait_until_indexed(caller, INDEX_SECONDS)
    for _ in range(int(INDEX_SECONDS)):
        state = await files.index_state(caller, None)
        if state.up_to_date:
            return
        await asyncio.sleep(1)
    raise SystemExit(f"the index is incomplete: {state}")
