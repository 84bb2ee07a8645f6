"""Keep the rule files of a repository and the catalogue in step, both ways.

Each side is compared with what it was after the last synchronisation. Both hashes are kept, since
a file may be unable to say all that the catalogue knows of a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from commonplace.instructions.adapters.discovery import ExaminedFile, examine
from commonplace.instructions.adapters.entries import kept_of, rule_of
from commonplace.instructions.adapters.losses import FieldLoss
from commonplace.instructions.adapters.reading import NO_TEXT, FoundRule, read_rule_file
from commonplace.instructions.engine.mirror import MirrorPlan, Side, plan_mirror
from commonplace.instructions.errors import CONFIRMATION_REQUIRED
from commonplace.instructions.model import RuleOrigin
from commonplace.instructions.rulefiles.formats import find_format
from commonplace.instructions.use_cases.rule_files.importing import (
    CatalogueRules,
    make_origin,
    origin_key,
)
from commonplace.instructions.use_cases.rule_files.repository import (
    STATE_FOLDER,
    SYNC_STATE,
    RuleRepository,
)
from commonplace.instructions.use_cases.rule_files.rewriting import decode, rewrite
from commonplace.instructions.use_cases.rule_files.selecting import (
    RuleSelection,
    find_declined,
    is_from,
    load_selection,
)
from commonplace.kernel.errors import CommonplaceError

SAFE_REMOVALS = 10  # more need a confirmation if they are most of a side
STATE = f"{STATE_FOLDER}/{SYNC_STATE}"


@dataclass(frozen=True, slots=True)
class RuleSyncOptions:
    """How to synchronise. `catalogue` names the catalogue that a stored state belongs to."""

    repository: str
    catalogue: str
    prefer: Side | None = None
    allow_removals: bool = False
    dry_run: bool = False
    selection: RuleSelection | None = None
    """Rules to write that no file has; None: the standing choice of the repository."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New paths of files that were renamed since the last synchronisation."""


@dataclass(slots=True)
class RuleSyncReport:
    """What a synchronisation did. Names are paths, with `#id` for a section of a file."""

    to_catalogue: list[str] = field(default_factory=list)
    to_files: list[str] = field(default_factory=list)
    removed_from_catalogue: list[str] = field(default_factory=list)
    removed_from_files: list[str] = field(default_factory=list)
    conflicts: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    losses: list[FieldLoss] = field(default_factory=list)
    only_in_catalogue: list[str] = field(default_factory=list)
    declined: list[str] = field(default_factory=list)
    """Rules of the catalogue whose file was deleted here; they stay in the catalogue."""
    proposed: list[str] = field(default_factory=list)
    """Changes of files that the catalogue takes over when somebody approves them."""
    renamed: dict[str, str] = field(default_factory=dict)
    """New paths of files that were renamed, by their old ones."""
    in_step: int = 0


@dataclass(frozen=True, slots=True)
class SyncedRule:
    """A rule in a file, and the one of the catalogue that it belongs to, if any."""

    name: str
    file: ExaminedFile
    found: FoundRule
    origin: RuleOrigin
    id: str | None


@dataclass(frozen=True, slots=True)
class SyncComparison:
    """Both sides, linked by name, and the plan that brings them into step."""

    rules: Mapping[str, SyncedRule]
    ids: Mapping[str, str]
    """The catalogue's rule of each name; also of files that are gone."""
    plan: MirrorPlan
    problems: Mapping[str, str]
    missing: Mapping[str, tuple[str, ...]]
    """Rules without a file that are to be written, by client."""
    declined: tuple[str, ...] = ()
    unseen: Mapping[str, str] = field(default_factory=dict)
    """Rules whose file is there and cannot be read, or was not searched; they stay as they are."""


def compare_sides(
    catalogue: CatalogueRules, repository: RuleRepository, options: RuleSyncOptions
) -> SyncComparison:
    """Compare files and catalogue with their last common state.

    Raises CONFIRMATION_REQUIRED if most of a side would be removed.
    """
    state = load_common_state(repository, options)
    rules, problems = _find_rules(catalogue, repository, options, state)
    ids = {name: entry["id"] for name, entry in state.items()}
    ids |= {name: rule.id for name, rule in rules.items() if rule.id is not None}
    unseen = _find_unseen(repository, rules, ids, problems)
    ids = {name: id_ for name, id_ in ids.items() if name not in unseen}
    base, files, stored = {}, {}, {}
    for name in {*rules, *ids}:
        known = state.get(name)
        rule, id_ = rules.get(name), ids.get(name)
        files_hash = rule.found.rule.hash if rule else None
        stored_hash = catalogue.hash_of(id_) if id_ and id_ in catalogue.documents else None
        common = known["file"] if known else _last_import(catalogue, rule, id_)
        if common is not None:
            base[name] = common
        if files_hash is not None:
            files[name] = files_hash
        if stored_hash is not None:
            # A hash that has not changed since the last time stands for the common state, and so
            # does a file that an export would write again as it is.
            same = known["catalogue"] == stored_hash if known else _is_written(catalogue, rule, id_)
            stored[name] = str(common) if same else stored_hash
    present = {rule.id for rule in rules.values()}
    for name in [name for name in ids if name not in rules]:
        document = catalogue.documents.get(ids[name])
        # Another file has the rule, or it did not come from here: a deleted file removes nothing.
        if ids[name] in present or (
            document is not None and not is_from(document, options.repository)
        ):
            del ids[name]
            base.pop(name, None)
            stored.pop(name, None)
    plan = plan_mirror(base, files, stored, options.prefer)
    if not options.allow_removals:
        _check_removals("catalogue", len(plan.removed_from_database), len(stored))
        _check_removals("files", len(plan.removed_from_folder), len(files))
    linked = {*ids.values(), *unseen.values()}
    missing, declined = _find_missing(catalogue, repository, options, linked)
    if options.selection is not None:
        problems |= options.selection.find_refused(catalogue)
    return SyncComparison(rules, ids, plan, problems, missing, declined, unseen)


