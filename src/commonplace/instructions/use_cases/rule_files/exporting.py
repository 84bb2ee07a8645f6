"""Write rules of the catalogue as a client's files, and say what they lose.

A file that a person wrote, or edited after it was exported, is never changed without `force`, and
then a copy is kept.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from commonplace.instructions.adapters.entries import rule_of
from commonplace.instructions.adapters.losses import BOOKKEEPING, FieldLoss, find_losses
from commonplace.instructions.adapters.marker import (
    MarkedText,
    mark_section,
    read_file_marker,
    read_sections,
    replace_sections,
)
from commonplace.instructions.adapters.reading import MENTIONS, read_rule_file
from commonplace.instructions.adapters.writing import (
    TARGETS,
    ClientExport,
    ExportedRule,
    join_sections,
    write_for_client,
)
from commonplace.instructions.model import RuleOrigin
from commonplace.instructions.use_cases.rule_files.importing import CatalogueRules
from commonplace.instructions.use_cases.rule_files.limits import find_limits
from commonplace.instructions.use_cases.rule_files.repository import (
    LOCK_FILE,
    RuleRepository,
    UnsafePath,
)
from commonplace.instructions.use_cases.rule_files.rewriting import has_windows_line_ends
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json

WRITTEN, SAME, DELETED = "written", "unchanged", "deleted"
FOREIGN, EDITED, REFUSED = "foreign", "edited", "refused"


@dataclass(frozen=True, slots=True)
class RuleExportOptions:
    """Which rules to export, and whether files of people may be replaced."""

    client: str
    ids: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    repository: str = ""
    force: bool = False
    dry_run: bool = False

    @property
    def partial(self) -> bool:
        """Tell whether only some rules are exported."""
        return bool(self.ids or self.categories)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """What became of a file: written, unchanged, deleted, or left alone and why."""

    path: str
    status: str
    ids: tuple[str, ...] = ()
    reason: str = ""
    backup: str = ""


@dataclass(frozen=True, slots=True)
class RuleExportReport:
    """The files of an export, and everything that does not come back from them."""

    client: str
    files: tuple[ExportedFile, ...]
    losses: tuple[FieldLoss, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Rules that were not exported at all, and why."""
    limits: tuple[str, ...] = ()
    catalogue_only: tuple[str, ...] = BOOKKEEPING

    @property
    def refused(self) -> tuple[ExportedFile, ...]:
        """The files that were left alone."""
        return tuple(file for file in self.files if file.status in (FOREIGN, EDITED, REFUSED))


def export_rules(
    catalogue: CatalogueRules,
    repository: RuleRepository,
    options: RuleExportOptions,
    taken: Container[str] = (),
) -> RuleExportReport:
    """Write the rules for one client below a folder. Raises INVALID_ARGUMENT.

    `taken` are paths of other rules, which get a number if a rule would have the same.
    """
    if options.client not in TARGETS:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"'{options.client}' is not a client that rules can be written for.",
            hint=f"Use {', '.join(TARGETS)}.",
        )
    rules, left_out = select_rules(catalogue, options)
    export = write_for_client(options.client, rules, taken)
    losses = find_losses(export, rules, catalogue.documents, options.client)
    writer = _Writer(repository, options, load_lock(repository))
    writer.write(export)
    if not options.partial:
        writer.delete_stale(export)
    if not options.dry_run:
        writer.save_lock()
    return RuleExportReport(
        options.client,
        tuple(sorted(writer.files, key=lambda file: file.path)),
        tuple(losses),
        left_out,
        find_limits(export, options.client, repository),
    )


def select_rules(
    catalogue: CatalogueRules, options: RuleExportOptions
) -> tuple[list[ExportedRule], dict[str, str]]:
    """Return the rules to export, and why others are not."""
    rules: list[ExportedRule] = []
    left_out = dict.fromkeys(options.ids, "there is no such rule")
    for id_, document in catalogue.documents.items():
        if options.ids and id_ not in options.ids:
            continue
        left_out.pop(id_, None)
        if options.categories and not set(options.categories) & set(document["categories"]):
            continue
        reason = find_obstacle(document, named=id_ in options.ids)
        if reason:
            left_out[id_] = reason
            continue
        origin = RuleOrigin.of(document)
        rules.append(ExportedRule(id_, rule_of(document), origin.file if origin else ""))
    return rules, left_out


