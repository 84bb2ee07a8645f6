"""Memory's recall on entries and questions of our own: the position of an answer, languages, and
questions without an answer.

The entries are in `tests/data/memory/recall`. A question is `easy` if it shares words with its
answer and `hard` if it is a paraphrase; `fr` asks in French about an English entry. A question
without an answer is about something `elsewhere`, or asks for a detail of a subject that memory
knows (`near`). Halves are made by a hash of the id; what was chosen with data in view was chosen on
the tuning half. The questions of the check were written before any result of theirs was seen, and
nothing was chosen with them: `everyday` ones have an answer, `plausible` ones are about software
and have none. The entries and questions of a stranger were written without looking at anything
here, and nothing was chosen with them; `software` questions have no answer.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, show
from benchmarks.memory_quality import HALVES, Remembering, check, keep
from benchmarks.retrieval import load, parity
from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.kernel.auth import ALL_SCOPES, AuthContext
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.assembly import open_memory
from commonplace.memory.model import EntryFilter, EntryType
from commonplace.memory.policy import Abstention
from commonplace.memory.service import MemoryService
from commonplace.memory.toolset import toolset
from commonplace.search.semantic.embed import LocalEmbedder

RECALL = ROOT / "tests" / "data" / "memory" / "recall"
FILLER_CHARACTERS = 1_500
DEPTH = 5
OTHER_ENTRIES = (0, 300, 1_500)
CHECK = "check"  # beside the halves: questions with which nothing was chosen
STRANGER = "_stranger"  # the sets of another author


def load_entries(name: str) -> list[dict[str, Any]]:
    """Return the entries of a set with their questions."""
    lines = (RECALL / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


class RecallStore:
    """A set of entries in a memory of their own."""

    def __init__(self, folder: Path, embedder: Any) -> None:
        self.service: MemoryService = open_memory(folder, embedder=embedder)
        self.names: dict[str, str] = {}  # of entries, by id
        self._pipeline = Pipeline(Registry([toolset(lambda: self.service)]))

    async def add(self, entries: Sequence[dict[str, Any]]) -> None:
        for entry in entries:
            draft = self.service.draft(
                EntryType(entry["type"]),
                entry["title"],
                entry["text"],
                entry.get("tags", ()),
                entry.get("context", ""),
            )
            self.names[(await self.service.add(TENANT, draft)).entry.id] = entry["id"]
        await self.service.settle()
        self.service.vectors.mark_complete(TENANT)

    async def ask(self, question: str, context: str = "") -> list[str]:
        """Return the names of the entries that are found, best first."""
        answer = await self.service.search(TENANT, question, context, EntryFilter(), DEPTH)
        return [self.names[hit.entry.id] for hit in answer.hits]

    async def search(
        self, question: str, context: str = "", abstain: Abstention = "nothing"
    ) -> tuple[list[str], bool]:
        """Return the names of the results of `rekall_search`, and whether they are in doubt."""
        self.service.policy = replace(self.service.policy, abstain=abstain)
        arguments = {"query": question, "context": context, "limit": DEPTH}
        auth = AuthContext(TENANT, ALL_SCOPES, "bench")
        outcome = await self._pipeline.run(Call("rekall_search", arguments, auth))
        assert outcome.error is None, outcome.error
        answer = to_json(outcome.output)
        names = [self.names[result["id"]] for result in answer["results"]]
        return names, bool(answer.get("doubtful", not names))


async def _count_hits(embedder: Any, entries: Sequence[dict[str, Any]], kind: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        store = RecallStore(Path(folder), embedder)
        await store.add(entries)
        hits = [entry["id"] in await store.ask(entry[kind]) for entry in entries]
        store.service.close()
    return sum(hits)


def _filler(chance: random.Random, texts: Sequence[str]) -> str:
    filler = ""
    while len(filler) < FILLER_CHARACTERS:
        filler += chance.choice(texts) + "\n\n"
    return filler[:FILLER_CHARACTERS]


def measure_position(embedder: LocalEmbedder) -> None:
    """Ask for answers at the beginning and behind other text; all entries are of equal length."""
    remembering = Remembering(embedder, lambda progress: None)
    entries = load_entries("english")
    chance = random.Random(3)
    rows: list[tuple[str, ...]] = []
    for kind in ("easy", "hard"):
        alone = asyncio.run(_count_hits(remembering, entries, kind))
        for name in ("cranfield", "cosqa"):
            texts = [text for text in load(name).documents.values() if len(text) > 200]
            fillers = [_filler(chance, texts) for _ in entries]
            pairs = list(zip(entries, fillers, strict=True))
            first = [{**entry, "text": f"{entry['text']}\n\n{filler}"} for entry, filler in pairs]
            last = [{**entry, "text": f"{filler}\n\n{entry['text']}"} for entry, filler in pairs]
            before = asyncio.run(_count_hits(remembering, first, kind))
            behind = asyncio.run(_count_hits(remembering, last, kind))
            lost = (before - behind) * 44 / len(entries)
            figures = (f"{alone}", f"{before}", f"{behind}", f"{lost:.1f}", check(lost <= 2))
            rows.append((kind, name, *figures))
    show(
        f"Position of the answer: hits at {DEPTH} of {len(entries)}, {FILLER_CHARACTERS} "
        "characters of other text; at most 2 of 44 lost",
        ("questions", "other text", "answer alone", "before", "behind", "lost of 44", ""),
        rows,
    )


@dataclass(slots=True)
class Tally:
    """Questions of one kind, and what becomes of them."""

    questions: int = 0
    found: int = 0  # the right entry is among the first, before anything is refused
    answered: int = 0  # the right entry is in the results
    empty: int = 0  # there are no results
    doubted: int = 0  # there are none, or they are marked as doubtful
    strictly_answered: int = 0  # the same with the setting `abstain: doubt`
    strictly_empty: int = 0


Tallies = dict[tuple[str, str, str], Tally]  # by set, kind and half


def _question_sets() -> Iterator[
    tuple[str, list[dict[str, Any]], list[tuple[str, str, str, set[str]]]]
]:
    """Yield name, entries and questions: id, kind, text and the names of right entries."""
    for name, kinds in (
        ("english", ("easy", "hard", "fr")),
        ("french", ("easy", "hard")),
        (f"english{STRANGER}", ("easy", "hard")),
        (f"french{STRANGER}", ("easy", "hard")),
    ):
        entries = load_entries(name)
        questions = [(e["id"] + kind, kind, e[kind], {e["id"]}) for e in entries for kind in kinds]
        others = load_entries(f"{name}_unanswerable")
        questions += [(q["id"], q["kind"], q["text"], set()) for q in others]
        yield name, entries, questions
    entries, questions = [], []
    for talk in load_entries("conversations"):
        turns = talk["turns"]
        for at, turn in enumerate(turns):
            around = "\n".join(turns[max(0, at - 1) : at + 2])
            entry = {"id": f"{talk['id']}{at}", "type": "reference", "title": turn[:100]}
            entries.append({**entry, "text": turn, "context": around})
        questions += [
            (f"{talk['id']}-{at}", "easy", q["text"], {f"{talk['id']}{n}" for n in q["evidence"]})
            for at, q in enumerate(talk["questions"])
        ]
    yield "conversations", entries, questions
    notes = load("devbench")
    entries = [
        {"id": key, "type": "reference", "title": text[:100], "text": text}
        for key, text in notes.documents.items()
    ]
    questions = [(key, "easy", q, set(notes.relevant[key])) for key, q in notes.queries.items()]
    questions += [(key, "elsewhere", q, set()) for key, q in notes.unanswerable.items()]
    yield "devbench", entries, questions


async def _ask_all(
    store: RecallStore,
    name: str,
    questions: Sequence[tuple[str, str, str, set[str]]],
    tallies: Tallies,
) -> None:
    for id_, kind, text, right in questions:
        tally = tallies.setdefault((name, kind, HALVES[parity(id_)]), Tally())
        tally.questions += 1
        tally.found += bool(right & set(await store.ask(text)))
        results, in_doubt = await store.search(text)
        tally.answered += bool(right & set(results))
        tally.empty += not results
        tally.doubted += in_doubt
        results, _ = await store.search(text, abstain="doubt")
        tally.strictly_answered += bool(right & set(results))
        tally.strictly_empty += not results


async def _tally_beside(embedder: Any, others: int) -> Tallies:
    """Ask the English questions in a memory that also has documents about something else."""
    tallies: Tallies = {}
    name, entries, questions = next(_question_sets())
    documents = list(load("cosqa").documents.items())
    with tempfile.TemporaryDirectory() as folder:
        store = RecallStore(Path(folder), embedder)
        await store.add(entries)
        store.names |= await keep(store.service, documents[:others], embed=True)
        await _ask_all(store, name, questions, tallies)
        store.service.close()
    return tallies


def measure_sizes(embedder: LocalEmbedder) -> None:
    """Measure refusals in memories of several sizes, where something is near to every question."""
    remembering = Remembering(embedder, lambda progress: None)
    rows: list[tuple[str, ...]] = []
    for others in OTHER_ENTRIES:
        tallies = asyncio.run(_tally_beside(remembering, others))
        for half in HALVES:
            away = _sum(tallies, ("english",), ("elsewhere",), half)
            every = _sum(tallies, ("english",), ("easy", "hard"), half)
            lost = 1 - every.answered / every.found
            shares = (f"{away.empty / away.questions:.2f}", f"{away.doubted / away.questions:.2f}")
            rows.append((str(others), half, *shares, str(every.found), f"{lost:.3f}"))
    show(
        "English questions without an answer, beside documents of cosqa",
        ("other entries", "half", "empty", "or doubtful", "answers", "lost"),
        rows,
    )


async def _tally(embedder: Any) -> Tallies:
    tallies: Tallies = {}
    for name, entries, questions in _question_sets():
        with tempfile.TemporaryDirectory() as folder:
            store = RecallStore(Path(folder), embedder)
            await store.add(entries)
            await _ask_all(store, name, questions, tallies)
            store.service.close()
    return tallies


def write_plainly(text: str, _language: str) -> str:
    """Return a question as keywords are typed: no question mark, no capital at the beginning."""
    text = text.rstrip(" ?")
    is_word = text[1:2].islower() or text[1:2] == "'"
    return text[:1].lower() + text[1:] if is_word else text


def write_as_question(text: str, language: str) -> str:
    """Return a text with a capital at the beginning and a question mark at the end."""
    text = text.rstrip(" ?")
    return text[:1].upper() + text[1:] + (" ?" if language == "french" else "?")


STYLES = {"plain": write_plainly, "question": write_as_question}


async def _tally_styles(embedder: Any, language: str, beside: int) -> Tallies:
    """Ask every question of a language in each style, beside a number of other documents.

    Tallies are by style instead of by set.
    """
    tallies: Tallies = {}
    entries, questions = next((e, q) for name, e, q in _question_sets() if name == language)
    questions = [question for question in questions if question[1] in ("easy", "hard", "elsewhere")]
    others = [
        (q["id"], q["kind"], q["text"], {q["answer"]} if "answer" in q else set())
        for q in load_entries(f"{language}_check")
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = RecallStore(Path(folder), embedder)
        await store.add(entries)
        documents = list(load("cosqa").documents.items())[:beside]
        store.names |= await keep(store.service, documents, embed=True)
        for style, write in STYLES.items():
            for asked in (questions, others):
                restyled = [(id_, kind, write(text, language), r) for id_, kind, text, r in asked]
                await _ask_all(store, style, restyled, tallies)
        store.service.close()
    return tallies


def measure_styles(models: Mapping[str, LocalEmbedder]) -> None:
    """Measure refusals if all questions of a language are written in one style.

    In the sets as they are, only questions without an answer have capitals and question marks.
    """
    columns = ("model", "language", "style", "part", "asked", "empty", "or doubtful", "answers")
    for others in OTHER_ENTRIES:
        rows: list[tuple[str, ...]] = []
        for model, embedder in models.items():
            reads_english_only = embedder.description.language == "en"
            for language in ("english",) if reads_english_only else ("english", "french"):
                remembering = Remembering(embedder, lambda progress: None)
                tallies = asyncio.run(_tally_styles(remembering, language, others))
                rows += [
                    (model, language, style, part, *_style_row(tallies, style, part))
                    for style in STYLES
                    for part in (*HALVES, CHECK)
                ]
        show(
            "Questions in one style (`plain`: lower case, no question mark), beside "
            f"{others} other entries",
            (*columns, "lost", "doubt: empty", "lost"),
            rows,
        )


def _style_row(tallies: Tallies, style: str, part: str) -> tuple[str, ...]:
    """Return the figures of a style, for a half or for the check."""
    is_check = part == CHECK
    halves = HALVES if is_check else (part,)
    none = _sum(tallies, (style,), ("plausible",) if is_check else ("elsewhere",), *halves)
    some = _sum(tallies, (style,), ("everyday",) if is_check else ("easy", "hard"), *halves)
    return (
        str(none.questions),
        f"{none.empty / none.questions:.2f}",
        f"{none.doubted / none.questions:.2f}",
        str(some.found),
        f"{1 - some.answered / some.found:.3f}",
        f"{none.strictly_empty / none.questions:.2f}",
        f"{1 - some.strictly_answered / some.found:.3f}",
    )


def _sum(tallies: Tallies, sets: Collection[str], kinds: Collection[str], *halves: str) -> Tally:
    chosen = [t for (s, k, h), t in tallies.items() if s in sets and k in kinds and h in halves]
    return Tally(*(sum(getattr(t, f.name) for t in chosen) for f in fields(Tally)))


def measure_answers(models: Mapping[str, LocalEmbedder | None]) -> None:
    """Measure languages and refusals with each model; None is without a model."""
    tallied = {
        name: asyncio.run(_tally(model and Remembering(model, lambda progress: None)))
        for name, model in models.items()
    }
    _show_languages(tallied)
    _show_refusals(tallied)
    _measure_example(models)


def _show_languages(tallied: Mapping[str, Tallies]) -> None:
    rows: list[tuple[str, ...]] = []
    for model, tallies in tallied.items():
        for name, kind, what in (
            ("french", "easy", "French, shared words"),
            ("french", "hard", "French paraphrases"),
            ("english", "fr", "French about English entries"),
            ("english", "easy", "English, shared words"),
            ("english", "hard", "English paraphrases"),
            ("conversations", "easy", "conversations"),
        ):
            for half in HALVES:
                tally = _sum(tallies, (name,), (kind,), half)
                share = tally.answered / tally.questions
                judged = half == "held-out" and (name, kind) == ("french", "easy")
                counts = (tally.questions, tally.found, tally.answered)
                ok = check(share >= 0.9) if judged else ""
                rows.append((model, what, half, *map(str, counts), f"{share:.2f}", ok))
    show(
        f"Languages: right entry among {DEPTH}; at least 0.9 of French questions with shared words",
        ("model", "questions", "half", "asked", "found", "answered", "share", ""),
        rows,
    )


def _show_refusals(tallied: Mapping[str, Tallies]) -> None:
    by_default: list[tuple[str, ...]] = []
    strictly: list[tuple[str, ...]] = []
    for model, tallies in tallied.items():
        for language, sets in (
            ("english", ("english", "conversations", "devbench")),
            ("french", ("french",)),
        ):
            parts = [(sets, half, (half,)) for half in HALVES]
            for names, part, halves in (*parts, ((language + STRANGER,), "stranger", HALVES)):
                default, strict = _refusal_rows(tallies, names, halves)
                by_default.append((model, language, part, *default, *_judge(default, part)))
                strictly.append((model, language, part, *strict, *_judge(strict, part)))
    columns = (
        *("model", "language", "half", "asked", "empty", "or doubtful", "near: empty, doubtful"),
        *("answers", "with common words", "lost", "of all lost", "common words", "all"),
    )
    show(
        "Questions without an answer: at least 0.9 get no results, and at most 0.03 of the answers "
        "are lost, of those with common words and of all",
        columns,
        by_default,
    )
    show("The same with `abstain: doubt`", columns, strictly)


def _judge(row: tuple[str, ...], part: str) -> tuple[str, str]:
    """Say whether a row meets the mark, for answers with common words and for all answers."""
    if part == HALVES[0]:
        return "", ""
    is_refused = float(row[1]) >= 0.9
    with_common_words, of_all = (is_refused and float(lost) <= 0.03 for lost in row[6:8])
    return check(with_common_words), check(of_all)


def _refusal_rows(
    tallies: Tallies, sets: Collection[str], halves: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the figures of some questions by default and with `abstain: doubt`."""
    away = _sum(tallies, sets, ("elsewhere", "software"), *halves)
    near = _sum(tallies, sets, ("near",), *halves)
    plain = _sum(tallies, sets, ("easy",), *halves)
    every = _sum(tallies, sets, ("easy", "hard"), *halves)

    def row(empty: int, near_empty: int, answered: int, all_answered: int) -> tuple[str, ...]:
        return (
            str(away.questions),
            f"{empty / away.questions:.2f}",
            f"{away.doubted / away.questions:.2f}",
            f"{near_empty}, {near.doubted} of {near.questions}",
            str(every.found),
            str(plain.found),
            f"{1 - answered / plain.found:.3f}",
            f"{1 - all_answered / every.found:.3f}",
        )

    return (
        row(away.empty, near.empty, plain.answered, every.answered),
        row(
            away.strictly_empty,
            near.strictly_empty,
            plain.strictly_answered,
            every.strictly_answered,
        ),
    )


def _measure_example(models: Mapping[str, LocalEmbedder | None]) -> None:
    """Ask the contract's own example, with its context, among all French entries."""

    async def ask(embedder: Any) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            store = RecallStore(Path(folder), embedder)
            await store.add(load_entries("french"))
            results, _ = await store.search("erreur navigateur Apple", "Bug CORS sur Safari iOS")
            store.service.close()
            return results

    for name, model in models.items():
        found = asyncio.run(ask(model and Remembering(model, lambda progress: None)))
        print(f"the contract's example comes first ({name}): {check(found[:1] == ['fr01'])}")
