"""Fetch the browser builds of npm packages with `npm pack` into `vendor/`.

Each archive is checked against the integrity in the list before anything is taken from it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from commonplace.console.assets.listing import LIST, VENDOR, Package, read_packages

STAMP = ".fetched"
SECONDS = 120


def is_current() -> bool:
    """Whether `vendor/` was made from the present list."""
    stamp = VENDOR / STAMP
    return stamp.is_file() and stamp.read_text() == _digest()


def fetch(node_home: Path) -> None:
    """Fetch every package with the node in `node_home`.

    Raises RuntimeError if a package cannot be fetched or is not the listed one.
    """
    with tempfile.TemporaryDirectory() as scratch:
        staged = Path(scratch) / "vendor"
        staged.mkdir()
        for package in read_packages():
            archive = _pack(node_home, package, Path(scratch))
            check_archive(package, archive)
            extract_files(package, archive, staged)
        (staged / STAMP).write_text(_digest())
        shutil.rmtree(VENDOR, ignore_errors=True)
        shutil.copytree(staged, VENDOR)


def _digest() -> str:
    return hashlib.sha256(LIST.read_bytes()).hexdigest()


def _pack(node_home: Path, package: Package, folder: Path) -> Path:
    node = node_home / "bin" / "node"
    npm = node_home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    wanted = f"{package.name}@{package.version}"
    command = [str(node), str(npm), "pack", wanted, "--silent", "--ignore-scripts"]
    path = f"{node_home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        done = subprocess.run(  # noqa: S603  # a fixed command
            [*command, "--pack-destination", str(folder)],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise RuntimeError(f"{wanted} could not be fetched: {failed}") from failed
    if done.returncode != 0:
        raise RuntimeError(f"{wanted} could not be fetched: {done.stderr.strip()[-300:]}")
    return folder / done.stdout.strip().splitlines()[-1]


def check_archive(package: Package, archive: Path) -> None:
    """Check the integrity of an archive. Raises RuntimeError."""
    algorithm, _, expected = package.integrity.partition("-")
    found = hashlib.new(algorithm, archive.read_bytes()).digest()
    if base64.b64encode(found).decode() != expected:
        raise RuntimeError(f"{package.name} {package.version} is not the archive in the list")


def extract_files(package: Package, archive: Path, target: Path) -> None:
    """Take the listed files out of an archive. Raises RuntimeError if one is missing."""
    with tarfile.open(archive) as opened:
        for source, name in package.files.items():
            try:
                member = opened.extractfile(f"package/{source}")
            except KeyError:
                member = None
            if member is None:
                raise RuntimeError(f"{package.name} has no file {source}")
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(member.read())