def find_obstacle(document: Mapping[str, Json], *, named: bool) -> str:
    """Say why a rule is not exported; empty if it is. A restricted one must be named."""
    if document.get("status") in ("draft", "review", "deprecated"):
        return f"its status is {document['status']}"
    if document.get("deprecatedBy"):
        return f"{document['deprecatedBy']} replaces it"
    if document.get("archivedAt"):
        return "it is archived"
    restricted = document.get("classification") == "restricted" and not named
    return "it is restricted: name it with --id" if restricted else ""


@dataclass(slots=True)
class _Writer:
    """Writes the files of an export where that is allowed."""

    repository: RuleRepository
    options: RuleExportOptions
    lock: Mapping[str, Json]
    """The files of earlier exports."""
    files: list[ExportedFile] = field(default_factory=list)

    def write(self, export: ClientExport) -> None:
        for path, content in export.files.items():
            marked = read_file_marker(content)
            self._write_file(path, content, (marked.id,) if marked else ())
        for path, sections in export.sections.items():
            self._write_sections(path, sections)

    def _write_file(self, path: str, content: str, ids: tuple[str, ...]) -> None:
        present = self._read(path)
        if present is None:
            self._put(path, content, ids)
            return
        marked = read_file_marker(present)
        if present == content:
            self.files.append(ExportedFile(path, SAME, ids))
        elif marked is not None and marked.intact:
            self._put(path, content, ids)
        elif _says_the_same(path, present, content):
            self.files.append(ExportedFile(path, SAME, ids, "the file says the same"))
        else:
            status = FOREIGN if marked is None and path not in self.lock else EDITED
            self._refuse(path, content, ids, status)

    def _write_sections(self, path: str, sections: Mapping[str, str]) -> None:
        ids = tuple(sections)
        present = self._read(path)
        if present is None:
            self._put(path, join_sections(sections), ids)
            return
        shared = read_sections(present)
        if self.options.partial:
            sections = _join_mentions(shared.sections, sections)
        kept = {
            section.id: present[slice(*section.span)]
            for section in shared.sections
            if section.id not in sections and not self._may_drop(section.id)
        }
        content = replace_sections(present, {**kept, **sections})
        if content == present:
            self.files.append(ExportedFile(path, SAME, ids))
        elif shared.sections and all(section.intact for section in shared.sections):
            self._put(path, content, ids)
        elif shared.sections:
            self._refuse(path, content, ids, EDITED)
        else:
            self._refuse(path, content, ids, FOREIGN)

    def _may_drop(self, id_: str) -> bool:
        """Tell whether a section of an earlier export may go: one of this kind of export."""
        mentions = self.options.client == "amp"
        return not self.options.partial and (id_ == MENTIONS) == mentions

    def _read(self, path: str) -> str | None:
        data = self.repository.read(path)
        if data is None:
            return None
        # Bytes that are not UTF-8 and line ends of Windows come back when the file is written.
        text = data.decode("utf-8", "surrogateescape")
        return text.replace("\r\n", "\n") if has_windows_line_ends(data) else text

    def _put(self, path: str, content: str, ids: tuple[str, ...], backup: str = "") -> None:
        try:
            if not self.options.dry_run:
                self.repository.write(path, _encode(content, self.repository.read(path)))
        except (UnsafePath, OSError) as error:
            reason = str(error) if isinstance(error, UnsafePath) else str(error.strerror)
            self.files.append(ExportedFile(path, REFUSED, ids, reason))
        else:
            self.files.append(ExportedFile(path, WRITTEN, ids, backup=backup))

    def _keep(self, path: str) -> str:
        """Keep a copy of a file, byte by byte."""
        return self.repository.keep("backup", path, self.repository.read(path) or b"")

    def _refuse(self, path: str, content: str, ids: tuple[str, ...], status: str) -> None:
        if not self.options.force:
            reason = "written by a person" if status == FOREIGN else "edited after it was exported"
            self.files.append(ExportedFile(path, status, ids, reason))
            return
        backup = ""
        if not self.options.dry_run:
            backup = self._keep(path)
        self._put(path, content, ids, backup)

    def delete_stale(self, export: ClientExport) -> None:
        """Delete files of an earlier export whose rule is gone, unless they were edited."""
        target = TARGETS[self.options.client]
        planned = {*export.files, *export.sections}
        for path in self.repository.survey().files:
            if path in planned or not _belongs(path, self.options.client):
                continue
            present = self._read(path)
            marked = read_file_marker(present) if present else None
            if present and target.shared and path.rpartition("/")[2] == target.shared:
                self._clear_sections(path, present)
            elif present and marked is not None:
                self._delete(path, (marked.id,), marked.intact)
            elif present and path in self.lock:
                self._delete(path, (), intact=False)

    def _clear_sections(self, path: str, present: str) -> None:
        shared = read_sections(present)
        ids = tuple(section.id for section in shared.sections if self._may_drop(section.id))
        if not ids:
            return
        intact = all(section.intact for section in shared.sections)
        rest = replace_sections(present, {})
        others = len(ids) < len(shared.sections)
        if (others or rest.strip()) and (intact or self.options.force):
            self._write_sections(path, {})
        else:
            self._delete(path, ids, intact)

    def _delete(self, path: str, ids: tuple[str, ...], intact: bool) -> None:
        if not intact and not self.options.force:
            self.files.append(
                ExportedFile(path, EDITED, ids, "its rule is gone, but it was edited")
            )
            return
        backup = ""
        try:
            if not self.options.dry_run:
                if not intact:
                    backup = self._keep(path)
                self.repository.delete(path)
        except OSError as error:
            self.files.append(ExportedFile(path, REFUSED, ids, str(error.strerror or error)))
        else:
            self.files.append(ExportedFile(path, DELETED, ids, "its rule is gone", backup))

    def save_lock(self) -> None:
        """Record what was written, so that a check without the catalogue finds drift."""
        files = {**self.lock}
        for file in self.files:
            if file.status in (WRITTEN, SAME):
                known = files.get(file.path)
                earlier = known.get("ids", ()) if self.options.partial and known else ()
                ids = sorted({*earlier, *file.ids})
                files[file.path] = {"client": self.options.client, "ids": ids}
            elif file.status == DELETED:
                files.pop(file.path, None)
        state = self.repository.load_state(LOCK_FILE)
        self.repository.save_state(LOCK_FILE, {**state, "version": 1, "files": files})


