"""What a user of an unsupported platform is told."""

from __future__ import annotations

import subprocess
import sys

from commonplace.kernel.platform import unsupported_platform


def test_this_platform_is_supported() -> None:
    assert unsupported_platform() is None


def test_windows_is_told_to_use_wsl_before_anything_fails() -> None:
    code = (
        "import sys\n"
        "sys.platform = 'win32'; sys.modules['fcntl'] = None; sys.modules['pwd'] = None\n"
        "sys.argv = ['commonplace', 'serve']\n"
        "from commonplace.cli import main\n"
        "sys.exit(main())\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert "wsl --install" in result.stderr
    assert "Traceback" not in result.stderr
