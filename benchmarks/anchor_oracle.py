"""What git says of a range of lines: the verdicts that those of memory are compared with.

`git diff -w -M` decides whether a range was touched, and where its file is now. A touched range
with the same text in the new files is a block that moved, which hunks cannot say. Definitions are
read by `ast`, so nothing of the product takes part.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Span = tuple[int, int]
Definitions = Mapping[str, Sequence[Span]]
SURVIVING = 0.5  # of the lines: more of them left, and a text without its name has changed
TELLING_LINES = (
    2  # a text with fewer lines that are more than a keyword is not looked for elsewhere
)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass
class FileDiff:
    """What a diff says of one file: its new path, None if deleted, and its hunks."""

    new_path: str | None
    hunks: list[tuple[int, int, int]] = field(default_factory=list)  # old start, old and new count
    added: set[bytes] = field(default_factory=set)  # lines without white space

    def touches(self, span: Span) -> bool:
        first, last = span
        for start, removed, _ in self.hunks:
            if removed and start <= last and start + removed - 1 >= first:
                return True
            if not removed and first <= start < last:  # inserted after the line `start`
                return True
        return False

    def surviving(self, spans: Iterable[Span], lines: Sequence[bytes]) -> float:
        """Return the share of the lines of ranges, without empty ones, that are left in the file.

        A line that is removed and added elsewhere in it has moved, as `--color-moved=plain` says.
        """
        removed = {line for start, count, _ in self.hunks for line in range(start, start + count)}
        numbers = [n for first, last in spans for n in range(first, last + 1) if lines[n - 1]]
        left = [n for n in numbers if n not in removed or lines[n - 1] in self.added]
        return len(left) / len(numbers) if numbers else 0.0


class Commit:
    """The Python files of a commit."""

    def __init__(self, repository: Path, name: str) -> None:
        self.name = name
        listed = run_git(repository, "ls-tree", "-r", "-z", "--name-only", name)
        paths = [path for path in listed.decode().split("\0") if path.endswith(".py")]
        self.sources = {path: run_git(repository, "show", f"{name}:{path}") for path in paths}
        self.lines = {path: squeeze(source) for path, source in self.sources.items()}
        self.definitions = {path: read_definitions(source) for path, source in self.sources.items()}
        self.names = {path: read_names(source) for path, source in self.sources.items()}

    def text(self, path: str, spans: Sequence[Span]) -> list[bytes]:
        return [line for first, last in spans for line in self.lines[path][first - 1 : last]]


def run_git(repository: Path, *words: str) -> bytes:
    command = ["git", "-c", "core.quotePath=false", *words]
    return subprocess.run(command, cwd=repository, check=True, capture_output=True).stdout


def squeeze(source: bytes) -> list[bytes]:
    """Return the lines without the white space that `-w` ignores."""
    lines = [re.sub(rb"[ \t\r]", b"", line) for line in source.split(b"\n")]
    return lines[:-1] if lines and not lines[-1] else lines


def read_definitions(source: bytes) -> dict[str, list[Span]]:
    """Return the ranges of functions and classes with their decorators, by qualified name."""
    found: dict[str, list[Span]] = {}
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return found
    for name, node in _walk(tree, ""):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        last = node.end_lineno or first
        found.setdefault(name, []).append((first, last))
    return found


def read_names(source: bytes) -> set[str]:
    """Return the qualified names that a file defines or assigns."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set()
    names = {name for name, _ in _walk(tree, "")}
    scopes = [("", tree), *_walk(tree, "")]
    for above, scope in scopes:
        for child in _statements(scope):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            found = [target.id for target in targets if isinstance(target, ast.Name)]
            names.update(f"{above}.{name}" if above else name for name in found)
    return names


