"""`commonplace memory`: results, messages and exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from commonplace.cli.commands import run
from commonplace.cli.memory import app
from commonplace.cli.memory.access import current_project

Typed = Callable[..., tuple[int, str]]


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Typed:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("COMMONPLACE_MODELS", raising=False)
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "shop" / "src")

    def line(*words: str) -> tuple[int, str]:
        code = run(["--data", str(tmp_path / "home"), "memory", *words])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return code, said.out

    return line


def answer(typed: Typed, *words: str) -> Any:
    code, text = typed(*words, "--json")
    assert code == 0, text
    return orjson.loads(text)


def test_the_project_is_the_repository_around_or_the_folder(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "a" / "b").mkdir(parents=True)
    assert current_project(tmp_path / "shop" / "a" / "b") == "shop"
    (tmp_path / "plain").mkdir()
    assert current_project(tmp_path / "plain") == "plain"


def test_a_search_marks_what_is_contradicted_superseded_or_obsolete(typed: Typed) -> None:
    words = ("add", "config", "Session store", "-c")
    old = answer(typed, *words, "Web sessions are kept in Memcached.")["id"]
    new = answer(typed, *words, "Web sessions are kept in Redis.")["id"]
    found = typed("search", "web", "sessions", "kept")[1]
    assert f"contradicts {old}" in found
    assert f"contradicts {new}" in found
    answer(typed, "link", new, old, "--relation", "supersedes")
    found = typed("search", "web", "sessions", "kept")[1]
    assert f"obsolete; superseded by {new}" in found
    assert "contradicts" not in found


def test_an_add_says_on_the_terminal_that_it_contradicts(
    typed: Typed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("add", "config", "Session store", "-c")
    old = answer(typed, *words, "Web sessions are kept in Memcached.")["id"]
    run(["--data", str(tmp_path / "home"), "memory", *words, "Web sessions are kept in Redis."])
    said = " ".join(capsys.readouterr().err.split())
    assert f"contradicts {old}. They disagree (memcached against redis)" in said
    new = answer(typed, "list")["entries"][0]["id"]
    assert f"memory link {new} {old} -r supersedes" in said
    assert f"contradicts {old} Session store: undecided" in typed("show", new)[1]
    pending = answer(typed, "suggest")["links"]["suggestions"][0]["id"]
    assert f"memory suggest --reject {pending}" in said
    run(["--data", str(tmp_path / "home"), "memory", "suggest", "--accept", pending])
    decided = capsys.readouterr()
    assert "linked as contradicting" in decided.out
    assert f"memory link {new} {old} -r supersedes" in " ".join(decided.err.split())


def test_an_entry_is_added_found_shown_edited_and_removed(typed: Typed) -> None:
    added = answer(
        typed,
        "add",
        "bug",
        "Safari drops the CORS header",
        "-c",
        "List each custom header.",
        "-t",
        "cors,safari",
    )
    shown = answer(typed, "show", added["id"])
    assert (shown["project"], shown["tags"]) == ("shop", ["cors", "safari"])
    found = answer(typed, "search", "safari", "header", "--project", ".", "--why")
    assert [result["id"] for result in found["results"]] == [added["id"]]
    assert answer(typed, "list", "--tag", "cors")["total"] == 1
    answer(typed, "edit", added["id"], "--title", "Safari needs the header listed", "--obsolete")
    assert (
        answer(typed, "list", "--obsolete")["entries"][0]["title"]
        == "Safari needs the header listed"
    )
    assert answer(typed, "rm", added["id"])["deleted"] is True
    assert answer(typed, "list", "--deleted")["total"] == 1
    assert answer(typed, "rm", added["id"], "--restore")["deleted"] is False
    assert answer(typed, "stats")["entries"] == 1
    assert answer(typed, "reindex") == {"entries": 1, "vectors": 0}
    assert answer(typed, "stale", "--days", "1")["total"] == 0


def test_an_edit_without_changes_says_so(typed: Typed) -> None:
    added = answer(typed, "add", "bug", "Safari drops the header")
    assert typed("edit", added["id"], "--title", "Safari drops the header") == (0, "")


def test_an_edit_without_options_opens_an_editor(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = answer(typed, "add", "bug", "Safari drops the header", "-c", "List it.")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    assert typed("edit", added["id"])[0] == 2
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\necho 'List each header.' > $1\n")
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))
    assert answer(typed, "edit", added["id"])["changed"] == ["content"]
    assert answer(typed, "show", added["id"])["content"] == "List each header."


def test_links_are_drawn_and_listed(typed: Typed) -> None:
    first = answer(typed, "add", "bug", "First entry")["id"]
    second = answer(typed, "add", "config", "Second entry")["id"]
    answer(typed, "link", first, second, "--relation", "derived_from")
    assert [node["id"] for node in answer(typed, "related", second)["entries"]] == [second, first]
    code, text = typed("graph", second)
    assert code == 0
    assert "derived_from" in text
    assert "First entry" in text


def test_adding_a_text_again_keeps_what_is_not_given(typed: Typed) -> None:
    first = answer(
        typed,
        "add",
        "bug",
        "Idle connections",
        "--content",
        "text",
        "--confidence",
        "5",
        "--semantic",
    )
    again = answer(typed, "add", "bug", "Idle connections", "--content", "text", "--tag", "pool")
    assert (again["created"], again["updated_fields"]) == (False, ["tags"])
    shown = answer(typed, "show", first["id"])
    assert (shown["confidence"], shown["memory_type"], shown["tags"]) == (5, "semantic", ["pool"])


def test_suggestions_are_listed_decided_and_generalised(typed: Typed) -> None:
    ids = [
        answer(
            typed,
            "add",
            "bug",
            f"Deploy failed, {day}",
            "-c",
            "OSError: No space left on device. Cleared the cache.",
        )["id"]
        for day in ("monday", "tuesday", "friday")
    ]
    listed = answer(typed, "suggest")
    assert listed["links"]["total_pending"] > 0
    [cluster] = listed["generalize"]["suggestions"]
    code, command = typed("suggest", "--accept", cluster["id"])
    assert code == 0
    assert command.split()[:2] == ["rekall", "generalize"]
    dry = answer(typed, "generalize", *ids, "--dry-run")
    assert dry["id"] is None
    assert "No space left on device" in dry["content"]
    kept = answer(typed, "generalize", *ids, "--title", "Runners fill up")
    assert answer(typed, "show", kept["id"])["title"] == "Runners fill up"
    answer(typed, "suggest", "--reject", listed["links"]["suggestions"][0]["id"])


def test_memory_is_exported_and_imported(typed: Typed, tmp_path: Path) -> None:
    answer(typed, "add", "bug", "First entry")
    for name, format_ in (("a.rekall.zip", "archive"), ("b.jsonl", "jsonl"), ("vault", "obsidian")):
        assert answer(typed, "export", str(tmp_path / name))["format"] == format_
        done = answer(typed, "import", str(tmp_path / name), "--dry-run")
        assert (done["read"], done["known"], done["entries"]) == (1, 1, 0)


def test_importing_an_empty_list_succeeds(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text("[]")
    done = answer(typed, "import", str(tmp_path / "e.json"))
    assert (done["read"], done["problems"]) == (
        0,
        ["e.json has no memories: there is nothing to import"],
    )


def test_changes_by_commands_without_a_tool_are_audited(
    typed: Typed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = [answer(typed, "add", "bug", title)["id"] for title in ("First entry", "Second entry")]
    answer(typed, "export", str(tmp_path / "a.rekall.zip"))
    typed("import", str(tmp_path / "a.rekall.zip"), "--dry-run")
    typed("generalize", *ids, "--dry-run")
    answer(typed, "import", str(tmp_path / "a.rekall.zip"))
    answer(typed, "generalize", *ids)
    typed("import", str(tmp_path / "absent.zip"))
    assert run(["--data", str(tmp_path / "home"), "audit", "query", "--json"]) == 0
    records = orjson.loads(capsys.readouterr().out)["records"]
    assert [(r["tool"], r["outcome"]) for r in reversed(records)] == [
        ("rekall_add", "ok"),
        ("rekall_add", "ok"),
        ("memory_import", "ok"),
        ("memory_generalize", "ok"),
        ("memory_import", "failed"),
    ]
    assert next(r for r in records if r["tool"] == "memory_generalize")["arguments"]["ids"] == ids


def test_a_secret_that_memory_masks_is_not_in_the_audit_trail_either(
    typed: Typed, tmp_path: Path
) -> None:
    secrets = ("Tr0ub4dor3xx", "glrt-" + "aB3dE5fG7hJ9kL1mN2pQ")
    answer(typed, "add", "config", f"DB_PASS={secrets[0]}", "-t", secrets[1], "-p", secrets[1])
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert any(b"rekall_add" in path.read_bytes() for path in kept)
    assert not [
        path.name for path in kept for secret in secrets if secret.encode() in path.read_bytes()
    ]


UNKNOWN = "01HXAAAAAAAAAAAAAAAAAAAAAA"
WRONG: list[tuple[tuple[str, ...], int]] = [
    (("add", "poem", "x"), 2),
    (("add", "bug"), 2),
    (("add", "bug", "x" * 101), 2),
    (("add", "bug", "x", "--confidence", "6"), 2),
    (("search",), 2),
    (("search", "x", "--limit", "0"), 2),
    (("search", "x", "--limit", "21"), 2),
    (("search", "x", "--type", "poem"), 2),
    (("show", UNKNOWN), 3),
    (("show", "01"), 3),
    (("show", "' OR 1=1 --"), 3),
    (("list", "--type", "poem"), 2),
    (("edit", UNKNOWN, "--title", "y"), 3),
    (("edit", UNKNOWN, "--confidence", "9"), 2),
    (("rm", UNKNOWN), 3),
    (("rm", UNKNOWN, "--restore"), 3),
    (("link", UNKNOWN, UNKNOWN), 3),
    (("link", "x", "y", "--relation", "likes"), 2),
    (("related", UNKNOWN), 3),
    (("related", UNKNOWN, "--depth", "9"), 2),
    (("graph", UNKNOWN), 3),
    (("suggest", "--accept", "nothing"), 3),
    (("verify", "--repo", "/nowhere"), 2),
    (("suggest", "--reject", UNKNOWN), 3),
    (("suggest", "--limit", "51"), 2),
    (("suggest", "--accept", UNKNOWN, "--reject", UNKNOWN), 2),
    (("generalize", UNKNOWN, UNKNOWN), 3),
    (("generalize",), 2),
    (("promote", UNKNOWN), 3),
    (("promote",), 2),
    (("stale", "--days", "0"), 2),
    (("decide", "perhaps"), 2),
    (("decide", "accept", "--kind", "poem"), 2),
    (("decide", "accept", "--min-score", "2"), 2),
    (("confirm", UNKNOWN), 3),
    (("confirm", UNKNOWN, "--note", "x" * 501), 2),
    (("timeline", "--days", "0"), 2),
    (("timeline", "--until", "2026-13-01"), 2),
    (("timeline", "--id", UNKNOWN), 3),
    (("purge", UNKNOWN), 3),
    (("purge", UNKNOWN, "--days", "1"), 2),
    (("import", "no-such-file.json"), 2),
    (("import", "no-such-file.json", "--format", "poem"), 2),
    (("export", "x", "--format", "poem"), 2),
    (("embed",), 7),
    (("no-such-command",), 2),
]


@pytest.mark.parametrize(
    ("words", "code"),
    WRONG,
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_wrong_input_prints_a_message_and_sets_the_exit_code(
    typed: Typed, words: tuple[str, ...], code: int
) -> None:
    assert typed(*words)[0] == code


def test_every_command_with_input_has_a_test_of_wrong_input() -> None:
    commands = {
        command.name or command.callback.__name__
        for command in app.registered_commands
        if command.callback
    }
    assert commands - {words[0] for words, _ in WRONG} == {"stats", "reindex"}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.json", b""),
        ("list.json", b"[1, 2, 3]"),
        ("broken.json", b'{"results": ['),
        ("bytes.jsonl", b"\xff\xfe\x00"),
        ("lines.jsonl", b'{"type": "entity"}\nnot json\n'),
        ("cut.zip", b"PK\x03\x04 and then nothing"),
        ("cut.db", b"SQLite format 3\x00 and then nothing"),
        ("notes.txt", b"plain text"),
    ],
)
def test_a_damaged_import_is_refused_and_stores_nothing(
    typed: Typed, tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    code, _ = typed("import", str(tmp_path / name))
    assert code in (0, 2)
    assert answer(typed, "stats")["entries"] == 0


def test_an_export_never_replaces_an_existing_file(typed: Typed, tmp_path: Path) -> None:
    answer(typed, "add", "bug", "First entry")
    (tmp_path / "taken.jsonl").write_text("mine")
    assert typed("export", str(tmp_path / "taken.jsonl"))[0] == 2
    assert (tmp_path / "taken.jsonl").read_text() == "mine"
    assert answer(typed, "export", str(tmp_path / "taken.jsonl"), "--force")["entries"] == 1
    assert typed("export", str(tmp_path / "no" / "\0"))[0] != 0


def test_doctor_checks_memory(
    typed: Typed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(typed, "add", "bug", "First entry")
    run(["--data", str(tmp_path / "home"), "doctor", "--json"])
    checks = {check["name"]: check for check in orjson.loads(capsys.readouterr().out)["checks"]}
    assert checks["memory"]["finding"].startswith("1 entries")
    assert checks["memory vectors"]["status"] == "note"


@pytest.mark.parametrize("command", ["search x", "list", "stats", "stale", "suggest"])
def test_tables_are_printed_for_people(typed: Typed, command: str) -> None:
    answer(typed, "add", "bug", "x marks [bold]the spot[/bold]")
    code, text = typed(*command.split())
    assert code == 0
    if command in ("search x", "list"):
        assert "[bold]the" in text
