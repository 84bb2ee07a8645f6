"""Carry out the synchronisation of rule files and catalogue."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from commonplace.instructions.adapters.entries import entry_of, rule_of
from commonplace.instructions.adapters.losses import compare_rules
from commonplace.instructions.adapters.marker import mark_section
from commonplace.instructions.adapters.naming import candidate_id, numbered
from commonplace.instructions.adapters.rule import PortableRule
from commonplace.instructions.adapters.writing import TARGETS, compose_file
from commonplace.instructions.model import RuleOrigin
from commonplace.instructions.rulefiles.formats import find_format
from commonplace.instructions.use_cases.importing import EntryImportOptions, import_entries
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.removing import RemovalOptions, remove
from commonplace.instructions.use_cases.rule_files.exporting import (
    REFUSED,
    ExportedFile,
    RuleExportOptions,
    export_rules,
)
from commonplace.instructions.use_cases.rule_files.importing import (
    CatalogueRules,
    origin_key,
    with_extensions,
)
from commonplace.instructions.use_cases.rule_files.policy import (
    find_hidden_text,
    is_blocked,
)
from commonplace.instructions.use_cases.rule_files.renaming import (
    find_renamed,
    move_origins,
    renamed_paths,
    write_origins,
)
from commonplace.instructions.use_cases.rule_files.repository import STATE_FOLDER, RuleRepository
from commonplace.instructions.use_cases.rule_files.rewriting import (
    decode,
    encode_like,
    read_found,
    remove_rule,
    rewrite,
    take_over,
)
from commonplace.instructions.use_cases.rule_files.selecting import note_declined, save_selection
from commonplace.instructions.use_cases.rule_files.syncing import (
    STATE,
    RuleSyncOptions,
    RuleSyncReport,
    SyncComparison,
    SyncedRule,
    compare_sides,
    load_common_state,
)
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.json_types import JsonObject

ROUNDS = 3  # of comparing and copying, while others change files


def synchronise(
    parts: CatalogueParts,
    caller: AuthContext,
    repository: RuleRepository,
    options: RuleSyncOptions,
) -> RuleSyncReport:
    """Bring files and catalogue into step. Raises CONFIRMATION_REQUIRED."""
    report = RuleSyncReport()
    selection = options.selection
    if selection is not None and not selection.ids and not options.dry_run:
        save_selection(repository, selection)
    catalogue = CatalogueRules.read(parts)
    moves = find_renamed(catalogue, repository, options.repository)
    report.renamed = renamed_paths(catalogue, moves)
    options = replace(options, renamed=report.renamed)
    if not options.dry_run:
        write_origins(parts, caller, catalogue, moves)
    for _ in range(ROUNDS):
        catalogue = move_origins(CatalogueRules.read(parts), moves)
        comparison = compare_sides(catalogue, repository, options)
        run = _RuleSync(parts, caller, repository, options, catalogue, comparison)
        run.report.problems.update(comparison.problems)
        run.apply()
        _add(report, run.report)
        if options.dry_run or not (comparison.plan.has_work or comparison.missing):
            break
    return report


def _add(total: RuleSyncReport, later: RuleSyncReport) -> None:
    for name in ("to_catalogue", "to_files", "removed_from_catalogue", "removed_from_files"):
        known = getattr(total, name)
        known += [item for item in getattr(later, name) if item not in known]
    total.proposed = later.proposed
    total.conflicts, total.problems = later.conflicts, {**total.problems, **later.problems}
    total.losses += later.losses
    total.only_in_catalogue, total.in_step = later.only_in_catalogue, later.in_step
    total.declined = later.declined


@dataclass(slots=True)
class _RuleSync:
    """One round of a synchronisation."""

    parts: CatalogueParts
    caller: AuthContext
    repository: RuleRepository
    options: RuleSyncOptions
    catalogue: CatalogueRules
    comparison: SyncComparison
    report: RuleSyncReport = field(default_factory=RuleSyncReport)
    _contents: dict[str, bytes] = field(default_factory=dict)  # of files that were rewritten

    def apply(self) -> None:
        plan, report = self.comparison.plan, self.report
        linked = {*self.comparison.ids.values(), *self.comparison.unseen.values()}
        report.declined = list(self.comparison.declined)
        coming = {id_ for ids in self.comparison.missing.values() for id_ in ids}
        report.only_in_catalogue = [
            id_
            for id_, document in self.catalogue.documents.items()
            if id_ not in linked | coming | {*report.declined}
            and self._is_ours(RuleOrigin.of(document))
        ]
        report.conflicts = {
            conflict.name: conflict.describe().replace("database", "catalogue")
            for conflict in plan.conflicts
        }
        report.in_step = len(plan.same)
        if self.options.dry_run:
            report.to_catalogue = list(plan.to_database)
            report.to_files = list(plan.to_folder)
            report.removed_from_catalogue = list(plan.removed_from_database)
            report.removed_from_files = list(plan.removed_from_folder)
            self._write_missing()
            return
        self._update_catalogue()
        for name in plan.to_folder:
            self._update_file(name)
        for name in plan.removed_from_folder:
            self._remove_from_file(name)
        for name in report.conflicts:
            self._keep_conflict(name)
        self._write_missing()
        note_declined(self.repository)
        self._save_state()

    def _write_missing(self) -> None:
        """Write the selected rules that have no file, with markers; people's files stay."""
        taken = {*self.repository.survey().files}
        for client, ids in self.comparison.missing.items():
            options = RuleExportOptions(client, ids, dry_run=self.options.dry_run)
            export = export_rules(self.catalogue, self.repository, options, taken)
            self.report.losses += export.losses
            shared = TARGETS[client].shared
            for file in export.files:
                names = [f"{file.path}#{id_}" for id_ in file.ids]
                if not shared or not file.path.endswith(shared):
                    names = [file.path]
                if file in export.refused:
                    self.report.problems |= dict.fromkeys(names, _explain(file, client))
                else:
                    self.report.to_files += names

    def _is_ours(self, origin: RuleOrigin | None) -> bool:
        return origin is None or origin.repository == self.options.repository

    def _update_catalogue(self) -> None:
        names: list[str] = []
        entries: list[JsonObject] = []
        changed: dict[str, str] = {}
        taken = {*self.catalogue.documents}
        for name in self.comparison.plan.to_database:
            rule = self.comparison.rules[name]
            findings = find_hidden_text(rule.found.rule.text)
            if is_blocked(findings, self.parts.governance.hidden_text):
                places = ", ".join(f"line {finding.line}: {finding.kind}" for finding in findings)
                self.report.problems[name] = f"it hides text, and the policy refuses that: {places}"
                continue
            id_ = self.comparison.ids.get(name) or self._new_id(rule, taken)
            taken.add(id_)
            entry = self._entry(rule, id_)
            if id_ in changed:
                if changed[id_] != entry["body"]:
                    self.report.conflicts[name] = "another file of the same rule changed too"
                continue
            changed[id_] = entry["body"]
            names.append(name)
            entries.append(entry)
        if entries:
            done = import_entries(self.parts, self.caller, entries, EntryImportOptions("merge"))
            for failure in done.failures:
                self.report.problems[names[failure.index]] = f"{failure.error}: {failure.hint}"
            self.report.proposed = [names[index] for index in sorted(done.proposed)]
        unchanged = {*self.report.problems, *self.report.proposed}
        self.report.to_catalogue = [name for name in names if name not in unchanged]
        gone = self.comparison.plan.removed_from_database
        removed = {self.comparison.ids[name]: name for name in gone if name in self.comparison.ids}
        if removed:
            options = RemovalOptions(confirm=True, missing_ok=True)
            outcome = remove(self.parts, self.caller, list(removed), options)
            self.report.removed_from_catalogue = [removed[id_] for id_ in outcome.removed]

    def _new_id(self, rule: SyncedRule, taken: set[str]) -> str:
        return numbered(candidate_id(rule.file.path, rule.found.rule.title), taken)

    def _entry(self, rule: SyncedRule, id_: str) -> JsonObject:
        document = self.catalogue.documents.get(id_)
        if document is None:
            return entry_of(rule.found.rule, id_, rule.origin)
        stored, path = rule_of(document), rule.file.path
        content = decode(rule.file.data)
        before = read_found(path, rewrite(path, content, rule.found, stored), rule.found)
        changed = take_over(stored, before or stored, rule.found.rule)
        origin = RuleOrigin.of(document)
        if origin is not None and origin_key(origin) != origin_key(rule.origin):
            kept = origin  # a copy changed: the rule still comes from where it came from
        else:
            kept = rule.origin
        return with_extensions(entry_of(changed, id_, kept), self.catalogue, True)

    def _update_file(self, name: str) -> None:
        """Write the catalogue's rule into its file, unless the file changed meanwhile."""
        wanted = rule_of(self.catalogue.documents[self.comparison.ids[name]])
        known = self.comparison.rules.get(name)
        path = name.partition("#")[0]
        if known is None:
            content = _new_content(name, wanted)
            if self.repository.read(path) is not None:
                self.report.problems[name] = "changed while it was synchronised"
                return
        else:
            content = rewrite(path, self._current(known), known.found, wanted)
        if not self._write(name, content):
            return
        self.report.to_files.append(name)
        again = read_found(path, content, known.found) if known else None
        if again is not None:
            client = known.origin.client if known else ""
            self.report.losses += compare_rules(self.comparison.ids[name], wanted, again, client)

    def _current(self, rule: SyncedRule) -> str:
        return decode(self._contents.get(rule.file.path) or rule.file.data)

    def _write(self, name: str, content: str) -> bool:
        """Write or delete a file; a version that a person changed is kept beside it."""
        path = name.partition("#")[0]
        known = self.comparison.rules.get(name)
        present = self.repository.read(path)
        before = self._contents.get(path, known.file.data if known else None)
        if present != before:
            self.report.problems[name] = "changed while it was synchronised"
            return False
        data = encode_like(content, present)
        try:
            if present is not None and (self.options.prefer == "database" or not content.strip()):
                self.repository.keep("backup", path, present)
            if content.strip():
                self.repository.write(path, data)
            elif present is not None:
                self.repository.delete(path)
        except OSError as error:
            self.report.problems[name] = str(error.strerror or error)
            return False
        self._contents[path] = data if content.strip() else b""
        return True

    def _remove_from_file(self, name: str) -> None:
        known = self.comparison.rules[name]
        content = remove_rule(known.file.path, self._current(known), known.found)
        if self._write(name, content):
            self.report.removed_from_files.append(name)

    def _keep_conflict(self, name: str) -> None:
        """Put the catalogue's version beside the files, for a person to compare."""
        id_ = self.comparison.ids.get(name, "")
        document = self.catalogue.documents.get(id_)
        known = self.comparison.rules.get(name)
        if document is None:
            return
        wanted, path = rule_of(document), name.partition("#")[0]
        content = (
            rewrite(path, decode(known.file.data), known.found, wanted)
            if known
            else _new_content(name, wanted)
        )
        copy = f"{STATE_FOLDER}/conflicts/{path}"
        if self.repository.read(copy) != content.encode("utf-8", "replace"):
            try:
                self.repository.write(copy, content.encode("utf-8", "replace"))
            except OSError as error:
                self.report.problems[name] = str(error.strerror or error)

    def _save_state(self) -> None:
        """Record both sides as they are now, except where they are not in step."""
        known = load_common_state(self.repository, self.options)
        catalogue = CatalogueRules.read(self.parts)
        open_names = {*self.report.conflicts, *self.report.problems, *self.report.proposed}
        after = compare_sides(catalogue, self.repository, _lenient(self.options))
        present = after.rules.keys() | after.ids.keys() | after.unseen.keys()
        state = {name: entry for name, entry in known.items() if name in present}
        # What was in step before this round is the base of the next, also if one side changed now.
        for name in self.comparison.plan.same:
            self._record(state, self.comparison, self.catalogue, name)
        in_step = {*after.plan.same, *self._touched()} - open_names
        for name in in_step:
            self._record(state, after, catalogue, name)
        self.report.in_step = len(in_step)
        content = {"version": 1, "catalogue": self.options.catalogue, "rules": state}
        if state or known:
            self.repository.save_state(STATE, content)

    def _record(
        self,
        state: dict[str, dict[str, str]],
        comparison: SyncComparison,
        catalogue: CatalogueRules,
        name: str,
    ) -> None:
        rule, id_ = comparison.rules.get(name), comparison.ids.get(name)
        if rule is not None and id_ is not None and id_ in catalogue.documents:
            state[name] = {
                "id": id_,
                "file": rule.found.rule.hash,
                "catalogue": catalogue.hash_of(id_),
            }

    def _touched(self) -> set[str]:
        return {*self.report.to_catalogue, *self.report.to_files}


def _explain(file: ExportedFile, client: str) -> str:
    hint = f"commonplace rules export --to {client} --force keeps a copy"
    return f"{file.reason}; {hint}" if file.status != REFUSED else file.reason


def _lenient(options: RuleSyncOptions) -> RuleSyncOptions:
    return RuleSyncOptions(
        options.repository,
        options.catalogue,
        None,
        allow_removals=True,
        renamed=options.renamed,
    )


def _new_content(name: str, rule: PortableRule) -> str:
    path, _, id_ = name.partition("#")
    known = find_format(path)
    if id_:
        return mark_section(id_, f"{rule.text}\n")
    if known is not None and (known.globs or known.client == "skills"):
        return compose_file(rule, known.client, path)
    return f"{rule.text}\n"
