"""`commonplace tenants`: list, move, export and delete tenants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.storage.credentials.key_records import validate_tenant_name

app = typer.Typer(help="Tenants: the owners of files and memory.", no_args_is_help=True)


@app.command("list")
def list_tenants(as_json: JsonFlag = False) -> None:
    """Show every tenant with its active keys and the identity of its data.

    Names that start with `bearer-` belong to tokens of callers in mode `passthrough`.
    """
    from commonplace.bootstrap import tenants

    services, now = session().app().services, utc_now()
    keys = services.keys.all()
    rows = [
        {
            "tenant": name,
            "keys": sum(key.tenant == name and key.state(now) == "active" for key in keys),
            "apikey_hash": identity,
        }
        for name, identity in tenants.list_tenants(services).items()
    ]
    if as_json:
        print_json({"tenants": rows})
    else:
        out.print(
            table(
                ("tenant", "active keys", "identity"),
                [(r["tenant"], r["keys"], str(r["apikey_hash"])[:16]) for r in rows],
            )
        )


TenantName = Annotated[str, typer.Argument(help="Name of the tenant, as `tenants list` shows it.")]


@app.command()
def move(
    old: Annotated[str, typer.Argument(help="Tenant whose keys and data are moved.")],
    new: Annotated[str, typer.Argument(help="New name; must not own data.")],
    as_json: JsonFlag = False,
) -> None:
    """Move a tenant's keys, files and memory to another name.

    Stop servers and workers first, on every machine.

    Example:
      commonplace tenants move team-a platform
    """
    source, target = Tenant(old), validate_tenant_name(new)
    if source == target:
        raise CommonplaceError(INVALID_ARGUMENT, "Old and new name are the same.")
    from commonplace.bootstrap.tenants import move_tenant, without_servers

    run = session()
    services = run.app().services
    with without_servers(services):
        moved = run.record_change(
            "tenants_move",
            {"from": source, "to": target},
            lambda: move_tenant(services, source, target),
        )
    if as_json:
        print_json({"from": source, "to": target, "moved": moved})
    else:
        out.print(f"moved {_listed(moved)} from {source} to {target}")


@app.command()
def delete(
    tenant: TenantName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete a tenant: its keys, files, memory and proposals, with everything derived from them.

    This cannot be undone. Audit records are kept. Servers may run.

    Examples:
      commonplace tenants export team-a ./team-a
      commonplace tenants delete team-a
    """
    from commonplace.bootstrap.tenants import count_tenant, delete_tenant

    run, name = session(), Tenant(tenant)
    services = run.app().services
    if not yes:
        owned = _listed(count_tenant(services, name))
        typer.confirm(f"Delete {owned} of tenant {name}?", abort=True, err=True)
    deleted = run.record_change(
        "tenants_delete", {"tenant": name}, lambda: delete_tenant(services, name)
    )
    if as_json:
        print_json({"tenant": name, "deleted": deleted})
    else:
        out.print(f"deleted {_listed(deleted)} of {name}")


@app.command()
def export(
    tenant: TenantName,
    folder: Annotated[Path, typer.Argument(help="Folder to write to; must be new or empty.")],
    as_json: JsonFlag = False,
) -> None:
    """Write a tenant's files, memory, proposals, audit records and facts of keys into a folder.

    Check it with `sha256sum -c SHA256SUMS` inside the folder.

    Example:
      commonplace tenants export team-a ./team-a
    """
    from commonplace.bootstrap.tenants import export_tenant

    run, name = session(), Tenant(tenant)
    manifest = run.record_change(
        "tenants_export",
        {"tenant": name},
        lambda: export_tenant(run.app().services, name, folder, lambda part: say(f"{part} ...")),
    )
    if as_json:
        print_json(manifest)
    else:
        out.print(f"exported {_listed(manifest['counts'])} of {name} to {folder}")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items())
