"""Sections of documentation as distractors for the rule search benchmark.

They are taken from wheels and npm packages with pinned versions, on the subjects of the rules, and
kept in a cache folder; nothing of them is committed.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path

from benchmarks.rule_corpus import RuleText

_PACKAGES = [
    line
    for line in Path(__file__).with_name("rule_packages.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
NPM_PACKAGES = [line for line in _PACKAGES if "==" not in line]
WHEELS = [line for line in _PACKAGES if "==" in line]
COUNT = 1800
LEAST_CHARS, MOST_CHARS = 250, 6_000
MOST_OF_A_PACKAGE = 150
_HEADING = re.compile(r"^(#{1,4})[ \t]+(\S.*?)[ \t]*#*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_DULL = re.compile(
    r"licen[cs]e|contribut|change|sponsor|credits|author|support|community|\d+\.\d+\.\d+", re.I
)
_LOG = re.compile(r"change|history|release|news", re.I)
_MARKUP = re.compile(r"<[^>]+>|!?\[|\]\([^)]*\)|\[?!\[")


def load_distractors(cache: Path) -> list[RuleText]:
    """Return the sections, the same ones in every run; downloads what the cache lacks."""
    _download(cache)
    packages = [_sections(path) for path in sorted(cache.iterdir()) if path.suffix != ".part"]
    turns = chain.from_iterable(zip_longest(*packages))
    chosen = [section for section in turns if section is not None][:COUNT]
    if len(chosen) < COUNT:
        raise SystemExit(f"only {len(chosen)} sections of documentation were found")
    return chosen


def _download(cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    present = {path.name for path in cache.iterdir()}
    npm = [name for name in NPM_PACKAGES if _tarball(name) not in present]
    if npm:
        subprocess.run(["npm", "pack", "--silent", *npm], cwd=cache, check=True, stdout=-3)
    wheels = [
        name for name in WHEELS if not any(file.startswith(_wheel_prefix(name)) for file in present)
    ]
    if wheels:
        options = ["download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(cache)]
        subprocess.run([sys.executable, "-m", "pip", *options, *wheels], check=True)


def _tarball(name: str) -> str:
    package, _, version = name.rpartition("@")
    return f"{package.removeprefix('@').replace('/', '-')}-{version}.tgz"


def _wheel_prefix(name: str) -> str:
    package, _, version = name.partition("==")
    return f"{package.replace('-', '_').replace('.', '_').lower()}-{version}-"


def _sections(archive: Path) -> list[RuleText]:
    """Return the sections of one package, in an order that its texts decide."""
    found: dict[str, RuleText] = {}
    for text in _documents(archive):
        for title, body in _split(text):
            digest = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
            path = f"docs/{archive.name.rpartition('-')[0].lower()}-{digest[:8]}"
            found[digest] = RuleText(path, title, "", body)
    return [found[digest] for digest in sorted(found)][:MOST_OF_A_PACKAGE]


def _documents(archive: Path) -> Iterator[str]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in sorted(wheel.namelist()):
                if name.endswith((".dist-info/METADATA", ".md")) and not _LOG.search(name):
                    text = wheel.read(name).decode("utf-8", "replace")
                    yield text.partition("\n\n")[2] if name.endswith("METADATA") else text
    elif archive.suffix == ".tgz":
        with tarfile.open(archive) as package:
            for member in package:
                if _LOG.search(member.name):
                    continue
                if member.isfile() and member.name.endswith((".md", ".mdx")):
                    file = package.extractfile(member)
                    if file is not None:
                        yield file.read().decode("utf-8", "replace")


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of the sections that explain something."""
    blanked = _FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    heads = list(_HEADING.finditer(blanked))
    for at, head in enumerate(heads):
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        title = _MARKUP.sub("", head[2]).strip()[:200]
        body = text[head.end() : end].strip()
        if title and LEAST_CHARS <= len(body) <= MOST_CHARS and not _DULL.search(title):
            yield title, f"{head[1]} {title}\n\n{body}"
