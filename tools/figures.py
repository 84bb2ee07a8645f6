"""Print figures about the shape of the code, and draw samples of its prose to read.

python tools/figures.py                 sizes, names, packages, tests, import contracts
python tools/figures.py --base COMMIT   also commit subjects since that commit
python tools/figures.py --sample        ten docstrings, ten messages and ten commits, by a seed
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "commonplace"
TESTS = ROOT / "tests"
COLUMNS = 100
WIDE_PACKAGES = {"cli"}  # one module per command group: any number
MAX_MODULES = 16
MAX_SUBJECT = 72
SAMPLES = 10
MESSAGE = re.compile(r"(?:Error|failure|refuse\w*|invalid\w*)$")


@dataclass(frozen=True, slots=True)
class Module:
    """A Python module: its path below the source folder, its lines and its syntax tree."""

    path: Path
    lines: tuple[str, ...]
    tree: ast.Module

    def functions(self) -> Iterator[tuple[str, int]]:
        """Yield the name and length in lines of every function, nested ones too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1

    def classes(self) -> Iterator[str]:
        """Yield the names of public classes at the top of the module."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


def read_modules(folder: Path) -> list[Module]:
    """Parse every Python file below a folder."""
    modules = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        modules.append(Module(path.relative_to(folder), tuple(text.splitlines()), ast.parse(text)))
    return modules


def count_any(modules: Iterable[Module]) -> int:
    """Count the uses of `Any` in annotations and casts, imports left out."""
    return sum(
        isinstance(node, ast.Name) and node.id == "Any"
        for module in modules
        for node in ast.walk(module.tree)
    )


def count_catch_alls(modules: Iterable[Module]) -> int:
    """Count handlers that catch every error."""
    return sum(is_catch_all(node) for module in modules for node in ast.walk(module.tree))


def is_catch_all(node: ast.AST) -> TypeGuard[ast.ExceptHandler]:
    """Tell whether a node is a handler that catches every error."""
    broad = {"Exception", "BaseException"}
    return isinstance(node, ast.ExceptHandler) and (
        node.type is None or (isinstance(node.type, ast.Name) and node.type.id in broad)
    )


def find_duplicate_classes(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the public class names that are used more than once, with their modules."""
    places: dict[str, list[str]] = {}
    for module in modules:
        for name in module.classes():
            places.setdefault(name, []).append(str(module.path))
    return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}


def find_crowded_packages(modules: Iterable[Module]) -> dict[str, int]:
    """Return the packages with too many modules."""
    packages = Counter(
        str(module.path.parent) for module in modules if module.path.name != "__init__.py"
    )
    return {
        package: count
        for package, count in sorted(packages.items())
        if count > MAX_MODULES and package not in WIDE_PACKAGES
    }


def find_patches(modules: Iterable[Module]) -> list[str]:
    """List the tests that replace objects of the product: `path:line`."""
    patches = []
    for module in modules:
        names = _product_names(module.tree)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and _patches_product(node, names):
                patches.append(f"{module.path}:{node.lineno}")
    return patches


