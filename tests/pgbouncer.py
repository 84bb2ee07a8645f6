"""A real PgBouncer in transaction mode, in front of a PostgreSQL of the tests.

`COMMONPLACE_TEST_POOLER=1` sends the contract suites through it.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from commonplace.storage.postgres.database import PostgresDatabase
from servers import NOBODY, _await, _end, _end_with_parent, free_port

POOLER_VARIABLE = "COMMONPLACE_TEST_POOLER"
SEARCHED = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
PORT = 6432
CONFIGURATION = """
[databases]
* = host={host} port={port} user=postgres

[pgbouncer]
pool_mode = {mode}
listen_addr = {address}
listen_port = {own_port}
unix_socket_dir = {folder}
auth_type = any
default_pool_size = {pool_size}
max_client_conn = 200
logfile = {folder}/log
pidfile = {folder}/pid
admin_users = postgres
{more}
"""
TLS = """
client_tls_sslmode = require
client_tls_cert_file = {certificate}
client_tls_key_file = {key}
"""


class PgBouncer:
    """One pooler for every database of a server."""

    def __init__(
        self,
        server: str,
        *,
        pool_size: int = 8,
        mode: str = "transaction",
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        """`tls`: a certificate and its key; clients then connect over TCP and TLS."""
        self.port = free_port() if tls else PORT
        self.folder = Path(tempfile.mkdtemp(prefix="cpgb"))
        parts = urlsplit(server)
        host = parse_qs(parts.query).get("host", [parts.hostname])[0]
        (self.folder / "pgbouncer.ini").write_text(
            CONFIGURATION.format(
                host=host,
                port=parts.port or 5432,
                own_port=self.port,
                folder=self.folder,
                pool_size=pool_size,
                mode=mode,
                address="127.0.0.1" if tls else "",
                more=self._copy(tls) if tls else "",
            )
        )
        program = shutil.which(os.environ.get("PGBOUNCER") or "pgbouncer", path=SEARCHED)
        assert program, "pgbouncer is not installed: run tools/setup_proxies.py, as make test does"
        self.folder.chmod(0o777)
        identity: dict[str, Any] = (
            {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        )
        self._process = subprocess.Popen(
            [program, "-q", str(self.folder / "pgbouncer.ini")],
            stdin=subprocess.DEVNULL,
            preexec_fn=_end_with_parent,
            **identity,
        )
        _await(
            self._process,
            lambda: (self.folder / f".s.PGSQL.{self.port}").exists(),
            lambda: (self.folder / "log").read_text(),
        )

    def url(self, direct: str) -> str:
        """Return the address of a database through this pooler."""
        name = urlsplit(direct).path[1:]
        host = quote(str(self.folder), safe="")
        return f"postgresql://postgres@/{name}?host={host}&port={PORT}"

    def tls_url(self, direct: str, authority: Path) -> str:
        """Return the address of a database through this pooler, over verified TLS."""
        name = urlsplit(direct).path[1:]
        verified = f"sslmode=verify-full&sslrootcert={quote(str(authority), safe='')}"
        return f"postgresql://postgres@localhost:{self.port}/{name}?{verified}"

    def _copy(self, tls: tuple[Path, Path]) -> str:
        """Put certificate and key where the pooler's user can read them."""
        copies = [self.folder / source.name for source in tls]
        for source, copy in zip(tls, copies, strict=True):
            shutil.copy(source, copy)
            copy.chmod(0o600)
            if os.geteuid() == 0:
                os.chown(copy, NOBODY, NOBODY)
        return TLS.format(certificate=copies[0], key=copies[1])

    def close(self) -> None:
        _end(self._process, signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)


@functools.cache
def _shared_pooler(server: str) -> PgBouncer:
    pooler = PgBouncer(server)
    atexit.register(pooler.close)
    return pooler


def open_test_database(url: str, **options: Any) -> PostgresDatabase:
    """Open a database, through PgBouncer if the environment asks for it."""
    if os.environ.get(POOLER_VARIABLE) != "1":
        return PostgresDatabase(url, **options)
    pooled = _shared_pooler(url.replace(urlsplit(url).path, "/postgres", 1)).url(url)
    return PostgresDatabase(pooled, direct_url=url, prepared_statements=False, **options)
