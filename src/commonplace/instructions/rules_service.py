"""Facade of rules: which are in effect for a path, and the rule files of repositories."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.instructions.engine.scope.repository_path import normalise_path
from commonplace.kernel.auth import LOCAL_TENANT, AuthContext
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.paths import working_in

if TYPE_CHECKING:
    from commonplace.instructions.clients.check import RuleReport
    from commonplace.instructions.engine.effective.outcome import EffectiveRules, RuleQuestion
    from commonplace.instructions.rulefiles.allowed import RuleFolders
    from commonplace.instructions.use_cases.effective.reader import EffectiveRulesReader
    from commonplace.instructions.use_cases.parts import CatalogueParts
    from commonplace.instructions.use_cases.rule_files.exporting import (
        RuleExportOptions,
        RuleExportReport,
    )
    from commonplace.instructions.use_cases.rule_files.importing import (
        RuleImportOptions,
        RuleImportReport,
    )
    from commonplace.instructions.use_cases.rule_files.syncing import (
        RuleSyncOptions,
        RuleSyncReport,
    )
    from commonplace.instructions.use_cases.search.meaning import CatalogueMeaning

MOST_PATHS = 200


class RulesService:
    """Rules for paths and rule files of repositories, as each caller sees the catalogue."""

    def __init__(
        self, parts_of: Callable[[AuthContext], CatalogueParts], meaning: CatalogueMeaning
    ) -> None:
        self._parts_of = parts_of
        self._meaning = meaning
        self._lock = threading.Lock()
        self._readers: dict[int, EffectiveRulesReader] = {}  # by the identity of the store

    def rules_for(
        self,
        caller: AuthContext,
        question: RuleQuestion,
        repo: str | None = None,
        folders: RuleFolders | None = None,
    ) -> tuple[EffectiveRules, RuleQuestion, str]:
        """Return the rules in effect, the question as it was understood, and the catalogue hash.

        User, teams and workspace come from the key and the settings where the question leaves
        them out. `repo` adds the rule files of a folder inside `folders` (by default those of the
        settings). Raises INVALID_RULE_PATH, REPOSITORY_NOT_ALLOWED.
        """
        parts = self._parts_of(caller)
        paths = normalise_paths(question.paths)
        identified = caller.label != LOCAL_TENANT and caller.tenant != LOCAL_TENANT
        understood = replace(
            question,
            paths=paths,
            user=question.user or (caller.label if identified else None),
            teams=question.teams or ((caller.tenant,) if identified else ()),
            workspace=question.workspace or parts.settings.workspace,
            drafts=question.drafts or parts.settings.serve_drafts,
        )
        tree = None
        if repo is not None:
            with working_in(caller.folder):
                tree = (folders or parts.folders).open(repo)
        rules, catalogue_hash = self._reader(parts).answer(understood, tree)
        return rules, understood, catalogue_hash

    def keep(self, caller: AuthContext) -> None:
        """Write the rules to the disk for hooks, and wait until that is done."""
        from commonplace.instructions.engine.effective.outcome import RuleQuestion

        self.rules_for(caller, RuleQuestion())
        self.finish_reading()

    def finish_reading(self) -> None:
        """Wait until the texts of the rules that were asked about are read."""
        for reader in self._readers.values():
            reader.finish_reading()

    def close(self) -> None:
        """Stop the threads of the readers."""
        for reader in self._readers.values():
            reader.close()

    def _reader(self, parts: CatalogueParts) -> EffectiveRulesReader:
        from commonplace.instructions.use_cases.effective.reader import EffectiveRulesReader

        with self._lock:
            reader = self._readers.get(id(parts.store))
            if reader is None:
                from commonplace.instructions.use_cases.effective.keeping import RuleKeeper

                keeper = RuleKeeper(parts.kept) if parts.kept is not None else None
                reader = EffectiveRulesReader(parts.store, self._meaning, keeper)
                self._readers[id(parts.store)] = reader
            return reader

    def import_files(
        self, caller: AuthContext, folder: Path, options: RuleImportOptions
    ) -> RuleImportReport:
        """Import every rule file below a folder. Raises INVALID_ARGUMENT."""
        from commonplace.instructions.use_cases.rule_files.renaming import import_with_renames
        from commonplace.instructions.use_cases.rule_files.repository import RuleRepository

        repository = RuleRepository.at(folder)
        return import_with_renames(self._parts_of(caller), caller, repository, options)

    def export_files(
        self, caller: AuthContext, folder: Path, options: RuleExportOptions
    ) -> RuleExportReport:
        """Write rules for a client below a folder. Raises INVALID_ARGUMENT."""
        from commonplace.instructions.use_cases.rule_files.exporting import export_rules
        from commonplace.instructions.use_cases.rule_files.importing import CatalogueRules
        from commonplace.instructions.use_cases.rule_files.repository import RuleRepository

        known = CatalogueRules.read(self._parts_of(caller))
        return export_rules(known, RuleRepository.at(folder), options)

    def sync_files(
        self, caller: AuthContext, folder: Path, options: RuleSyncOptions
    ) -> RuleSyncReport:
        """Keep the rule files of a folder and the catalogue in step, both ways.

        Raises INVALID_ARGUMENT and CONFIRMATION_REQUIRED.
        """
        from commonplace.instructions.use_cases.rule_files.applying import synchronise
        from commonplace.instructions.use_cases.rule_files.repository import RuleRepository

        return synchronise(self._parts_of(caller), caller, RuleRepository.at(folder), options)

    def check_files(
        self, caller: AuthContext, folder: Path, options: RuleSyncOptions
    ) -> RuleReport:
        """Check rule files, and whether they are in step with the catalogue."""
        from commonplace.instructions.use_cases.rule_files.checking import check_repository
        from commonplace.instructions.use_cases.rule_files.importing import CatalogueRules
        from commonplace.instructions.use_cases.rule_files.repository import RuleRepository

        known = CatalogueRules.read(self._parts_of(caller))
        return check_repository(RuleRepository.at(folder), known, options)


def normalise_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Return distinct repository paths. Raises INVALID_RULE_PATH, INVALID_ARGUMENT."""
    if len(paths) > MOST_PATHS:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{len(paths)} paths are more than {MOST_PATHS}.",
            hint="Ask for fewer files at once.",
            details={"field": "paths"},
        )
    return tuple(dict.fromkeys(normalise_path(path, "paths") for path in paths))
