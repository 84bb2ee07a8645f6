"""Move, delete and export everything that belongs to a tenant."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from commonplace import __version__
from commonplace.bootstrap.offer import hook_sessions
from commonplace.bootstrap.team import on_postgres
from commonplace.kernel.auth import (
    ALL_SCOPES,
    LOCAL_TENANT,
    RESERVED_PREFIX,
    AuthContext,
    Tenant,
    bearer_tenant,
    local_user,
    tenant_hash,
)
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.credentials.key_records import TENANT_NOT_FOUND
from commonplace.storage.disk.private_files import make_private_folder, open_private
from commonplace.storage.locks.data_folder import claim_data_folder

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.files.service import FilesService

PAGE_FILES = 200
PAGE_BYTES = 8 << 20
SUMS = "SHA256SUMS"

Counts = dict[str, int]


@contextlib.contextmanager
def without_servers(services: Services) -> Iterator[None]:
    """Keep every server away. Raises DATA_IN_USE while one serves, on any machine."""
    with contextlib.ExitStack() as held:
        held.enter_context(claim_data_folder(services.settings.data))
        if on_postgres(services.settings):
            from commonplace.storage.postgres.serving import claim_database

            held.enter_context(claim_database(services.postgres))
        yield


def move_tenant(services: Services, old: Tenant, new: Tenant) -> Counts:
    """Give keys, files and memory of a tenant to a name that owns nothing; return how many.

    No server may run meanwhile: see `without_servers`.
    """
    from commonplace.instructions.review_service import ReviewService

    moved = {
        "files": asyncio.run(services.files.move_tenant(find_owner(services, old), _owner(new))),
        "memory": asyncio.run(services.memory.move_tenant(old, new)),
        "keys": services.keys.move_tenant(old, new),
        "proposals": _count_proposals(services, old),
    }
    asyncio.run(services.context.move_tenant(old, new))
    asyncio.run(services.capture.move_tenant(old, new))
    hook_sessions(services).move_tenant(old, new)
    services.instructions.load()
    ReviewService(services.instructions.parts_of).move_lessons(local_user(), old, new)
    return _require_any(old, moved)


def count_tenant(services: Services, tenant: Tenant) -> Counts:
    """Return how much a tenant owns: live files, entries of memory, keys, captured proposals."""
    projects = asyncio.run(services.files.projects(find_owner(services, tenant)))
    counts = asyncio.run(services.memory.counts(tenant))
    keys = [key for key in services.keys.all() if key.tenant == tenant]
    return {
        "files": sum(project.files for project in projects),
        "memory": counts.entries,
        "keys": len(keys),
        "proposals": _count_proposals(services, tenant),
    }


def _count_proposals(services: Services, tenant: Tenant) -> int:
    counts = asyncio.run(services.capture.counts(_owner(tenant)))
    return sum(count for kinds in counts.values() for count in kinds.values())


def delete_tenant(services: Services, tenant: Tenant) -> Counts:
    """Delete keys, files, memory and proposals of a tenant with their index; return how many.

    What it said about context packs, and what its sessions were given, is deleted too. Keys go
    first, so that nobody writes meanwhile. Audit records stay: they prove what was done.
    """
    owner = find_owner(services, tenant)
    keys = services.keys.delete_tenant(tenant)
    files, projects = asyncio.run(services.files.delete_tenant(owner))
    if not on_postgres(services.settings):
        asyncio.run(_forget_vectors(services, owner, projects))
    memory = asyncio.run(services.memory.delete_tenant(tenant))
    asyncio.run(services.context.delete_tenant(tenant))
    proposals = _count_proposals(services, tenant)
    asyncio.run(services.capture.delete_tenant(tenant))
    hook_sessions(services).delete_tenant(tenant)
    return _require_any(
        tenant, {"files": files, "memory": memory, "keys": keys, "proposals": proposals}
    )


async def _forget_vectors(services: Services, owner: AuthContext, projects: Sequence[str]) -> None:
    """Delete vectors of files that are kept in files beside the database."""
    from commonplace.files.extracts.model import COLLECTION as EXTRACTS
    from commonplace.search.model import Partition

    models, local = services.external_models, services.semantic.listener
    external = models.on_disk(services.settings.data) if models is not None else None
    for project in projects:
        for collection in ("files", EXTRACTS):
            partition = Partition(owner.apikey_hash, collection, project)
            if local is not None:
                await local.synchronise(partition, "", [])
            if external is not None:
                await external.synchronise(partition, "", [], None)


def export_tenant(
    services: Services, tenant: Tenant, folder: Path, progress: Callable[[str], None]
) -> JsonObject:
    """Write everything of a tenant into a new folder; return its manifest.

    `files/` has the files, `files.jsonl` their metadata, `memory.jsonl` the memory, `capture.jsonl`
    the proposals, `context.jsonl` the feedback about context, `keys.json` the keys without hashes,
    `audit.jsonl` the audit records. `sha256sum -c SHA256SUMS` checks them.
    """
    from commonplace.memory.use_cases.transfer import ExportFormat

    if folder.exists() and any(folder.iterdir()):
        raise CommonplaceError(
            INVALID_ARGUMENT, f"{folder} is not empty.", hint="Name a new folder."
        )
    _require_any(tenant, count_tenant(services, tenant))
    make_private_folder(folder)
    progress("files")
    owner = find_owner(services, tenant)
    files = asyncio.run(_export_files(services.files, owner, folder))
    progress("memory")
    target = folder / "memory.jsonl"
    memory = asyncio.run(services.memory.export_file(tenant, target, ExportFormat.JSONL))
    progress("proposals and feedback")
    proposals = asyncio.run(_export_context(services, tenant, folder))
    progress("keys and audit")
    keys = [
        {name: value for name, value in asdict(key).items() if name != "hash"}
        for key in services.keys.all()
        if key.tenant == tenant
    ]
    _write(folder / "keys.json", json.dumps(keys, indent=1).encode() + b"\n")
    records = 0
    with open_private(folder / "audit.jsonl") as lines:
        for line in services.trail.export(tenant):
            lines.write(line + b"\n")
            records += 1
    found = {
        "files": files,
        "memory": memory.entries,
        "proposals": proposals,
        "keys": len(keys),
        "audit": records,
    }
    manifest: JsonObject = {
        "product": "commonplace",
        "version": __version__,
        "tenant": tenant,
        "created_at": iso(utc_now()),
        "counts": found,
    }
    _write(folder / "manifest.json", json.dumps(manifest, indent=1).encode() + b"\n")
    _write_sums(folder)
    return manifest


async def _export_context(services: Services, tenant: Tenant, folder: Path) -> int:
    """Write the proposals and the feedback about context packs; return how many proposals."""
    proposals = await services.capture.everything(tenant)
    with open_private(folder / "capture.jsonl") as lines:
        for proposal in proposals:
            lines.write(json.dumps(asdict(proposal), default=_plain).encode() + b"\n")
    with open_private(folder / "context.jsonl") as lines:
        for ref, weight in (await services.context.uses(tenant)).items():
            lines.write(json.dumps({"ref": ref, **asdict(weight)}).encode() + b"\n")
    return len(proposals)


def _plain(value: object) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)


async def _export_files(service: FilesService, caller: AuthContext, folder: Path) -> int:
    from commonplace.files.engine.naming import export_target

    written = 0
    with open_private(folder / "files.jsonl") as listing:
        for project in await service.projects(caller):
            root, after = folder / "files" / _folder_name(project.project), ""
            taken: set[Path] = set()
            while page := await service.page(
                caller, project.project, "", after, PAGE_FILES, PAGE_BYTES
            ):
                for file in page:
                    target = export_target(root, file.entry, taken)
                    make_private_folder(target.parent)
                    _write(target, file.content)
                    entry: JsonObject = {
                        "project": project.project,
                        "path": file.entry.path,
                        "stored_as": str(target.relative_to(folder)),
                        "bytes": len(file.content),
                        "sha256": hashlib.sha256(file.content).hexdigest(),
                    }
                    listing.write(json.dumps(entry).encode() + b"\n")
                written += len(page)
                after = page[-1].entry.path
    return written


def _folder_name(project: str) -> str:
    """Return a name that every file system accepts and that stays inside the folder."""
    name = quote(project, safe=" ")
    return name.replace(".", "%2E") if name.strip(".") == "" else name


def _write_sums(folder: Path) -> None:
    """Write the checksums of all files, as sha256sum prints them."""
    lines = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            lines.append(f"{digest}  {path.relative_to(folder)}\n")
    _write(folder / SUMS, "".join(lines).encode())


def _write(path: Path, content: bytes) -> None:
    with open_private(path) as target:
        target.write(content)


def list_tenants(services: Services) -> dict[Tenant, str]:
    """Return every tenant with keys or data, and its identity (`apikey_hash`) in tables of files.

    Files only know the identity. One that belongs to no known name is listed as `bearer-` and its
    first 32 digits, which is the name of such a tenant in mode `passthrough`.
    """
    names = {LOCAL_TENANT, *(key.tenant for key in services.keys.all())}
    names |= set(asyncio.run(services.memory.tenants()))
    names |= set(asyncio.run(services.capture.tenants()))
    found = {name: tenant_hash(name) for name in names if not name.startswith(RESERVED_PREFIX)}
    known = set(found.values())
    owners = [owner for owner in asyncio.run(services.files.owners()) if owner not in known]
    found |= {bearer_tenant(owner): owner for owner in owners}
    return {name: found.get(name, "") for name in sorted(names | set(found))}


def find_owner(services: Services, tenant: Tenant) -> AuthContext:
    """Return a caller that owns the data of a tenant, also of one in mode `passthrough`."""
    if not tenant.startswith(RESERVED_PREFIX):
        return _owner(tenant)
    owners = asyncio.run(services.files.owners())
    hashes = [owner for owner in owners if bearer_tenant(owner) == tenant]
    return replace(_owner(tenant), token_hash=hashes[0] if hashes else None)


def _owner(tenant: Tenant) -> AuthContext:
    return AuthContext(tenant, ALL_SCOPES, "local")


def _require_any(tenant: Tenant, counts: Counts) -> Counts:
    if not any(counts.values()):
        raise CommonplaceError(
            TENANT_NOT_FOUND,
            f"Tenant {tenant[:64]!r} has no keys, files, memory or proposals.",
            hint="commonplace tenants list shows the tenants.",
        )
    return counts
