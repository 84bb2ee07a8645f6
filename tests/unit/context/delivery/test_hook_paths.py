"""Paths of hooks: relative to their repository, out of tools and patches."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.context.delivery.patch import find_patched_paths
from commonplace.context.delivery.places import find_repository, no_repository, repository_path

ROOTS = ("/home/dev/demo/src", "/home/dev/demo")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/dev/demo/src/a.py", "src/a.py"),
        ("a.py", "src/a.py"),
        ("../docs/b.md", "docs/b.md"),
        ("C:\\x\\y.py", "src/C:/x/y.py"),
        ("/etc/passwd", None),
        ("/home/dev/demo", None),
        ("../../../other/x", None),
    ],
)
def test_paths_are_relative_to_the_widest_folder_without_a_repository(
    path: str, expected: str | None
) -> None:
    assert repository_path(path, ROOTS, no_repository) == expected


def test_paths_are_relative_to_their_repository_even_before_they_exist(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    inner = str(tmp_path / "repo" / "pkg")
    new = str(tmp_path / "repo" / "pkg" / "deep" / "new.py")
    assert repository_path(new, (inner,), find_repository) == "pkg/deep/new.py"
    other = str(tmp_path / "repo" / "setup.py")
    assert repository_path(other, (inner,), find_repository) == "setup.py"
    assert find_repository("/" + "x/" * 200) is None


def test_patches_name_what_they_write() -> None:
    patch = (
        "apply_patch <<'EOF'\r\n*** Begin Patch\r\n*** Update File: a b.py\r\n*** Move to: c.py\r\n"
        "@@\n+*** Add File: no.py\n*** Delete File: d.py\n*** Add File: e.py \n*** End Patch\nEOF"
    )
    assert find_patched_paths(patch, 50) == ("a b.py", "c.py", "e.py")
    assert len(find_patched_paths("*** Add File: x\n" * 5, 50)) == 1
    assert len(find_patched_paths("".join(f"*** Add File: {n}\n" for n in range(99)), 50)) == 50
