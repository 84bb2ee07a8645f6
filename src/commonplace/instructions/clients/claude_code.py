"""Claude Code: CLAUDE.md of every level, rules with paths, imports, and AGENTS.md as fallback."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

from commonplace.instructions.rulefiles.front_matter import patterns_of, split_front_matter
from commonplace.instructions.rulefiles.globs import matches_any
from commonplace.instructions.rulefiles.imports import (
    imported_paths,
    resolve,
    strip_block_comments,
)
from commonplace.instructions.rulefiles.situation import (
    ClientEvent,
    ClientSituation,
    Loading,
    RuleTree,
    decode,
    folders_between,
    join,
    parent,
)

MANAGED = "/etc/claude-code/CLAUDE.md"
USER = "~/.claude"
OWN_FILES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
AGENTS_FILES = ("AGENTS.md", ".claude/AGENTS.md")
LONGEST_BYTES = 4 << 20
IMPORT_HOPS = 4
TRAILING = ".,;:!?)\"'"  # punctuation after an import belongs to the sentence
MEMORY_LINES = 200
FALLBACK_SINCE = (2, 1, 277)  # the version that began to read AGENTS.md
ADDED_FOLDERS_SWITCH = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load the files of the start and, after a read, those of the file's folders and paths.

    Rules with `paths` wait for a matching file to be read: a file that does not exist yet
    brings none of them.
    """
    reader = _Reader(tree, situation, _mode(situation))
    reader.load_start()
    touched = situation.touched
    if touched and (situation.event is ClientEvent.READ or tree.exists(touched)):
        reader.load_touched(touched)
    return reader.loading


def _mode(situation: ClientSituation) -> str:
    """Return which of CLAUDE.md and AGENTS.md the project's files are."""
    mode = situation.settings.get("projectInstructions")
    if isinstance(mode, str):
        return mode
    version = situation.settings.get("version")
    if isinstance(version, str):
        numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
        return "claude" if numbers < FALLBACK_SINCE else "agents-fallback"
    return "agents-fallback"


