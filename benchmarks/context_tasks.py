"""Tasks over a whole store: is the right item in the pack, and is there nothing on other subjects?

`data/context/tasks.json` has 120 tasks (30 about rules, lessons, passages and operations each) with
the items that are right, and 30 unrelated ones. One half, by a hash of the id, was looked at while
thresholds were chosen; the other half was not. `other_tasks.json` has tasks of quite other kinds
(one word, stack traces, long stories, other languages), which weights were fitted to as well; their
right items are named by a part of their name.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.context_store import open_store
from commonplace.bootstrap.app import App
from commonplace.context.model import ContextPack, ContextQuestion, PackItem, PackSection
from commonplace.kernel.auth import local_user
from commonplace.kernel.ref import Ref

TASKS = Path(__file__).parent / "data" / "context" / "tasks.json"
OTHER_TASKS = TASKS.with_name("other_tasks.json")
BUDGET = 2_000
TITLE_CHARACTERS = 90  # that tell a long title
KINDS = ("rule", "lesson", "passage", "operation")
COLUMNS = ("tuning half", "untouched half", "other kinds")


@dataclass(frozen=True)
class StoreTask:
    """A task, and the names of the items that are right for it."""

    id: str
    kind: str
    task: str
    right: tuple[str, ...]

    @property
    def column(self) -> str:
        if self.id.startswith("other"):
            return "other kinds"
        return "untouched half" if zlib.crc32(self.id.encode()) % 2 == 1 else "tuning half"


def load_store_tasks() -> list[StoreTask]:
    raw = [row for file in (TASKS, OTHER_TASKS) for row in json.loads(file.read_text("utf-8"))]
    return [StoreTask(row["id"], row["kind"], row["task"], tuple(row["right"])) for row in raw]


class RightItems:
    """Tells by which name of the tasks an item of a pack is called."""

    def __init__(self, app: App) -> None:
        service = app.services.instructions
        self._rules: dict[str, str] = {}
        for entry in service.instructions(local_user()):
            document = entry.document.whole()
            origin = (document.get("origin") or {}).get("file") or ""
            name = document.get("sourceWorkspace") or _corpus_name(origin)
            self._rules[f"instruction:{entry.id}"] = name

    def names(self, item: PackItem, operation_ids: Mapping[str, str]) -> str:
        section = item.candidate.section
        if section is PackSection.RULES:
            return self._rules.get(item.ref, item.ref)
        if section is PackSection.LESSONS:
            return item.candidate.title
        ref = Ref.parse(item.ref)
        if section is PackSection.FILES:
            return ref.key.lstrip("/")
        return operation_ids.get(item.ref, item.ref)


def _corpus_name(file: str) -> str:
    name = file.rpartition("/")[2].removesuffix(".mdc").removesuffix(".instructions.md")
    return f"{'cursor' if file.startswith('.cursor') else 'copilot'}/{name}"


def is_right(task: StoreTask, names: Sequence[str]) -> bool:
    """Tell whether one of the items is right; memory and the tasks cut long titles."""
    if task.column == "other kinds":
        return any(right in name for name in names for right in task.right)
    return any(
        name == right or name[:TITLE_CHARACTERS] == right[:TITLE_CHARACTERS]
        for name in names
        for right in task.right
    )


async def ask_all(app: App, tasks: Sequence[StoreTask]) -> dict[str, ContextPack]:
    service, caller = app.services.context, local_user()
    return {
        task.id: await service.context(caller, ContextQuestion(task.task, budget=BUDGET))
        for task in tasks
    }


def always_applies(item: PackItem) -> bool:
    """Tell whether a rule is in effect whatever the task is."""
    why = item.candidate.why.split("; ")
    return item.candidate.section is PackSection.RULES and "always" in why


async def operation_ids(app: App, packs: Mapping[str, ContextPack]) -> dict[str, str]:
    """Return the id of every operation that a pack contains."""
    extracts, caller = app.services.files.extracts, local_user()
    assert extracts is not None
    found: dict[str, str] = {}
    for pack in packs.values():
        for item in pack.items:
            if item.candidate.section is PackSection.OPERATIONS and item.ref not in found:
                ref = Ref.parse(item.ref)
                extract = await extracts.find(caller, ref.project or "", ref.key, ref.pointer)
                found[item.ref] = str(extract.facts["operation_id"]) if extract else ""
    return found


def report_tasks(models: Path | None, *, each: bool) -> None:
    """Print how often the right item is in the pack, and what unrelated tasks get."""
    tasks = load_store_tasks()
    with open_store(models) as app:
        items = RightItems(app)
        packs = asyncio.run(ask_all(app, tasks))
        ids = asyncio.run(operation_ids(app, packs))
    names = {task.id: [items.names(item, ids) for item in packs[task.id].items] for task in tasks}
    by = "by words alone" if models is None else "with the default model"
    print(f"\nTasks over a store of 500 rules and 500 lessons, {BUDGET:,} tokens, {by}")
    print(f"{'':<14}" + "".join(f"{column:>18}" for column in COLUMNS))
    for kind in (*KINDS, "all"):
        cells = []
        for column in COLUMNS:
            rows = [
                task for task in tasks if task.column == column and task.kind in (kind, *_all(kind))
            ]
            missed = [task for task in rows if not is_right(task, names[task.id])]
            cells.append(f"{len(rows) - len(missed)}/{len(rows)} {1 - len(missed) / len(rows):.0%}")
            for task in missed if each and kind != "all" and column != "untouched half" else ():
                print(f"  missed {task.id}: {task.task[:70]!r} -> {names[task.id][:6]}")
        print(f"{kind:<14}" + "".join(f"{cell:>18}" for cell in cells))
    _report_unrelated(tasks, packs, names, each=each)
    spent = [packs[task.id].tokens for task in tasks if task.kind != "unrelated"]
    print(f"{'tokens':<14}mean {sum(spent) / len(spent):,.0f}, most {max(spent):,}")


def _all(kind: str) -> tuple[str, ...]:
    return KINDS if kind == "all" else ()


def _report_unrelated(
    tasks: Sequence[StoreTask],
    packs: Mapping[str, ContextPack],
    names: Mapping[str, Sequence[str]],
    *,
    each: bool,
) -> None:
    quiet: dict[bool, list[bool]] = {False: [], True: []}
    for task in tasks:
        if task.kind == "unrelated":
            more = [
                name
                for name, item in zip(names[task.id], packs[task.id].items, strict=True)
                if not always_applies(item)
            ]
            quiet[task.column == "other kinds"].append(not more)
            if more and each:
                print(f"  {task.id} {task.task[:60]!r} -> {more[:5]}")
    bench, other = (f"{sum(rows)}/{len(rows)}" for rows in quiet.values())
    print(f"{'unrelated':<14}{bench} with nothing but rules that always apply; {other} other kinds")
