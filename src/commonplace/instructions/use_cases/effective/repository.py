"""Rule files of a repository as rules that may be in effect for a path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

from commonplace.instructions.adapters.entries import entry_of
from commonplace.instructions.adapters.places import RULE_FOLDERS, place_of
from commonplace.instructions.adapters.reading import FoundRule, read_rule_file
from commonplace.instructions.engine.effective.rule import (
    EffectiveCandidate,
    ScopeLevel,
    literal_folder,
)
from commonplace.instructions.engine.hashing import normalise_body
from commonplace.instructions.engine.scope.rule_scope import RuleScope
from commonplace.instructions.model import RuleOrigin
from commonplace.instructions.rulefiles.formats import find_format
from commonplace.instructions.rulefiles.imports import (
    imported_paths,
    resolve,
    strip_block_comments,
)
from commonplace.instructions.rulefiles.situation import (
    RuleTree,
    folders_between,
    join,
    parent,
    read_text,
)
from commonplace.kernel.lru import LruCache

MOST_FILES = 2_000
KEPT_CHARS = 8_000_000  # of texts in a cache
IMPORT_HOPS = 5
IMPORTING = ("CLAUDE.md", "CLAUDE.local.md", "GEMINI.md")


def find_rule_files(tree: RuleTree, paths: Sequence[str]) -> tuple[str, ...]:
    """List the rule files that can apply to paths: those of the folders on the way to them."""
    folders = dict.fromkeys(
        folder for path in (paths or (".",)) for folder in folders_between(".", parent(path))
    )
    found: dict[str, None] = {}
    for folder in folders:
        for path in _files_of(tree, folder):
            if find_format(path) is not None:
                found[path] = None
            if len(found) >= MOST_FILES:
                return tuple(found)
    return tuple(found)


def _files_of(tree: RuleTree, folder: str) -> Iterator[str]:
    names = set(tree.names(folder))
    for name in sorted(names):
        path = join(folder, name)
        if find_format(path) is not None:
            yield path
    for rule_folder, parts in RULE_FOLDERS:
        if rule_folder not in names:
            continue
        own = join(folder, rule_folder)
        for path in (join(own, name) for name in tree.names(own)):
            if find_format(path) is not None:
                yield path
        for part in parts:
            yield from tree.files_below(join(own, part))
        if not parts:
            yield from tree.files_below(own)
    if ".github" in names:
        yield join(folder, ".github/copilot-instructions.md")


RuleFileCache = LruCache[tuple[str, ...], tuple[EffectiveCandidate, ...]]


def make_cache() -> RuleFileCache:
    """Make a cache of candidates, which also keep what was read of their texts."""
    return LruCache(
        MOST_FILES,
        max_size=KEPT_CHARS,
        size_of=lambda rules: sum(len(rule.text) for rule in rules),
    )


def repository_candidates(
    tree: RuleTree, paths: Sequence[str], cache: RuleFileCache | None = None
) -> list[EffectiveCandidate]:
    """Read the rules that can apply to paths; imports are followed inside the repository.

    A file whose content is in the cache is not parsed again.
    """
    known = make_cache() if cache is None else cache
    candidates: dict[str, EffectiveCandidate] = {}
    for path in find_rule_files(tree, paths):
        data = tree.read(path)
        if data is None:
            continue
        key = (path, blake2b(data, digest_size=16).hexdigest())
        rules = known.get(key)
        if rules is None:
            rules = tuple(_read_candidates(path, data))
            known.put(key, rules)
        for rule in rules:
            if not _has_imports_only(rule.text):
                candidates.setdefault(rule.key, rule)
            if path.rpartition("/")[2] in IMPORTING:
                for imported in _follow_imports(tree, path, rule.text, rule, {path}, known):
                    candidates.setdefault(imported.key, imported)
    return list(candidates.values())


def _read_candidates(path: str, data: bytes) -> Iterator[EffectiveCandidate]:
    for number, found in enumerate(read_rule_file(path, data).rules):
        key = path if not number else f"{path}:{found.line}"
        yield _make_candidate(key, path, found)


def _make_candidate(key: str, path: str, found: FoundRule) -> EffectiveCandidate:
    rule = found.rule
    scope = RuleScope.of(entry_of(rule, "rule", RuleOrigin(path, found.line)))
    owner = place_of(path).owner
    folder = literal_folder(scope.includes) or ("" if owner == "." else owner)
    level = ScopeLevel.DIRECTORY if folder else ScopeLevel.WORKSPACE
    if path.endswith("CLAUDE.local.md"):
        level = ScopeLevel.USER
    return EffectiveCandidate(
        key,
        key,
        rule.title,
        strip_block_comments(rule.text),
        scope=scope,
        level=level,
        folder=folder,
        description=rule.description,
    )


def _has_imports_only(text: str) -> bool:
    return all(line.lstrip().startswith("@") for line in text.splitlines() if line.strip())


def _follow_imports(
    tree: RuleTree,
    importer: str,
    text: str,
    rule: EffectiveCandidate,
    visited: set[str],
    cache: RuleFileCache,
    hops: int = 1,
) -> Iterable[EffectiveCandidate]:
    """Yield the imported files, each once."""
    if hops > IMPORT_HOPS:
        return
    for written in imported_paths(text):
        target = resolve(importer, written.rstrip(".,;:!?)\"'"))
        if target in visited or len(visited) > MOST_FILES:
            continue
        visited.add(target or "")
        imported = read_text(tree, target) if target and target[0] not in "~/" else None
        if target is None or imported is None:
            continue
        key = (rule.key, rule.title, rule.folder, target, imported)
        known = cache.get(key)
        if known is None:
            known = (_make_imported(target, imported, rule),)
            cache.put(key, known)
        yield from known
        yield from _follow_imports(tree, target, known[0].text, rule, visited, cache, hops + 1)


def _make_imported(path: str, text: str, rule: EffectiveCandidate) -> EffectiveCandidate:
    return EffectiveCandidate(
        path,
        path,
        f"{rule.title}: {path}",
        normalise_body(strip_block_comments(text)),
        scope=rule.scope,
        level=rule.level,
        folder=rule.folder,
    )
