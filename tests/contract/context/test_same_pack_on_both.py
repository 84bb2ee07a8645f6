"""SQLite and PostgreSQL give the same pack for the same content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.bootstrap.app import build
from context_office import Office, settings_on

RULES = {
    "commits": ("Commits", "Write commit messages in the imperative.", {}),
    "money": ("Money", "Keep amounts as Decimal.", {"appliesTo": ["billing/**"]}),
    "locks": ("Locks", "Wait for a locked database.", {"activation": "description"}),
}
LESSONS = {
    "Database is locked under parallel writes": "Two workers wrote at once. Use one writer.",
    "Invoices were rounded twice": "Round the total of an invoice once, half up, in Python.",
    "Clock drift broke sign-in": "Tokens were not valid yet. Allow a minute of drift.",
}
INVOICE = "import decimal\n\n\ndef round_invoice_total(lines):\n    return sum(lines)\n"
NOTES = "# Locks\n\nThe database is locked while a backup runs.\n\n# Clocks\n\nUse NTP.\n"
API = """openapi: 3.0.3
info: {title: Invoices, version: "1"}
paths:
  /invoices/{id}/total:
    get: {operationId: readTotal, summary: Read the total of an invoice, responses: {}}
  /backups:
    post: {operationId: startBackup, summary: Start a backup of the database, responses: {}}
"""
TASKS = (
    ("Round the invoice total half up in round_invoice_total", ["billing/invoice.py"]),
    ("why is the database locked while a backup runs?", []),
    ("sign-in fails on one machine whose clock drifts", []),
    ("Bake a chocolate cake for eight guests", []),
    ("rechnung", []),
)


def fill(office: Office) -> dict[str, str]:
    """Store the content; return the titles of the lessons by reference."""
    for id_, (title, body, fields) in RULES.items():
        office.add_rule(id_, title, body, **fields)
    titles = {office.add_lesson(title, text): title for title, text in LESSONS.items()}
    for path, text in (("/billing/invoice.py", INVOICE), ("/notes.md", NOTES), ("/api.yaml", API)):
        office.write(path, text)
    return titles


def plain(pack: dict[str, Any], titles: dict[str, str]) -> dict[str, Any]:
    """Return what does not depend on ids that are drawn at random, and on the time."""
    sections = ("rules", "lessons", "files", "operations")
    shown: dict[str, Any] = {
        name: [
            {
                **{key: item.get(key) for key in ("title", "text", "why", "cut", "explain")},
                "ref": titles.get(item["ref"], item["ref"]),
            }
            for item in pack.get(name, ())
        ]
        for name in sections
    }
    return shown | {key: pack.get(key) for key in ("empty", "cut", "notes")}


def test_both_databases_give_the_same_packs(tmp_path: Path, postgres_url: str) -> None:
    packs = []
    for name, url in (("sqlite", None), ("postgres", postgres_url)):
        with build(settings_on(tmp_path / name, url), local_user_writes=True) as app:
            office = Office(app)
            titles = fill(office)
            packs.append(
                [
                    plain(office.context(task, paths=paths, budget=budget, explain=True), titles)
                    for task, paths in TASKS
                    for budget in (300, 2_000)
                ]
            )
    on_sqlite, on_postgres = packs
    assert on_sqlite == on_postgres
    assert any(pack["operations"] for pack in on_sqlite)
    assert any(pack["lessons"] for pack in on_sqlite)
    assert any(pack["files"] for pack in on_sqlite)
