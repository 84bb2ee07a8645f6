"""Find nginx and PgBouncer for the server tests, or install Debian's. Prints their paths.

Order: $NGINX and $PGBOUNCER, PATH and /usr/sbin, apt as root. Otherwise an error that names the
command to run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = {"nginx": "nginx-light", "pgbouncer": "pgbouncer"}
SEARCHED = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))


def find(program: str) -> str | None:
    return shutil.which(os.environ.get(program.upper()) or program, path=SEARCHED)


def main() -> int:
    missing = [program for program in PACKAGES if find(program) is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        packages = [PACKAGES[program] for program in missing]
        policy = Path("/usr/sbin/policy-rc.d")  # nothing may start by being installed
        makes_policy = not policy.exists()
        if makes_policy:
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
        try:
            for command in (
                ["apt-get", "update", "-qq"],
                ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
            ):
                subprocess.run(command, check=True, env=quiet, stdout=subprocess.DEVNULL)
        finally:
            if makes_policy:
                policy.unlink()
        missing = [program for program in PACKAGES if find(program) is None]
    if missing:
        names = " and ".join(missing)
        sys.stderr.write(
            f"The server tests need {names}: apt-get install "
            f"{' '.join(PACKAGES[program] for program in missing)}\n"
        )
        return 1
    for program in PACKAGES:
        sys.stdout.write(f"{find(program)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
