"""What a client would cut or ignore of an export, because of its limits."""

from __future__ import annotations

from commonplace.instructions.adapters.writing import ClientExport, join_sections
from commonplace.instructions.clients.check import check_rule_files
from commonplace.instructions.rulefiles.situation import RuleTree
from commonplace.instructions.use_cases.rule_files.repository import RuleRepository

LIMITS = ("too-long", "codex-budget", "invalid-skill")
CODEX_READERS = ("codex", "agents-md")


class PlannedTree:
    """The files of an export, as a tree."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def read(self, path: str) -> bytes | None:
        text = self._files.get(path)
        return None if text is None else text.encode("utf-8", "replace")

    def exists(self, path: str) -> bool:
        return path in self._files or any(name.startswith(f"{path}/") for name in self._files)

    def names(self, folder: str) -> tuple[str, ...]:
        prefix = "" if folder == "." else f"{folder}/"
        below = (name.removeprefix(prefix) for name in self._files if name.startswith(prefix))
        return tuple(sorted({name.split("/")[0] for name in below}))

    def files_below(self, folder: str) -> tuple[str, ...]:
        prefix = "" if folder == "." else f"{folder}/"
        return tuple(sorted(name for name in self._files if name.startswith(prefix)))


def find_limits(export: ClientExport, client: str, repository: RuleRepository) -> tuple[str, ...]:
    """Say which files the client would cut or ignore."""
    contents = {path: join_sections(parts) for path, parts in export.sections.items()}
    tree: RuleTree = PlannedTree({**export.files, **contents})
    found = [
        f"{finding.path}: {finding.message}"
        for finding in check_rule_files(tree).findings
        if finding.code in LIMITS and (finding.code != "codex-budget" or client in CODEX_READERS)
    ]
    if client == "junie" and contents and repository.read("AGENTS.md") is not None:
        found.append(".junie/guidelines.md: Junie reads AGENTS.md instead, which exists.")
    return tuple(found)
