"""Which files are embedded last: those that people find by name or by words, not by meaning."""

from __future__ import annotations

import re

# Names are compared in lower case. A path decides, because a queue knows no content.
_LOCK_FILES = frozenset(
    {
        "bun.lockb",
        "cargo.lock",
        "cpanfile.snapshot",
        "go.sum",
        "go.work.sum",
        "gradle.lockfile",
        "npm-shrinkwrap.json",
        "package-lock.json",
        "package.resolved",
        "packages.lock.json",
        "paket.lock",
        "pnpm-lock.yaml",
        "podfile.lock",
    }
)
_ENDINGS = (
    ".lock",  # Cargo, Composer, Gemfile, mix, Pipfile, poetry, pubspec, uv, yarn
    ".min.js",
    ".min.mjs",
    ".min.css",
    "-min.js",
    "-min.css",
    ".bundle.js",
    ".chunk.js",
    ".map",
    ".po",
    ".pot",
    ".xlf",
    ".xliff",
    ".snap",
    ".svg",
    "_pb2.py",
    "_pb2.pyi",
    "_pb2_grpc.py",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    ".g.dart",
    ".freezed.dart",
    ".g.cs",
    ".designer.cs",
)
_GENERATED = re.compile(r"[._-]generated\.|/(?:__generated__|generated|__snapshots__)/")
_CATALOGUE = re.compile(
    r"/(?:locales?|i18n|lang|translations)/.*\.(?:json|ya?ml|properties|arb|ts)$"
)
_BUNDLED = re.compile(r"/(?:node_modules|bower_components|vendor|third_party)/")


def is_embedded_last(path: str) -> bool:
    """Return whether the vectors of a file wait for those of the project's other files."""
    lower = path.lower()
    return (
        lower.endswith(_ENDINGS)
        or lower.rpartition("/")[2] in _LOCK_FILES
        or any(pattern.search(lower) for pattern in (_GENERATED, _CATALOGUE, _BUNDLED))
    )
