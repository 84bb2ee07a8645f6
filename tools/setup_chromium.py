"""Find a Chromium for the browser tests, or install Debian's. Prints its path.

Order: $CHROMIUM, one on PATH, apt as root. Otherwise an error that names the command to run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find() -> str | None:
    named = os.environ.get("CHROMIUM")
    if named:
        return named if shutil.which(named) else None
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def main() -> int:
    path = find()
    if path is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["apt-get", "update", "-qq"],
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
        ):
            subprocess.run(command, check=True, env=quiet, stdout=subprocess.DEVNULL)
        path = find()
    if path is None:
        sys.stderr.write(
            "The browser tests need Chromium: apt-get install chromium, or set CHROMIUM to one.\n"
        )
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
