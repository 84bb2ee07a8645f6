"""Facade of rule files: one method per use case, caller first."""

from __future__ import annotations

from pathlib import Path

from commonplace.instructions.clients.check import RuleReport
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.rule_files.applying import synchronise
from commonplace.instructions.use_cases.rule_files.checking import check_repository
from commonplace.instructions.use_cases.rule_files.exporting import (
    RuleExportOptions,
    RuleExportReport,
    export_rules,
)
from commonplace.instructions.use_cases.rule_files.importing import (
    CatalogueRules,
    RuleImportOptions,
    RuleImportReport,
    import_rule_files,
)
from commonplace.instructions.use_cases.rule_files.repository import RuleRepository
from commonplace.instructions.use_cases.rule_files.syncing import (
    RuleSyncOptions,
    RuleSyncReport,
)
from commonplace.kernel.auth import AuthContext


class RuleFileService:
    """Rule files of repositories, and the catalogue they belong to."""

    def __init__(self, parts: CatalogueParts) -> None:
        self._parts = parts

    def import_files(
        self, caller: AuthContext, folder: Path, options: RuleImportOptions
    ) -> RuleImportReport:
        """Import every rule file below a folder. Raises INVALID_ARGUMENT."""
        return import_rule_files(self._parts, caller, RuleRepository.at(folder), options)

    def export(
        self, caller: AuthContext, folder: Path, options: RuleExportOptions
    ) -> RuleExportReport:
        """Write rules for a client below a folder. Raises INVALID_ARGUMENT."""
        return export_rules(CatalogueRules.read(self._parts), RuleRepository.at(folder), options)

    def sync(
        self,
        caller: AuthContext,
        folder: Path,
        options: RuleSyncOptions,
    ) -> RuleSyncReport:
        """Keep the rule files of a folder and the catalogue in step, both ways.

        Raises INVALID_ARGUMENT and CONFIRMATION_REQUIRED.
        """
        repository = RuleRepository.at(folder)
        return synchronise(self._parts, caller, repository, options)

    def check(self, caller: AuthContext, folder: Path, options: RuleSyncOptions) -> RuleReport:
        """Check rule files, and whether they are in step with the catalogue."""
        catalogue = CatalogueRules.read(self._parts)
        return check_repository(RuleRepository.at(folder), catalogue, options)
