"""Commands reveal hidden characters on a terminal and keep them in a pipe."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli.commands import program
from commonplace.kernel.hidden_characters import find_hidden

SAMPLES = {
    "operating system command": "\x1b]0;owned\x07",
    "escape": "\x1b[31m",
    "backspace": "\x08",
    "delete": "\x7f",
    "C1": "\x9b31m",
    "next line": "\x85",
    "override": "\u202e",
    "isolate": "\u2066",
    "mark": "\u200e",
    "zero width": "\u200b",
    "joiner": "\u200d",
    "word joiner": "\u2060",
    "invisible operator": "\u2062",
    "tag": "\U000e0041\U000e0042",
    "selectors": "\ufe01\ufe02\U000e0110",
    "annotation": "\ufff9",
    "soft hyphens": "\u00ad\u00ad",
    "filler": "\u3164",
    "separator": "\u2028",
    "noncharacter": "\ufdd0",
    "inner byte order mark": "\ufeff",
}
HOSTILE = "".join(f"w{sample}x" for sample in SAMPLES.values())
NO_CONTROLS = "".join(
    f"w{sample}x" for sample in SAMPLES.values() if sample.isprintable() or ord(sample[0]) > 0xA0
)
NOT_RUN = {  # they serve, or write files and keys and print only their own words
    ("serve",),
    ("console",),
    ("worker",),
    ("completion",),
    ("shim", "install"),
    ("models", "install"),
    ("models", "remove"),
    ("models", "check"),
    ("instructions", "edit"),  # opens an editor
    ("config", "init"),
    ("init",),
    ("instructions", "init"),
    ("restore",),
    ("oas", "generate"),
    ("up",),
    ("down",),
    ("hook",),  # answers a client in JSON
}
DRIVER = """
import json, sys
from commonplace.cli import main
for argv in json.load(open(sys.argv[1])):
    sys.stdout.flush()
    sys.stdout.write("\\n@@@ " + json.dumps(argv) + "\\n")
    sys.stdout.flush()
    code = main(argv)
    sys.stdout.flush()
    sys.stderr.flush()
    sys.stdout.write("\\n@@@ " + str(code) + "\\n")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which every stored text field holds every sample."""
    folder = tmp_path_factory.mktemp("hidden")
    (folder / "shelf").mkdir()
    entry = {
        "id": "hostile",
        "title": HOSTILE,
        "body": HOSTILE,
        "rationale": HOSTILE,
        "priority": 5,
        "audience": "all",
        "requirement": "optional",
        "categories": ["alpha"],
        "owner": HOSTILE,
        "semanticSummary": HOSTILE,
        "changeLog": [
            {"version": "1.0.0", "changedAt": "2026-01-01T00:00:00Z", "summary": HOSTILE}
        ],
    }
    (folder / "shelf" / "hostile.json").write_text(json.dumps(entry))
    (folder / "shelf" / "broken.json").write_text(json.dumps({"id": "broken", "priority": HOSTILE}))
    (folder / "rules.json").write_text(json.dumps({"entries": [{**entry, "id": "imported"}]}))
    (folder / "tree").mkdir()
    (folder / "tree" / "a\u202eb\x1b[31m.md").write_text(HOSTILE)
    (folder / "tree" / "plain.md").write_text(f"lock {HOSTILE}\n")
    (folder / "note.md").write_text(f"lock {HOSTILE}\n")
    (folder / "lessons.jsonl").write_text(
        json.dumps(
            {
                "type": "entity",
                "name": f"c {HOSTILE}",
                "entityType": HOSTILE,
                "observations": [HOSTILE],
            }
        )
        + "\n"
    )
    document = {
        "openapi": "3.1.0",
        "info": {"title": HOSTILE, "version": HOSTILE, "description": HOSTILE},
        "servers": [{"url": f"https://example.com/{NO_CONTROLS}"}],
        "tags": [{"name": HOSTILE}],
        "paths": {
            f"/{HOSTILE}": {
                "get": {
                    "operationId": HOSTILE,
                    "tags": [HOSTILE],
                    "summary": HOSTILE,
                    "responses": {"200": {}},
                }
            },
            "/other": {"get": {"responses": {"200": {"description": HOSTILE}}, "x-note": HOSTILE}},
        },
        "components": {"schemas": {HOSTILE: {"type": HOSTILE, "description": HOSTILE}}},
    }
    (folder / "api.json").write_text(json.dumps(document))
    (folder / "base.json").write_text(json.dumps({**document, "paths": {}}))
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": HOSTILE, "version": "1"},
        "actions": [{"target": f"$.{HOSTILE}", "update": {}}],
    }
    (folder / "overlay.json").write_text(json.dumps(overlay))
    (folder / "AGENTS.md").write_text(f"# Rules\n\n{NO_CONTROLS}\n")
    (folder / "commonplace.yaml").write_text(
        json.dumps(
            {
                "settings": {
                    "mcp": {
                        "instructions": {
                            "directory": str(folder / "shelf"),
                            "workspace": "w\u202e\u200bx",
                        }
                    }
                }
            }
        )
    )
    return folder


def environment(home: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "LANG", "COMMONPLACE_TEST_DATA")
    }
    return {
        **kept,
        "TERM": "dumb",
        "COLUMNS": "200",
        "PYTHONIOENCODING": "utf-8",
        "COMMONPLACE_HOME": str(home / "data"),
    }


def on_terminal(home: Path, commands: list[list[str]]) -> dict[str, str]:
    """Run commands one after the other on a pseudo terminal; what each printed."""
    (home / "commands.json").write_text(json.dumps(commands))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", DRIVER, str(home / "commands.json")]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=home, env=environment(home)
    )
    os.close(theirs)
    received = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the last writer closed the terminal
            break
        if not part:
            break
        received += part
    os.close(ours)
    assert process.wait(60) == 0, received.decode(errors="replace")[-2000:]
    text = received.decode().replace("\r\n", "\n")
    blocks = text.split("\n@@@ ")[1:]
    made = {}
    for begun, ended in zip(blocks[::2], blocks[1::2], strict=True):
        assert not ended.startswith("70"), begun
        argv, _, printed = begun.partition("\n")
        made[argv] = printed
    assert len(made) == len(commands)
    return made


def leaves(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if hasattr(command, "commands"):
        return [
            leaf
            for name, child in command.commands.items()
            for leaf in leaves(child, (*path, name))
        ]
    return [path]


def seeded(home: Path) -> tuple[str, str]:
    """Store hostile text through the commands themselves; the ids of two memory entries."""
    config = ["--config", str(home / "commonplace.yaml")]
    first = json.dumps(
        {
            "type": "bug",
            "title": f"one {HOSTILE}",
            "content": HOSTILE,
            "tags": [NO_CONTROLS],
            "context": HOSTILE,
        }
    )
    second = json.dumps(
        {"type": "decision", "title": f"two {HOSTILE}", "content": HOSTILE, "project": NO_CONTROLS}
    )
    feedback = json.dumps(
        {"type": "issue", "severity": "low", "title": HOSTILE, "description": HOSTILE}
    )
    made = on_terminal(
        home,
        [
            [*config, "call", "rekall_add", "--args", first, "--json"],
            [*config, "call", "rekall_add", "--args", second, "--json"],
            [*config, "call", "feedback_submit", "--args", feedback],
            [*config, "files", "put", "/note.md", "note.md", "--project", NO_CONTROLS],
            [*config, "files", "put", "/old.md", "note.md", "--project", NO_CONTROLS],
            [*config, "keys", "add", "--tenant", "team-a", "--label", HOSTILE],
        ],
    )
    ids = [json.loads(printed)["id"] for argv, printed in made.items() if "rekall_add" in argv]
    assert_shown(made)
    return ids[0], ids[1]


def assert_shown(made: dict[str, str]) -> None:
    for argv, printed in made.items():
        assert "\x1b" not in printed, argv
        assert find_hidden(printed) == [], argv


def test_no_command_sends_hidden_characters_to_a_terminal(home: Path) -> None:
    one, two = seeded(home)
    config = ["--config", str(home / "commonplace.yaml")]
    project = ["--project", NO_CONTROLS]
    commands = [
        ["call", "instructions_get", "id=hostile"],
        ["call", "instructions_get", "id=hostile", "--json"],
        ["call", "feedback_list"],
        ["call", HOSTILE],
        ["tools"],
        ["tools", "--profile", HOSTILE],
        ["doctor"],
        ["doctor", "--json"],
        ["doctor", "--hidden"],
        ["doctor", "--hidden", "--json"],
        ["connect", "cursor", "--http", f"http://127.0.0.1:1/{NO_CONTROLS}"],
        ["backup", str(home / "saved.tar")],
        ["migrate", "--check"],
        ["config", "show"],
        ["config", "show", "--json"],
        ["config", "check"],
        ["config", "reference"],
        ["keys", "add", "--tenant", "team-b", "--label", HOSTILE],
        ["keys", "list"],
        ["keys", "list", "--json"],
        ["keys", "revoke", HOSTILE],
        ["keys", "rotate", HOSTILE],
        ["tenants", "list"],
        ["tenants", "move", HOSTILE, HOSTILE],
        ["audit", "verify"],
        ["audit", "query"],
        ["audit", "query", "--json"],
        ["audit", "verify", "--anchors", HOSTILE],
        ["audit", "export", str(home / "audit.jsonl")],
        ["audit", "prune", "--days", "3650"],
        ["tenants", "export", HOSTILE, str(home / "tenant")],
        ["tenants", "delete", HOSTILE, "--yes"],
        ["instructions", "sync", NO_CONTROLS],
        ["instructions", "list"],
        ["instructions", "list", "--json"],
        ["instructions", "search", "w"],
        ["instructions", "show", "hostile"],
        ["instructions", "show", "hostile", "--json"],
        ["instructions", "show", HOSTILE],
        ["instructions", "add", "added", HOSTILE, "--title", HOSTILE, "--owner", HOSTILE],
        ["instructions", "show", "added", "--history"],
        ["instructions", "lint"],
        ["instructions", "embed"],
        ["instructions", "review", "submit", "added", HOSTILE],
        ["instructions", "review", "comment", "added", HOSTILE],
        ["instructions", "review", "list"],
        ["instructions", "review", "show", "added"],
        ["instructions", "review", "return", "added", "--note", HOSTILE],
        ["instructions", "review", "withdraw", "added"],
        ["instructions", "review", "approve", "added"],
        ["rules", "import", "tree"],
        ["rules", "export", "exported", "--to", "cursor"],
        ["rules", "sync", "exported"],
        ["rules", "for", NO_CONTROLS, "--no-home"],
        ["rules", "for", "--text", "--no-home"],
        ["rules", "for", "--as", HOSTILE],
        ["rules", "check"],
        ["rules", "check", "--json"],
        ["rules", "check", "--sarif"],
        ["rules", "check", "--markdown"],
        ["instructions", "import", "rules.json"],
        ["instructions", "export"],
        ["instructions", "graph"],
        ["instructions", "graph", "--format", "dot", "--enrich"],
        ["instructions", "groom", "--dry-run"],
        ["instructions", "remove", "added", "--yes"],
        ["instructions", "removed"],
        ["instructions", "restore", "added"],
        ["instructions", "archive", "added", HOSTILE],
        ["files", "put", "/second.md", "note.md", *project],
        ["files", "get", "/note.md", *project],
        ["files", "get", "/note.md", *project, "--json"],
        ["files", "ls", *project],
        ["files", "ls", *project, "--json"],
        ["files", "search", "lock", *project, "--explain"],
        ["files", "grep", "lock", *project],
        ["files", "edit", "/second.md", "lock", HOSTILE, *project],
        ["files", "mv", "/old.md", "/older.md", *project],
        ["files", "rm", "/older.md", *project],
        ["files", "restore", "/older.md", *project],
        ["files", "rm", f"/{HOSTILE}", *project],
        ["files", "import", str(home / "tree"), *project],
        ["files", "import", str(home / "tree"), *project, "--json"],
        ["files", "sync", str(home / "tree"), *project],
        ["files", "symbols", HOSTILE, *project],
        ["files", "export", str(home / "out"), *project],
        ["files", "reindex", *project],
        ["files", "projects"],
        ["files", "status", *project],
        [
            "memory",
            "add",
            "pattern",
            f"three {HOSTILE}",
            "--content",
            HOSTILE,
            "--tag",
            NO_CONTROLS,
        ],
        ["memory", "search", "one", "--why"],
        ["memory", "show", one],
        ["memory", "show", HOSTILE],
        ["memory", "list"],
        ["memory", "list", "--json"],
        ["memory", "link", one, two],
        ["memory", "related", one],
        ["memory", "graph", one],
        ["memory", "edit", one, "--title", f"four {HOSTILE}"],
        ["memory", "suggest"],
        ["memory", "generalize", one, two, "--dry-run"],
        ["memory", "rm", two],
        ["memory", "stale", "--days", "1"],
        ["memory", "export", str(home / "m.jsonl")],
        ["memory", "import", "lessons.jsonl"],
        ["memory", "stats"],
        ["memory", "timeline"],
        ["memory", "confirm", one, "--refuted", "--note", HOSTILE],
        ["memory", "decide", "reject", "--kind", "link", "--dry-run"],
        ["memory", "promote", one],
        ["memory", "promote", one, "--title", HOSTILE, "--body", HOSTILE, "--owner", HOSTILE],
        ["memory", "verify", "--repo", ".", "--name", HOSTILE],
        ["memory", "cite", "check", "lessons.jsonl"],
        ["memory", "purge", HOSTILE, "--yes"],
        ["memory", "purge", "--yes"],
        ["memory", "reindex"],
        ["memory", "embed"],
        ["oas", "validate", "api.json"],
        ["oas", "validate", "api.json", "--format", "markdown"],
        ["oas", "parse", "api.json"],
        ["oas", "parse", "api.json", "--full"],
        ["oas", "walk", "operations", "api.json"],
        ["oas", "walk", "schemas", "api.json", "--detail"],
        ["oas", "diff", "base.json", "api.json"],
        ["oas", "diff", "base.json", "api.json", "--format", "markdown"],
        ["oas", "fix", "api.json"],
        ["oas", "convert", "api.json", "--target", "3.0"],
        ["oas", "join", "api.json", "base.json"],
        ["oas", "bundle", "api.json"],
        ["oas", "overlay", "api.json", "overlay.json"],
        ["oas", "overlay-validate", "overlay.json"],
        ["oas", "validate", HOSTILE],
        ["capture", "read", HOSTILE],
        ["capture", "read", "api.json"],
        ["capture", "list"],
        ["capture", "show", HOSTILE],
        ["capture", "accept", HOSTILE],
        ["capture", "edit", HOSTILE, "--title", HOSTILE],
        ["capture", "reject", HOSTILE],
        ["context", "one two"],
        ["context", HOSTILE],
        ["search", "one two"],
        ["search", HOSTILE],
        ["open", "instruction:hostile", f"memory:{one}"],
        ["open", HOSTILE],
        ["models", "list"],
        ["models", "use", HOSTILE],
        ["rebuild"],
        [f"--{HOSTILE}"],
        [HOSTILE],
        ["files", "ls", "--depth", HOSTILE],
    ]
    tested = {
        path
        for path in leaves(program())
        for command in commands
        if tuple(command[: len(path)]) == path
    }
    assert set(leaves(program())) - tested == NOT_RUN
    made = on_terminal(home, [[*config, *command] for command in commands])
    assert_shown(made)
    for words in (
        '"instructions", "list"]',
        '"instructions", "show", "hostile"]',
        '"memory", "list"]',
        '"files", "get"',
        '"files", "projects"]',
        '"doctor", "--hidden"]',
    ):
        assert any(words in argv and "<U+202E>" in printed for argv, printed in made.items()), words
    assert any(
        "instructions_get" in argv and "--json" in argv and "\\u202e" in printed
        for argv, printed in made.items()
    )


def test_a_pipe_gets_the_bytes_of_the_file_and_json_that_reads_as_it_was_stored(home: Path) -> None:
    seeded(home)
    base = [sys.executable, "-m", "commonplace", "--config", str(home / "commonplace.yaml")]
    got = subprocess.run(
        [*base, "files", "get", "/note.md", "--project", NO_CONTROLS],
        capture_output=True,
        env=environment(home),
        cwd=home,
    )
    assert got.stdout == (home / "note.md").read_bytes()
    shown = subprocess.run(
        [*base, "instructions", "show", "hostile", "--json"],
        capture_output=True,
        env=environment(home),
        cwd=home,
    )
    assert json.loads(shown.stdout)["title"] == HOSTILE