@dataclass(slots=True)
class _Reader:
    tree: RuleTree
    situation: ClientSituation
    mode: str
    loading: Loading = field(default_factory=Loading)

    def load_start(self) -> None:
        self._add_file(MANAGED, "managed by the organisation", excludable=False)
        if self.mode == "none":
            return
        self._add_file(f"{USER}/CLAUDE.md", "the user's own file")
        self._add_rules(USER, None)
        folders = folders_between(".", self.situation.cwd)
        for folder in folders:
            self._add_folder(folder)
            self._add_rules(join(folder, ".claude"), None)
        for folder in self._added_folders():
            self._add_own_files(folder, "a folder that was added to the session")
            self._add_rules(join(folder, ".claude"), None)
        self._add_memory()

    def load_touched(self, touched: str) -> None:
        if self.mode == "none":
            return
        self._add_rules(USER, touched)
        for folder in folders_between(".", parent(touched)):
            self._add_folder(folder)
            self._add_rules(join(folder, ".claude"), touched)

    def _add_folder(self, folder: str) -> None:
        self._add_own_files(folder, "a folder on the way to the work")
        if self.mode == "both" or (self.mode == "agents-fallback" and not self._has_own_files()):
            for name in AGENTS_FILES:
                self._add_file(join(folder, name), "AGENTS.md, as there is no CLAUDE.md")
        else:
            for name in AGENTS_FILES:
                if self.tree.read(join(folder, name)) is not None:
                    self.loading.ignore(join(folder, name), "CLAUDE.md is read instead")

    def _add_own_files(self, folder: str, reason: str) -> None:
        for name in OWN_FILES:
            self._add_file(join(folder, name), reason)

    def _has_own_files(self) -> bool:
        """Tell whether the project has a file of its own from the top to the working folder."""
        return any(
            self.tree.read(join(folder, name)) is not None
            for folder in folders_between(".", self.situation.cwd)
            for name in OWN_FILES
        )

    def _add_file(self, path: str, reason: str, *, excludable: bool = True, hops: int = 0) -> None:
        data = None if self.loading.has(path) else self.tree.read(path)
        if data is None:
            return
        if excludable and self._is_excluded(path):
            self.loading.ignore(path, "claudeMdExcludes names it")
        elif len(data) > LONGEST_BYTES:
            self.loading.ignore(path, "larger than 4 MiB: skipped, not cut")
        else:
            text = decode(data)
            shown = strip_block_comments(text)
            self.loading.add(path, shown, reason, "block comments removed" * (shown != text))
            self._add_imports(path, shown, hops)

    def _add_imports(self, path: str, text: str, hops: int) -> None:
        for written in imported_paths(text):
            imported = self._find_import(path, written)
            if imported is None:
                self._ignore_import(written)
                continue
            outside = imported.startswith("~/") and not path.startswith("~/")
            if outside and self.situation.settings.get("external_imports") != "approved":
                self.loading.ignore(imported, "imported from outside and not approved")
            elif hops >= IMPORT_HOPS:
                self.loading.ignore(imported, f"imports nest at most {IMPORT_HOPS} hops deep")
            else:
                self._add_file(imported, f"imported by {path}", hops=hops + 1)

    def _find_import(self, path: str, written: str) -> str | None:
        """Resolve an import; punctuation after it belongs to the sentence."""
        for candidate in (written, written.rstrip(TRAILING)):
            imported = resolve(path, candidate)
            if imported is not None and self.tree.read(imported) is not None:
                return imported
        return None

    def _ignore_import(self, written: str) -> None:
        """Say that an import was not read, unless it is a mention such as `@name`."""
        plain = written.rstrip(TRAILING)
        if "." in posixpath.basename(plain) and "/" in plain and "://" not in plain:
            self.loading.ignore(f"@{plain}", "there is no such file in the repository")

    def _is_excluded(self, path: str) -> bool:
        patterns = patterns_of(self.situation.settings.get("claudeMdExcludes"))
        return matches_any(path, patterns) or matches_any(f"/{path}", patterns)

    def _add_rules(self, folder: str, touched: str | None) -> None:
        """Add the rules of a `.claude` folder: those without paths, and those that match."""
        owner = parent(folder) if folder != USER else "."
        for path in self.tree.files_below(f"{folder}/rules"):
            data = self.tree.read(path) if path.endswith(".md") else None
            if data is None:
                continue
            rule = split_front_matter(decode(data))
            patterns = patterns_of(rule.fields.get("paths"))
            if not patterns:
                self._add_file(path, "a rule without paths always applies")
            elif touched and matches_any(_make_relative(touched, owner), patterns):
                self.loading.add(path, strip_block_comments(rule.body), f"{touched} matches paths")
            elif touched is None:
                self.loading.ignore(path, "waits until a file that matches its paths is read")

    def _added_folders(self) -> tuple[str, ...]:
        environment = self.situation.settings.get("env")
        enabled = isinstance(environment, dict) and environment.get(ADDED_FOLDERS_SWITCH) == "1"
        folders = patterns_of(self.situation.settings.get("add_dir"))
        if not enabled:
            for folder in folders:
                self.loading.ignore(join(folder, "CLAUDE.md"), f"{ADDED_FOLDERS_SWITCH} is not 1")
        return folders if enabled else ()

    def _add_memory(self) -> None:
        """Add the first lines of the project's memory, where the project's name is known."""
        project = self.situation.settings.get("memory_project")
        path = f"{USER}/projects/{project}/memory/MEMORY.md"
        data = self.tree.read(path) if isinstance(project, str) else None
        if data is not None:
            lines = decode(data).splitlines(keepends=True)
            cut = f"cut after {MEMORY_LINES} of {len(lines)} lines"
            text = "".join(lines[:MEMORY_LINES])
            self.loading.add(
                path, text, "the client's own notes", cut * (len(lines) > MEMORY_LINES)
            )


def _make_relative(path: str, folder: str) -> str:
    return path if folder == "." else path.removeprefix(f"{folder}/")
