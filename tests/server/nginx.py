"""A real nginx with the configuration of the guide, addresses replaced."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from certificates import TestAuthority
from servers import free_port

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "scale.md"
SEARCHED = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
START_SECONDS = 20.0
MAIN = """
daemon off;
worker_processes 1;
error_log {folder}/error.log info;
pid {folder}/nginx.pid;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {configuration}
}}
"""


class Nginx:
    """One nginx in front of servers, over TLS with a certificate of the test."""

    def __init__(self, folder: Path, authority: TestAuthority, servers: Sequence[str]) -> None:
        folder.mkdir()
        self.folder = folder
        self.port = free_port()
        certificate, key = authority.issue("nginx")
        text = guide_configuration()
        for documented, actual in zip(("10.0.0.11:8787", "10.0.0.12:8787"), servers, strict=True):
            assert documented in text
            text = text.replace(documented, actual)
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl")
        text = re.sub(r"/etc/nginx/tls/\S+\.crt", str(certificate), text)
        text = re.sub(r"/etc/nginx/tls/\S+\.key", str(key), text)
        assert "/etc/" not in text
        configuration = folder / "nginx.conf"
        configuration.write_text(MAIN.format(folder=folder, configuration=text))
        program = shutil.which(os.environ.get("NGINX") or "nginx", path=SEARCHED)
        assert program, "nginx is not installed: run tools/setup_proxies.py, as make test does"
        self._process = subprocess.Popen(
            [program, "-c", str(configuration), "-p", str(folder), "-e", str(folder / "error.log")],
            stdin=subprocess.DEVNULL,
        )
        self._wait()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/mcp"

    @property
    def errors(self) -> str:
        return (self.folder / "error.log").read_text()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(START_SECONDS)

    def _wait(self) -> None:
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"nginx did not start:\n{self.errors}")


def guide_configuration() -> str:
    """Return the block of the guide that its readers copy."""
    blocks = re.findall(r"```nginx\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])
