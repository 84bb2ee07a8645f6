"""Rule files of a repository as rules in effect: formats, imports, and limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.engine.effective.rule import ScopeLevel
from commonplace.instructions.rulefiles.tree import FolderTree
from commonplace.instructions.use_cases.effective.repository import (
    find_rule_files,
    make_cache,
    repository_candidates,
)

FILES = {
    "AGENTS.md": "Root.",
    "web/AGENTS.md": "Web.",
    "web/AGENTS.override.md": "Override.",
    "api/AGENTS.md": "Api.",
    "CLAUDE.md": "Claude.\n@docs/a.md",
    "CLAUDE.local.md": "Mine.",
    "docs/a.md": "Imported.\n@b.md\n@../CLAUDE.md",
    "docs/b.md": "Deeper. @missing.md @~/home.md @/etc/passwd",
    ".claude/rules/ts.md": '---\npaths: ["**/*.ts"]\n---\nTypes.',
    ".cursor/rules/ts.mdc": "---\nglobs: **/*.ts\n---\nNo any.",
    ".github/copilot-instructions.md": "Copilot.",
    ".github/instructions/x.instructions.md": '---\napplyTo: "web/**"\n---\nCopilot web.',
    "GEMINI.md": "Gemini.",
    ".clinerules/one.md": "Cline.",
    ".kiro/steering/a.md": "---\ninclusion: manual\n---\nKiro.",
    ".windsurf/rules/a.md": "---\ntrigger: model_decision\ndescription: d\n---\nWindsurf.",
    ".devin/rules/a.md": "---\ntrigger: always_on\n---\nDevin.",
    ".junie/guidelines.md": "Junie.",
    ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Read PDF files\n---\nSkill.",
    "README.md": "Not a rule.",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = tmp_path / "repo"
    for name, text in FILES.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return top


def test_every_format_on_the_way_to_a_file_is_read(repo: Path) -> None:
    found = {rule.key: rule for rule in repository_candidates(FolderTree(repo), ["web/a.ts"])}
    left_out = {"api/AGENTS.md", "README.md"}
    assert found.keys() == FILES.keys() - left_out
    assert found["AGENTS.md"].level is ScopeLevel.WORKSPACE
    assert found["web/AGENTS.md"].folder == "web"
    assert found["CLAUDE.local.md"].level is ScopeLevel.USER
    assert found[".cursor/rules/ts.mdc"].scope.includes == ("**/*.ts",)
    activations = {key: rule.scope.activation for key, rule in found.items()}
    assert activations[".kiro/steering/a.md"] == "manual"
    assert activations[".windsurf/rules/a.md"] == "description"
    assert activations[".claude/skills/pdf/SKILL.md"] == "description"
    assert found["docs/b.md"].text.startswith("Deeper.")


def test_links_and_imports_never_leave_the_repository(repo: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("Secret.")
    (repo / "CLAUDE.md").write_text("Read. @../secret.md @docs/link.md @/etc/hostname")
    (repo / "docs/link.md").symlink_to(secret)
    (repo / ".cursor/rules/link.mdc").symlink_to(secret)
    (repo / "web/.claude").symlink_to(tmp_path)
    texts = [rule.text for rule in repository_candidates(FolderTree(repo), ["web/a.ts"])]
    assert not any("Secret" in text for text in texts)


def test_imports_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("A. @x.md")
    (tmp_path / "x.md").write_text("B. @CLAUDE.md @x.md " + "@y.md " * 5000)
    (tmp_path / "y.md").write_text("C. " + "@x.md " * 5000)
    keys = {rule.key for rule in repository_candidates(FolderTree(tmp_path), ["a"])}
    assert keys == {"CLAUDE.md", "x.md", "y.md"}


def test_imports_in_comments_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("A.\n<!-- @x.md -->\n@y.md\n")
    (tmp_path / "x.md").write_text("Hidden.")
    (tmp_path / "y.md").write_text("B.\n<!--\n@x.md\n-->\n")
    keys = {rule.key for rule in repository_candidates(FolderTree(tmp_path), ["a"])}
    assert keys == {"CLAUDE.md", "y.md"}


def test_only_files_that_changed_are_read_again(repo: Path) -> None:
    cache = make_cache()
    first = repository_candidates(FolderTree(repo), ["web/a.ts"], cache)
    again = repository_candidates(FolderTree(repo), ["web/a.ts"], cache)
    assert all(rule is known for rule, known in zip(again, first, strict=True))
    (repo / "AGENTS.md").write_text("Changed.")
    (repo / "docs/a.md").write_text("Imported and changed.\n")
    changed = {rule.key: rule for rule in repository_candidates(FolderTree(repo), ["a.ts"], cache)}
    assert changed["AGENTS.md"].text == "Changed."
    assert changed["docs/a.md"].text == "Imported and changed."
    assert "docs/b.md" not in changed
    assert changed["CLAUDE.md"] is next(rule for rule in first if rule.key == "CLAUDE.md")


def test_a_repository_without_rule_files_has_no_rules(tmp_path: Path) -> None:
    assert find_rule_files(FolderTree(tmp_path), ["a/b/c.py"]) == ()
    assert repository_candidates(FolderTree(tmp_path), []) == []


@given(st.binary(max_size=400))
def test_any_content_of_a_rule_file_is_read_or_left_out(content: bytes) -> None:
    class OneFile:
        def read(self, path: str) -> bytes | None:
            return content if path in ("CLAUDE.md", ".cursor/rules/a.mdc") else None

        def exists(self, path: str) -> bool:
            return self.read(path) is not None

        def names(self, folder: str) -> tuple[str, ...]:
            return {".": (".cursor", "CLAUDE.md"), ".cursor": ("rules",)}.get(folder, ())

        def files_below(self, folder: str) -> tuple[str, ...]:
            return (".cursor/rules/a.mdc",) if folder == ".cursor/rules" else ()

    for rule in repository_candidates(OneFile(), ["a.py"]):
        assert rule.text.strip()
        assert rule.text_tokens > 0
        assert rule.directives is not None
