"""What building a catalogue imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, sys
from pathlib import Path
from commonplace.instructions.assembly import build_service
from commonplace.kernel.auth import local_user

data = Path(sys.argv[1])
service = build_service(data / "rules", data, mutation_enabled=lambda: True)
asyncio.run(service.add(local_user(), {"id": "a", "body": "A"}, lax=True))
service.confirmation.load()
assert service.get(local_user(), "a") is not None
service.track_use(local_user(), "a")
service.close()
print([name for name in sys.modules if name.startswith("psycopg")])
"""


def test_a_catalogue_in_a_folder_needs_no_database_driver(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
