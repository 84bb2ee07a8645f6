"""Build a release and check it as a user would install it. `make release`.

Writes the source distribution, the wheel and the release notes to dist/, then installs the wheel
with the pinned dependencies into a fresh environment and drives the installed command. It also
writes server.json of the MCP registry and an MCP bundle, lets their official tools check both, and
starts the bundle. The address of the uploaded bundle may be given as an argument. The version in
src/commonplace/__init__.py must be the newest one in CHANGELOG.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tools.publishing import (  # noqa: E402
    check_bundle,
    find_problems,
    run_bundle,
    server_document,
    write_bundle,
)

from commonplace.console.assets.listing import read_packages  # noqa: E402

DIST = ROOT / "dist"
HEADING = re.compile(r"^## \[(?P<version>\d+\.\d+\.\d+)\](?: - (?P<date>[^\n]+))?\n", re.MULTILINE)
VENDORED = [name for package in read_packages() for name in package.files.values()]
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "release", "version": "1"},
}
STDIO_SESSION = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)


class ReleaseError(Exception):
    """The release is not ready; the message says what to do."""


def declared_version() -> str:
    text = (ROOT / "src/commonplace/__init__.py").read_text("utf-8")
    match = re.search(r'__version__ = "([^"]+)"', text)
    if match is None:
        raise ReleaseError("src/commonplace/__init__.py has no __version__.")
    return match[1]


def release_notes(version: str) -> str:
    """Return the section of a version in the changelog."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = list(HEADING.finditer(text))
    if not sections or sections[0]["version"] != version:
        raise ReleaseError(
            f"The first version in CHANGELOG.md must be {version}: rename its section."
        )
    if not DATE.fullmatch(sections[0]["date"] or ""):
        raise ReleaseError(
            f"CHANGELOG.md has no date for {version}: write ## [{version}] - YYYY-MM-DD."
        )
    end = sections[1].start() if len(sections) > 1 else len(text)
    return text[sections[0].end() : end].strip() + "\n"


def build() -> Path:
    """Build both distributions into an empty dist/ and return the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "uv",
        "build",
        "--quiet",
        "--no-build-isolation",
        "--python",
        sys.executable,
    ]
    subprocess.run([*command, "-o", str(DIST), str(ROOT)], check=True)
    (DIST / ".gitignore").unlink(missing_ok=True)
    [wheel] = DIST.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """Check that the wheel contains every file of the package and nothing else."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "commonplace"
    missing = [
        name
        for path in sorted(package.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
        if (name := path.relative_to(package.parent).as_posix()) not in names
    ]
    scripts = {f"commonplace/console/assets/vendor/{name}" for name in VENDORED}
    missing += sorted(scripts - names)
    if missing:
        raise ReleaseError(f"The wheel lacks {', '.join(missing)}.")
    strays = sorted(
        {name.partition("/")[0] for name in names if not name.startswith("commonplace")}
    )
    if strays:
        raise ReleaseError(f"The wheel contains files outside the package: {', '.join(strays)}.")


def check_installed(wheel: Path, version: str) -> None:
    """Install the wheel into a fresh environment and call it over stdio."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        venv.create(root / "venv", with_pip=True)
        python = root / "venv/bin/python"
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run(
            [*install, "--require-hashes", "-r", str(ROOT / "requirements/serve.txt")], check=True
        )
        subprocess.run([*install, "--no-deps", str(wheel)], check=True)
        environment = {**os.environ, "COMMONPLACE_HOME": str(root / "data"), "PYTHONPATH": ""}
        command = str(root / "venv/bin/commonplace")
        printed = subprocess.run(
            [command, "--version"],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if printed != f"commonplace {version}":
            raise ReleaseError(f"The installed command prints {printed!r}, not {version}.")
        subprocess.run(
            [command, "doctor"], env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        _check_stdio(command, environment, folder)
        _check_console(command, environment, folder)


def _check_stdio(command: str, environment: dict[str, str], folder: str) -> None:
    served = subprocess.run(
        [command, "serve"],
        input=STDIO_SESSION,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers = {answer.get("id"): answer for answer in map(json.loads, served.stdout.splitlines())}
    if not answers.get(2, {}).get("result", {}).get("tools"):
        raise ReleaseError("The installed server does not list tools.")


def _check_console(command: str, environment: dict[str, str], folder: str) -> None:
    """Open the console of the installed server, and every script that the wheel carries."""
    served = subprocess.Popen(
        [command, "serve", "--http", "127.0.0.1:0"],
        env={**environment, "PATH": "/usr/bin:/bin"},
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert served.stderr is not None
        lines = iter(served.stderr.readline, "")
        [address] = next(found for line in lines if (found := re.findall(r"http://[^/]+", line)))
        for path in ("/console/", *(f"/console/static/{name}" for name in VENDORED)):
            with urllib.request.urlopen(address + path, timeout=30) as answer:
                if answer.status != 200 or not answer.read():
                    raise ReleaseError(f"The installed server does not serve {path}.")
    finally:
        served.terminate()
        served.wait(30)


def publish(wheel: Path, version: str, bundle_url: str) -> None:
    """Write server.json and the bundle, let others check them, and start the bundle."""
    bundle = write_bundle(wheel, version)
    document = server_document(version, bundle_url, bundle)
    problems = [*find_problems(document), *filter(None, [check_bundle(bundle)])]
    if f"<!-- mcp-name: {document['name']} -->" not in (ROOT / "README.md").read_text("utf-8"):
        problems.append(f"README.md does not state mcp-name: {document['name']}")
    if problems:
        raise ReleaseError("; ".join(problems))
    with tempfile.TemporaryDirectory() as folder:
        answers = run_bundle(bundle, Path(folder), STDIO_SESSION)
    if '"tools"' not in answers:
        raise ReleaseError("The server of the bundle does not list tools.")
    (DIST / "server.json").write_text(json.dumps(document, indent=2) + "\n", "utf-8")


def main() -> int:
    bundle_url = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        version = declared_version()
        notes = release_notes(version)
        wheel = build()
        check_contents(wheel)
        check_installed(wheel, version)
        publish(wheel, version, bundle_url)
    except ReleaseError as error:
        print(f"not released: {error}", file=sys.stderr)
        return 1
    (DIST / "NOTES.md").write_text(notes, "utf-8")
    print(
        f"dist/ contains commonplace {version}; tag v{version}, then upload dist/*.whl and "
        "dist/*.tar.gz"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