def _statements(scope: ast.AST) -> Iterator[ast.Assign | ast.AnnAssign]:
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.Assign | ast.AnnAssign):
            yield child
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from _statements(child)


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _walk(node: ast.AST, above: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            name = f"{above}.{child.name}" if above else child.name
            yield name, child
            yield from _walk(child, name)
        else:
            yield from _walk(child, above)


def read_diff(repository: Path, old: str, new: str) -> dict[str, FileDiff]:
    """Return what `git diff -w -M` says of each changed file, by its old path."""
    text = run_git(
        repository, "diff", "-w", "-M", "-U0", "--no-color", "--no-ext-diff", old, new
    ).decode("utf-8", "replace")
    files: dict[str, FileDiff] = {}
    for part in text.split("\ndiff --git ") if text else ():
        head, _, body = part.removeprefix("diff --git ").partition("\n@@")
        names = dict(re.findall(r"^(---|\+\+\+|rename from|rename to) (.*)$", head, re.MULTILINE))
        plain = re.match(r"a/(.*) b/\1$", head.split("\n")[0])
        before = names.get("rename from") or names.get("---", "").removeprefix("a/").rstrip("\t")
        after = names.get("rename to") or names.get("+++", "").removeprefix("b/").rstrip("\t")
        before = before or (plain[1] if plain else "")
        after = after or (plain[1] if plain else "")
        if "\nnew file mode" in head or before == "/dev/null":
            continue
        gone = "\ndeleted file mode" in head or after == "/dev/null"
        diff = files[before] = FileDiff(None if gone else after)
        for found in _HUNK.finditer(f"@@{body}" if body else ""):
            start, removed, _, added = (int(group) if group else 1 for group in found.groups())
            diff.hunks.append((start, removed, added))
        lines = body.encode().split(b"\n")
        diff.added.update(squeeze(b"\n".join(line[1:] for line in lines if line[:1] == b"+")))
    return files


def judge(
    old: Commit,
    new: Commit,
    diff: Mapping[str, FileDiff],
    path: str,
    spans: Sequence[Span],
    symbol: str | None,
) -> tuple[str, str]:
    """Return the state of a range by git, and how it was decided: by hunks, or by a moved block."""
    changed = diff.get(path)
    after = changed.new_path if changed is not None else path
    text = old.text(path, spans)
    if changed is None or (after is not None and not any(map(changed.touches, spans))):
        if symbol is None or after is None or after != path:
            return ("valid" if after == path else "moved"), "hunks"
        now = new.definitions[path].get(symbol)
        if now is None:  # the same lines below another name
            return "moved", "name"
        # Lines were added after the last one of a definition, which goes on in them.
        return ("valid", "hunks") if new.text(path, now) == text else ("changed", "grown")
    same_path = new.definitions.get(path, {})
    if symbol is not None and symbol in same_path:
        same = new.text(path, same_path[symbol]) == text
        return ("valid", "block") if same else ("changed", "hunks")
    if symbol is not None and symbol in new.names.get(path, ()):
        return "changed", "hunks"
    if symbol is None and path in new.lines and _has_block(new.lines[path], text):
        return "valid", "block"
    if _is_elsewhere(old, new, path, text, symbol):
        return "moved", "block"
    if after is not None and after != path:  # renamed, and touched there
        return "changed", "hunks"
    if symbol is None:
        return ("changed" if after is not None else "gone"), "hunks"
    survives = changed.surviving(spans, old.lines[path]) if after is not None else 0.0
    return ("changed" if survives > SURVIVING else "gone"), "hunks"


def _is_elsewhere(
    old: Commit, new: Commit, path: str, text: list[bytes], symbol: str | None
) -> bool:
    """Say whether a text is now in a place that did not have it before.

    If as many definitions of its own file have it as before, one of them has a new name.
    """
    copies = _count_copies(new, path, text)
    if symbol is not None and copies and copies >= _count_copies(old, path, text):
        return True
    if len({line for line in text if len(line) >= 4}) < TELLING_LINES:
        return False
    others = (other for other in new.lines if other != path)
    if symbol is None:
        return any(_has_block(new.lines[other], text) for other in others)
    return any(
        _count_copies(new, other, text) > _count_copies(old, other, text) for other in others
    )


def _count_copies(commit: Commit, path: str, text: list[bytes]) -> int:
    """Return how many definitions of a file have a text."""
    if text[0] not in commit.lines.get(path, ()):
        return 0
    definitions = commit.definitions.get(path, {}).values()
    return sum(commit.text(path, spans) == text for spans in definitions)


def _has_block(lines: Sequence[bytes], text: Sequence[bytes]) -> bool:
    starts = (at for at, line in enumerate(lines) if line == text[0])
    return any(list(lines[at : at + len(text)]) == list(text) for at in starts)


def is_comment_only(old: Commit, new: Commit, path: str, symbol: str) -> bool:
    """Say whether only comments of a definition differ, or empty lines and layout."""
    before = old.definitions.get(path, {}).get(symbol)
    after = new.definitions.get(path, {}).get(symbol)
    if not before or not after:
        return False
    return _code(old.sources[path], before) == _code(new.sources[path], after)


def _code(source: bytes, spans: Sequence[Span]) -> list[str] | None:
    lines = source.decode("utf-8", "replace").split("\n")
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    words: list[str] = []
    for first, last in spans:
        text = "\n".join(lines[first - 1 : last]) + "\n"
        try:
            tokens = tokenize.generate_tokens(io.StringIO(text.lstrip()).readline)
            words += [token.string for token in tokens if token.type not in skipped]
        except (tokenize.TokenError, IndentationError):
            return [text]
    return words
