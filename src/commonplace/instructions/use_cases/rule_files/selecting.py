"""Which rules of the catalogue a repository wants as files, and for which clients.

The choice is kept in the record of exports, which is committed, so that everybody's next
synchronisation brings what the catalogue gained since.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from commonplace.instructions.adapters.marker import read_file_marker, read_sections
from commonplace.instructions.adapters.writing import TARGETS
from commonplace.instructions.model import RuleOrigin
from commonplace.instructions.use_cases.rule_files.exporting import find_obstacle, load_lock
from commonplace.instructions.use_cases.rule_files.importing import CatalogueRules
from commonplace.instructions.use_cases.rule_files.repository import LOCK_FILE, RuleRepository
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json

ORGANISATION = "organisation"
_SCOPE_FIELDS = {"team": "teamIds", "workspace": "workspaceId", "user": "userId"}
_STORED = ("clients", "categories", "scopes")
_SHARED = tuple(target.shared for target in TARGETS.values() if target.shared)
DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """Rules that are written for some clients: those that meet every condition.

    `scopes` are `organisation`, `team=NAME`, `workspace=NAME` or `user=NAME`; without one, rules
    for everybody. Rules that came from another repository need an id or a category.
    """

    clients: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for client in self.clients:
            if client not in TARGETS:
                raise CommonplaceError(
                    INVALID_ARGUMENT,
                    f"'{client}' is not a client that rules can be written for.",
                    hint=f"Use {', '.join(TARGETS)}.",
                )
        for scope in self.scopes:
            kind, _, name = scope.partition("=")
            if scope != ORGANISATION and (kind not in _SCOPE_FIELDS or not name):
                raise CommonplaceError(
                    INVALID_ARGUMENT,
                    f"'{scope}' is not a scope.",
                    hint="Use organisation, team=NAME, workspace=NAME or user=NAME.",
                )
        if not self.clients and (self.ids or self.categories or self.scopes):
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "It is not said for which client rules are to be written.",
                hint="Add --to CLIENT.",
            )

    def find(
        self, catalogue: CatalogueRules, repository: str, excluded: Container[str]
    ) -> tuple[str, ...]:
        """Return the ids of the selected rules that may be written, in order."""
        return tuple(
            id_
            for id_, document in catalogue.documents.items()
            if id_ not in excluded
            and self._admits(id_, document, repository)
            and not find_obstacle(document, named=id_ in self.ids)
        )

    def find_refused(self, catalogue: CatalogueRules) -> dict[str, str]:
        """Return the named rules that cannot be written, each with the reason."""
        refused: dict[str, str] = {}
        for id_ in self.ids:
            document = catalogue.documents.get(id_)
            reason = (
                "there is no such rule" if document is None else find_obstacle(document, named=True)
            )
            if reason:
                refused[id_] = reason
        return refused

    def _admits(self, id_: str, document: Mapping[str, Json], repository: str) -> bool:
        if self.ids:
            return id_ in self.ids
        if self.categories:
            if not set(self.categories) & set(document["categories"]):
                return False
        elif not is_from(document, repository) and RuleOrigin.of(document) is not None:
            return False
        return not {*_scopes_of(document)}.isdisjoint(self.scopes or (ORGANISATION,))


def is_from(document: Mapping[str, Json], repository: str) -> bool:
    """Tell whether a rule came from a repository."""
    origin = RuleOrigin.of(document)
    return origin is not None and origin.repository == repository


def _scopes_of(document: Mapping[str, Json]) -> Iterator[str]:
    scoped = False
    for kind, field in _SCOPE_FIELDS.items():
        value = document.get(field) or ()
        for name in (value,) if isinstance(value, str) else value:
            scoped = True
            yield f"{kind}={name}"
    if not scoped:
        yield ORGANISATION


def load_selection(repository: RuleRepository) -> RuleSelection:
    """Return the standing choice of a repository; an unreadable one is none."""
    stored = repository.load_state(LOCK_FILE).get("sync")
    if not isinstance(stored, dict):
        return RuleSelection()
    try:
        values = [stored.get(name, []) for name in _STORED]
        clients, categories, scopes = (tuple(map(str, value)) for value in values)
        return RuleSelection(clients, (), categories, scopes)
    except (TypeError, CommonplaceError):
        return RuleSelection()


def save_selection(repository: RuleRepository, selection: RuleSelection) -> None:
    """Keep a choice for the next synchronisations; one without a client forgets it."""
    state = repository.load_state(LOCK_FILE)
    state.pop("sync", None)
    if selection.clients:
        state["sync"] = {
            name: list(getattr(selection, name)) for name in _STORED if getattr(selection, name)
        }
    if state:
        repository.save_state(LOCK_FILE, {"version": 1, "files": {}, **state})


def find_declined(repository: RuleRepository) -> dict[str, str]:
    """Return the rules whose exported file or section somebody deleted, with its path."""
    return {
        id_: path
        for path, entry in load_lock(repository).items()
        for id_ in _find_deleted(repository, path, entry)
    }


def _find_deleted(repository: RuleRepository, path: str, entry: Json) -> set[str]:
    ids = {str(id_) for id_ in entry.get("ids", ())} if isinstance(entry, dict) else set()
    data = repository.read(path)
    if data is None:
        return ids
    text = data.decode("utf-8", "replace")
    if read_file_marker(text) is not None or not path.endswith(_SHARED):
        return set()
    return ids - {section.id for section in read_sections(text).sections}


def note_declined(repository: RuleRepository) -> None:
    """Record that deleted exports are not wanted, so that checks do not miss them."""
    state = repository.load_state(LOCK_FILE)
    files = load_lock(repository)
    missing = {path for path in files if repository.read(path) is None}
    marked = {
        path: {**entry, DECLINED: True} if path in missing else entry
        for path, entry in files.items()
        if isinstance(entry, dict)
    }
    if marked != files:
        repository.save_state(LOCK_FILE, {**state, "files": marked})
