"""Rules about the repository: sizes, imports, documents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "commonplace"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_MODULE = 500
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_is_small_and_has_a_docstring(module: Path) -> None:
    text = module.read_text()
    assert module.stem not in FORBIDDEN_NAMES
    assert len(text.splitlines()) <= LONGEST_MODULE, (
        "split it, or say why in an ADR and raise the limit"
    )
    assert text.startswith('"""'), "a module docstring says what it owns"


def test_no_unfinished_work_is_marked_in_the_code() -> None:
    pattern = re.compile(
        r"#.*\b(TODO|FIXME|XXX)\b|raise "
        r"NotImplementedError|pytest\.mark\.(skip|xfail)|pytest\.skip\("
    )
    parked = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (*MODULES, *sorted((ROOT / "tests").rglob("*.py")))
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert parked == []


def test_the_repository_names_no_registry_and_no_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    pattern = re.compile(
        r"pypi\.org|files\.pythonhosted|registry\.npmjs|deb\.debian\.org|/work/(main|shared)|/opt/pypi"
    )
    named = [
        name
        for name in filter(None, listed.split("\0"))
        if name != str(Path(__file__).relative_to(ROOT))
        and (ROOT / name).is_file()
        and pattern.search((ROOT / name).read_text(errors="replace"))
    ]
    assert named == []


def test_every_adr_is_one_page_of_one_form() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert records
    for record in records:
        text = record.read_text()
        assert re.match(r"\d{4}-[a-z0-9-]+\.md", record.name), record.name
        assert re.match(rf"# {record.name[:4]}: [^\n]+\n\nStatus: (accepted|superseded)", text), (
            record.name
        )
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences", "Measured"], record.name
        assert len(text.splitlines()) <= 90, f"{record.name} is longer than a page"


def test_links_in_the_documents_exist() -> None:
    broken = []
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
            if "://" not in target and not (document.parent / target).exists():
                broken.append(f"{document.relative_to(ROOT)} -> {target}")
    assert broken == []


def test_initialize_imports_nothing_heavy() -> None:
    """What a stdio process loads before its first answer: no SDK, no web server, no domain, no
    numpy.
    """
    before = "commonplace.cli.serve, commonplace.bootstrap.app, commonplace.edge.stdio.transport"
    code = f"import sys, {before}; print(*sys.modules)"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True
        ).stdout.split()
    )
    heavy = {
        "mcp",
        "starlette",
        "uvicorn",
        "jinja2",
        "numpy",
        "onnxruntime",
        "apsw",
        "typer",
        "rich",
        "psycopg",
        "redis",
        "jsonschema_rs",
        "re2",
    }
    assert not heavy & loaded
    domains = {
        name
        for name in loaded
        if re.match(
            r"commonplace\.(instructions|files|memory|openapi)\.(service|tools|engine)", name
        )
    }
    assert not domains


def test_every_test_that_the_documents_name_exists() -> None:
    named = {
        match
        for page in (ROOT / "docs").rglob("*.md")
        for match in re.findall(r"`(tests/[\w/]+(?:\.py)?)/?`", page.read_text())
    }
    assert named
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_walks_of_the_architecture_page_are_short_and_name_existing_files() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    walks = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    assert len(walks) == 3
    for walk in walks:
        files = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \|", walk, re.MULTILINE)
        assert 10 <= len(files) <= 20
        assert len(set(files)) == len(files), "no file twice: a walk does not go back and forth"
        assert [name for name in files if not (SOURCE / name).exists()] == []
