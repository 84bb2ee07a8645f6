"""Data reaches the disk on every platform, by the calls that the platform has.

A child process removes what macOS and Windows lack before it imports the product: nothing of the
product is replaced.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from commonplace.kernel.durability import sync_data, sync_file, sync_folder

WITHOUT_LINUX_CALLS = """
import os, sys
for name in ("fdatasync", "posix_fallocate", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
"""
MACOS = (
    WITHOUT_LINUX_CALLS
    + """
sys.platform = "darwin"
import fcntl
calls = []
system = fcntl.fcntl
fcntl.F_FULLFSYNC = 51
def record(descriptor, command, *rest):
    if command == 51:
        calls.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))
        return 0
    return system(descriptor, command, *rest)
fcntl.fcntl = record
"""
)
WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None  # importing it raises ImportError
"""


def run(code: str, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_files_and_folders_are_synced_here(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.write(b"x")
        file.flush()
        sync_data(file.fileno())
        sync_file(file.fileno())
    sync_folder(tmp_path)


def test_macos_waits_for_the_drive_and_not_only_for_its_cache(tmp_path: Path) -> None:
    code = MACOS + (
        "from pathlib import Path\n"
        "from commonplace.kernel.durability import sync_data, sync_file\n"
        "with open(sys.argv[1], 'wb') as file:\n"
        "    sync_data(file.fileno()); sync_file(file.fileno())\n"
        "print(*calls)\n"
    )
    path = str((tmp_path / "file").resolve())
    assert run(code, path).split() == [path, path]


def test_a_network_share_without_full_sync_gets_fsync(tmp_path: Path) -> None:
    code = MACOS + (
        "def refuse(descriptor, command, *rest):\n"
        "    raise OSError(45, 'Operation not supported')\n"
        "fcntl.fcntl = refuse\n"
        "synced = []\n"
        "fsync = os.fsync\n"
        "os.fsync = lambda descriptor: synced.append(descriptor) or fsync(descriptor)\n"
        "from commonplace.kernel.durability import sync_data\n"
        "with open(sys.argv[1], 'wb') as file:\n"
        "    sync_data(file.fileno())\n"
        "print(len(synced))\n"
    )
    assert run(code, str(tmp_path / "file")).strip() == "1"


def test_everything_durable_works_without_the_calls_of_linux(tmp_path: Path) -> None:
    code = MACOS + (
        "from pathlib import Path\n"
        "from commonplace.kernel.auth import Scope\n"
        "from commonplace.storage.credentials.keys import KeyStore\n"
        "from commonplace.storage.disk.reserve import Reserve\n"
        "from commonplace.storage.locks.leader import LeaderLock\n"
        "from commonplace.storage.sqlite.database import Database\n"
        "from commonplace.telemetry.audit import AuditLog\n"
        "data = Path(sys.argv[1])\n"
        "keys = KeyStore(data / 'keys.json'); record, token = keys.add('team', 'x', Scope.READ)\n"
        "assert keys.find(token) is not None\n"
        "Reserve(data).hold(); assert (data / '.reserve').stat().st_size > 0\n"
        "assert LeaderLock(data / 'leader.lock').try_acquire()\n"
        "database = Database(data / 'x.db')\n"
        "database.write_now(lambda connection: connection.execute('CREATE TABLE t (x)') and None)\n"
        "database.close()\n"
        "print(len(calls) > 0)\n"
    )
    assert run(code, str(tmp_path)).strip() == "True"


def test_the_command_line_starts_without_fcntl() -> None:
    """Modules import `fcntl` where they lock, not at their top: reading works everywhere."""
    code = WITHOUT_FCNTL + (
        "import commonplace.cli, commonplace.kernel.config.loading, commonplace.bootstrap\n"
        "import commonplace.storage.credentials.keys, commonplace.storage.locks.file_lock\n"
        "import commonplace.storage.locks.leader, commonplace.storage.backup.restore\n"
        "import commonplace.storage.sqlite.database, commonplace.telemetry.audit\n"
        "print('imported')\n"
    )
    assert run(code).strip() == "imported"