def _product_names(tree: ast.Module) -> set[str]:
    """Return the names that a module imports from the product."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("commonplace"):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {
                alias.asname or "commonplace"
                for alias in node.names
                if alias.name.startswith("commonplace")
            }
    return names


def _patches_product(call: ast.Call, names: set[str]) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in {"setattr", "delattr", "patch", "object"}:
        return False
    function = ast.unparse(call.func)
    if not re.search(r"monkeypatch\.(setattr|delattr)$|(^|\.)patch(\.object)?$", function):
        return False
    target: ast.AST | None = call.args[0] if call.args else None
    if isinstance(target, ast.Constant):
        return str(target.value).startswith("commonplace")
    while isinstance(target, ast.Attribute):
        target = target.value
    return isinstance(target, ast.Name) and target.id in names


def count_import_contracts() -> str:
    """Run import-linter; return its summary."""
    command = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    found = re.search(r"Contracts: (.*)\.", result.stdout)
    return found[1] if found else "not run"


def find_long_subjects(base: str) -> list[str]:
    """List the commit subjects above 72 characters since a base."""
    subjects = git("log", "--format=%h %s", f"{base}..HEAD").splitlines()
    return [line for line in subjects if len(line.partition(" ")[2]) > MAX_SUBJECT]


def unmirrored_tests(modules: Iterable[Module]) -> list[str]:
    """List the unit tests whose path names no package or module of the source.

    `tests/unit/files/engine/test_grep.py` mirrors `files/engine/grep.py`; a test of a whole package
    may also sit in the package's folder under any name.
    """
    sources = {module.path.with_suffix("") for module in modules}
    packages = {path.parent for path in sources}
    missing = []
    for path in sorted((TESTS / "unit").rglob("test_*.py")):
        place = path.relative_to(TESTS / "unit")
        module = place.parent / place.stem.removeprefix("test_")
        if module not in sources and module not in packages and place.parent not in packages:
            missing.append(str(path.relative_to(ROOT)))
    return missing


def print_figures(base: str) -> None:
    """Print one figure per line."""
    modules = read_modules(SOURCE)
    sizes = [len(module.lines) for module in modules]
    lines = sum(sizes)
    lengths = [length for module in modules for _, length in module.functions()]
    largest = max(modules, key=lambda module: len(module.lines))
    wide = sum(len(line) > COLUMNS for module in modules for line in module.lines)
    duplicates = find_duplicate_classes(modules)
    crowded = find_crowded_packages(modules)
    tests = read_modules(TESTS)
    wide_tests = sum(len(line) > COLUMNS for module in tests for line in module.lines)
    patches = find_patches(tests)
    unmirrored = unmirrored_tests(modules)
    anys = count_any(modules)
    print(f"modules                       {len(modules)}, {lines} lines")
    print(f"lines of a module             median {statistics.median(sizes):.0f}")
    print(f"largest module                {largest.path} ({len(largest.lines)} lines)")
    print(f"modules above 500 lines       {sum(size > 500 for size in sizes)}")
    print(f"functions above 40 lines      {sum(length > 40 for length in lengths)}")
    print(f"functions above 60 lines      {sum(length > 60 for length in lengths)}")
    print(f"lines above {COLUMNS} columns       {wide}, {wide_tests} in tests")
    print(f"Any per 1,000 lines           {1000 * anys / lines:.1f} ({anys})")
    print(f"handlers that catch all       {count_catch_alls(modules)}")
    print(f"duplicate public class names  {len(duplicates)}: {', '.join(duplicates) or 'none'}")
    print(f"packages above {MAX_MODULES} modules     {len(crowded)}: {crowded or 'none'}")
    print(f"unit tests without a mirror   {len(unmirrored)}: {', '.join(unmirrored[:5]) or 'none'}")
    print(f"tests that patch the product  {len(patches)}: {', '.join(patches[:5]) or 'none'}")
    print(f"import contracts              {count_import_contracts()}")
    if base:
        subjects = find_long_subjects(base)
        print(f"commit subjects above {MAX_SUBJECT}      {len(subjects)}")
        for subject in subjects:
            print(f"  {subject}")


def docstrings(modules: Iterable[Module]) -> Iterator[str]:
    """Yield every docstring with its place."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                name = getattr(node, "name", "module")
                yield f"{module.path}: {name}: {text}"


def messages(modules: Iterable[Module]) -> Iterator[str]:
    """Yield the texts given to errors, with their place."""
    for module in modules:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call) or not MESSAGE.search(ast.unparse(node.func)):
                continue
            texts = [a for a in node.args if isinstance(a, ast.JoinedStr)]
            texts += [a for a in node.args if isinstance(a, ast.Constant) and " " in str(a.value)]
            hints = [k.value for k in node.keywords if k.arg == "hint"]
            if texts:
                yield f"{module.path}:{node.lineno}: " + " | ".join(map(ast.unparse, texts + hints))


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def print_samples(seed: str, base: str) -> None:
    """Print samples of prose. `base`: commits after it are drawn from."""
    chance = random.Random(seed)
    modules = read_modules(SOURCE)
    commits = git("log", "--format=%h %s", f"{base}..HEAD" if base else "HEAD").splitlines()
    for title, texts in (
        ("Docstrings", sorted(docstrings(modules))),
        ("Messages", sorted(messages(modules))),
        ("Commits", commits),
    ):
        print(f"\n{title} (seed {seed[:12]})")
        for text in chance.sample(texts, min(SAMPLES, len(texts))):
            print(f"- {text}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", action="store_true", help="draw samples of prose")
    parser.add_argument("--seed", help="default: the hash of the last commit")
    parser.add_argument("--base", default="", help="look at the commits after this one")
    given = parser.parse_args()
    if given.sample:
        print_samples(given.seed or git("rev-parse", "HEAD"), given.base)
    else:
        print_figures(given.base)


if __name__ == "__main__":
    main()
