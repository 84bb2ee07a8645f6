"""The measures of the code that CONTRIBUTING promises: sizes, names, packages, tests.

`python tools/figures.py` prints them. A bound that is not the goal yet only ever goes down.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent.parent
LONGEST_FUNCTION = 60
MOST_ANY_PER_1000_LINES = 10


def load_figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures", ROOT / "tools" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["figures"] = module
    spec.loader.exec_module(module)
    return module


figures = load_figures()
SOURCE = figures.read_modules(ROOT / "src" / "commonplace")
TESTS = figures.read_modules(ROOT / "tests")


def test_functions_are_short() -> None:
    long = [
        f"{module.path}: {name} ({length} lines)"
        for module in SOURCE
        for name, length in module.functions()
        if length > LONGEST_FUNCTION
    ]
    assert long == []


def test_lines_fit_the_page() -> None:
    """In tests ruff checks it; there pragmas may stand beyond the limit."""
    wide = [
        f"{module.path}:{number}"
        for module in SOURCE
        for number, line in enumerate(module.lines, 1)
        if len(line) > figures.COLUMNS
    ]
    assert wide == []


def test_packages_are_small_enough_to_read() -> None:
    assert figures.find_crowded_packages(SOURCE) == {}


def test_a_public_class_name_is_used_once() -> None:
    assert figures.find_duplicate_classes(SOURCE) == {}


def test_any_is_rare() -> None:
    lines = sum(len(module.lines) for module in SOURCE)
    assert figures.count_any(SOURCE) <= MOST_ANY_PER_1000_LINES * lines / 1000


def test_every_unit_test_mirrors_a_module_or_package() -> None:
    assert figures.unmirrored_tests(SOURCE) == []


def test_no_test_patches_the_product() -> None:
    assert figures.find_patches(TESTS) == []


def re_raises(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler only cleans up."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_a_handler_that_catches_everything_says_why() -> None:
    unexplained = []
    for module in SOURCE:
        for node in ast.walk(module.tree):
            if figures.is_catch_all(node) and not re_raises(node):
                # The reason is on the line, just above it, or first inside the handler.
                near = module.lines[max(0, node.lineno - 2) : node.body[0].lineno]
                if not any("#" in line for line in near):
                    unexplained.append(f"{module.path}:{node.lineno}")
    assert unexplained == []