def _find_unseen(
    repository: RuleRepository,
    rules: Mapping[str, SyncedRule],
    ids: Mapping[str, str],
    problems: dict[str, str],
) -> dict[str, str]:
    """Return the known rules that no file showed although theirs is not gone, and say so."""
    read = {rule.file.path for rule in rules.values()}
    unseen = {}
    for name in ids.keys() - rules.keys():
        path = name.partition("#")[0]
        if not repository.covers(path):
            unseen[name] = ids[name]
        elif path not in read and not repository.is_gone(path) and not _is_blank(repository, path):
            unseen[name] = ids[name]
            problems.setdefault(path, "it is there, but cannot be read as a rule file")
    return unseen


def _is_blank(repository: RuleRepository, path: str) -> bool:
    """Tell whether somebody emptied a rule file."""
    data = repository.read(path)
    if data is None or find_format(path) is None:
        return False
    return read_rule_file(path, data).problem == NO_TEXT


def _find_missing(
    catalogue: CatalogueRules,
    repository: RuleRepository,
    options: RuleSyncOptions,
    linked: set[str],
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the selected rules without a file by client, and those whose file was deleted."""
    selection = options.selection or load_selection(repository)
    known = catalogue.documents.keys() - linked
    declined = {*find_declined(repository)} & known
    ids = selection.find(catalogue, options.repository, linked | (declined - {*selection.ids}))
    missing = dict.fromkeys(sorted(selection.clients), ids) if ids else {}
    return missing, tuple(sorted(declined - {*ids}))


def load_common_state(
    repository: RuleRepository, options: RuleSyncOptions
) -> dict[str, dict[str, str]]:
    """Return the state of the last synchronisation; empty with another catalogue."""
    state = repository.load_state(STATE)
    entries = state.get("rules")
    if state.get("catalogue") != options.catalogue or not isinstance(entries, dict):
        return {}
    return {
        options.renamed.get(name, name): entry
        for name, entry in entries.items()
        if isinstance(entry, dict)
        and all(isinstance(entry.get(key), str) for key in ("id", "file", "catalogue"))
    }


def _find_rules(
    catalogue: CatalogueRules,
    repository: RuleRepository,
    options: RuleSyncOptions,
    state: Mapping[str, Mapping[str, str]],
) -> tuple[dict[str, SyncedRule], dict[str, str]]:
    """Return the rules of all files by name, and the files that cannot be read."""
    rules: dict[str, SyncedRule] = {}
    problems: dict[str, str] = {}
    taken: set[str] = set()
    for file in examine(repository.tree, repository.survey().files):
        if file.reading is None:
            continue
        if file.reading.problem and file.reading.problem != NO_TEXT:
            problems[file.path] = file.reading.problem
        for found in file.reading.rules:
            shared = found.id is not None and not found.rule.dialect
            name = f"{file.path}#{found.id}" if shared else file.path
            origin = make_origin(file, file.reading.client, found, options.repository)
            id_ = _link(catalogue, found, origin, state.get(name), taken)
            rules[name] = SyncedRule(name, file, found, origin, id_)
    return rules, problems


def _link(
    catalogue: CatalogueRules,
    found: FoundRule,
    origin: RuleOrigin,
    known: Mapping[str, str] | None,
    taken: set[str],
) -> str | None:
    """Return the catalogue's rule that a rule of a file belongs to.

    A rule may have several files: the one it came from, and exports that carry its marker.
    """
    if known is not None:
        return known["id"]
    for id_ in catalogue.by_origin.get(origin_key(origin), ()):
        if id_ not in taken and found.id in (None, id_):
            taken.add(id_)
            return id_
    return found.id if found.id in catalogue.documents else None


def _last_import(catalogue: CatalogueRules, rule: SyncedRule | None, id_: str | None) -> str | None:
    """Return the hash of a rule as it was imported or exported, where no state says it."""
    if id_ is None or rule is None or id_ not in catalogue.documents:
        return None
    base = kept_of(catalogue.documents[id_]).get("base")
    if rule.found.id is not None and rule.found.intact:
        return rule.found.rule.hash  # as it was exported: only the catalogue can have changed
    return base if isinstance(base, str) else None


def _is_written(catalogue: CatalogueRules, rule: SyncedRule | None, id_: str | None) -> bool:
    """Tell whether a file is what an export of the catalogue's rule says in it."""
    if rule is None or id_ is None or rule.found.id is None or not rule.found.intact:
        return False
    content, stored = decode(rule.file.data), rule_of(catalogue.documents[id_])
    return rewrite(rule.file.path, content, rule.found, stored) == content


def _check_removals(side: str, removals: int, present: int) -> None:
    if removals > SAFE_REMOVALS and removals * 2 > present:
        raise CommonplaceError(
            CONFIRMATION_REQUIRED,
            f"Synchronising would remove {removals} of {present} rules from the {side}.",
            hint="If that is meant, repeat the command with --allow-removals.",
            details={"side": side, "removals": removals, "present": present},
        )