def _join_mentions(present: Iterable[MarkedText], sections: Mapping[str, str]) -> Mapping[str, str]:
    """Keep the files that an earlier export mentions, if only some rules are exported now."""
    earlier = next((section for section in present if section.id == MENTIONS), None)
    if earlier is None or MENTIONS not in sections:
        return sections
    now = read_sections(sections[MENTIONS]).sections[0]
    lines = sorted({*earlier.text.splitlines(), *now.text.splitlines()})
    return {**sections, MENTIONS: mark_section(MENTIONS, "".join(f"{line}\n" for line in lines))}


def load_lock(repository: RuleRepository) -> Mapping[str, Json]:
    """Return the files that exports wrote, with their clients and rules."""
    files = repository.load_state(LOCK_FILE).get("files")
    return files if isinstance(files, dict) else {}


def _belongs(path: str, client: str) -> bool:
    """Tell whether an export for a client may write a path."""
    target = TARGETS[client]
    folders = [folder for folder in (target.folder, target.skills) if folder]
    name = path.rpartition("/")[2]
    return any(path.startswith(f"{folder}/") for folder in folders) or (
        bool(target.shared) and (path == target.shared or (target.nested and name == target.shared))
    )


def _encode(content: str, present: bytes | None) -> bytes:
    try:
        data = content.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character in the text of a rule
        data = content.encode("utf-8", "replace")
    windows = present is not None and has_windows_line_ends(present)
    return data.replace(b"\n", b"\r\n") if windows else data


def _says_the_same(path: str, present: str, content: str) -> bool:
    """Tell whether a file of a person says what an export would."""
    mine = read_rule_file(path, content.encode("utf-8", "replace")).rules
    theirs = read_rule_file(path, present.encode("utf-8", "replace")).rules
    return [found.rule for found in mine] == [found.rule for found in theirs]
