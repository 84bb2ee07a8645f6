"""Files by which others install a release: `server.json` of the MCP registry and an MCP bundle.

The bundle (.mcpb) contains the wheel; uv installs its dependencies on first use. `mcpb` of npm and
the registry's schema check both.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
SCHEMA_PACKAGE = "skillsaw.schemas.mcp_registry.v2025_12_11"
MCPB = ROOT / ".tools" / "node" / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli"
EXTRAS = "code,console,embeddings"
TIME = (2026, 1, 1, 0, 0, 0)  # of all members, so that a bundle depends on its content alone
LAUNCHER = '''\
"""Start the server of this bundle."""

from commonplace.cli import main

if __name__ == "__main__":
    main(["serve"])
'''


def project() -> dict[str, Any]:
    """Return what pyproject.toml says about the project and its publication."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        document = tomllib.load(file)
    return {**document["project"], **document["tool"]["commonplace"]}


def server_document(version: str, bundle_url: str = "", bundle: Path | None = None) -> Any:
    """Return server.json; the bundle is a second package if its address is given."""
    facts = project()
    package = {
        "registryType": "pypi",
        "identifier": facts["name"],
        "version": version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "serve"}],
        "environmentVariables": [
            {
                "name": "COMMONPLACE_HOME",
                "description": "Folder of all data; by default in the user's data folder.",
                "format": "filepath",
            },
            {
                "name": "MCP_ENABLE_MUTATION",
                "description": "1 lets agents change the catalogue of rules.",
                "choices": ["0", "1"],
            },
        ],
    }
    packages = [package]
    if bundle_url and bundle is not None:
        packages.append(
            {
                "registryType": "mcpb",
                "identifier": bundle_url,
                "version": version,
                "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
                "transport": {"type": "stdio"},
            }
        )
    return {
        "$schema": SCHEMA,
        "name": facts["registry_name"],
        "title": "Commonplace",
        "description": facts["description"],
        "version": version,
        "packages": packages,
    }


def bundle_manifest(version: str) -> Any:
    """Return the manifest of the bundle."""
    facts = project()
    return {
        "manifest_version": "0.4",
        "name": facts["name"],
        "display_name": "Commonplace",
        "version": version,
        "description": facts["description"],
        "author": {"name": "The Commonplace maintainers"},
        "license": facts["license"],
        "keywords": facts["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "launch.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "launch.py"],
                "env": {"MCP_ENABLE_MUTATION": "${user_config.write_rules}"},
            },
        },
        "user_config": {
            "write_rules": {
                "type": "string",
                "title": "Agents may change rules (0 or 1)",
                "description": "Files and lessons can always be written.",
                "default": "0",
                "required": False,
            }
        },
        "compatibility": {
            "platforms": ["linux", "darwin"],
            "runtimes": {"python": facts["requires-python"]},
        },
    }


def bundle_project(wheel: Path, version: str) -> str:
    """Return the pyproject.toml of the bundle: the wheel beside it, with its extras."""
    return (
        f'[project]\nname = "commonplace-bundle"\nversion = "{version}"\n'
        f'requires-python = "{project()["requires-python"]}"\n'
        f'dependencies = ["commonplace[{EXTRAS}]"]\n\n'
        "[tool.uv]\npackage = false\n\n"
        f'[tool.uv.sources]\ncommonplace = {{ path = "{wheel.name}" }}\n'
    )


def write_bundle(wheel: Path, version: str) -> Path:
    """Write the bundle beside the wheel and return it."""
    bundle = wheel.parent / f"commonplace-{version}.mcpb"
    members = {
        "manifest.json": json.dumps(bundle_manifest(version), indent=2).encode(),
        "pyproject.toml": bundle_project(wheel, version).encode(),
        "launch.py": LAUNCHER.encode(),
        "README.md": (ROOT / "README.md").read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        wheel.name: wheel.read_bytes(),
    }
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, TIME), content, zipfile.ZIP_DEFLATED)
    return bundle


def find_problems(document: Any) -> list[str]:
    """Return what the registry's schema says against a server.json."""
    from jsonschema import Draft7Validator

    text = (resources.files(SCHEMA_PACKAGE) / "server.schema.json").read_text("utf-8")
    return [error.message for error in Draft7Validator(json.loads(text)).iter_errors(document)]


def check_bundle(bundle: Path) -> str:
    """Let the official tool read the bundle; return its complaint, or nothing."""
    from tools.setup_node import node_home

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(bundle) as archive:
            archive.extractall(folder)
        command = [str(node_home() / "bin" / "node"), str(MCPB / "cli.js"), "validate", folder]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if finished.returncode == 0 else finished.stdout + finished.stderr


def run_bundle(bundle: Path, home: Path, lines: str) -> str:
    """Start the bundle as a client does, in a fresh folder; return what it answers to lines."""
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(home)
    command = [sys.executable, "-m", "uv", "run", "--quiet", "--directory", str(home), "launch.py"]
    environment = {**os.environ, "COMMONPLACE_HOME": str(home / "data"), "PYTHONPATH": ""}
    served = subprocess.run(
        command, input=lines, env=environment, capture_output=True, text=True, check=True
    )
    return served.stdout
