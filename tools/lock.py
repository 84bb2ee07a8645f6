"""Pin every dependency with its hashes into requirements/*.txt, without naming where it came
from.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMON = [
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-annotate",
    "--no-header",
    "--python-version",
    "3.11",
    "--universal",
]
EXTRAS = ["pyproject.toml", "--all-extras", "--group", "build"]
FILES = {
    "serve.txt": EXTRAS,
    "dev.txt": [*EXTRAS, "--group", "dev"],
    "assets.txt": ["--group", "assets"],
}


def main() -> int:
    for name, what in FILES.items():
        target = ROOT / "requirements" / name
        command = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "compile",
            *COMMON,
            *what,
            "-o",
            str(target),
            "--quiet",
        ]
        subprocess.run(command, cwd=ROOT, check=True)
        lines = [line for line in target.read_text().splitlines() if "://" not in line]
        target.write_text(
            "# Pinned by `make lock`; install with pip --require-hashes.\n"
            + "\n".join(lines)
            + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
