"""`commonplace tenants`: list tenants and rename one."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, table
from commonplace.cli.session import session
from commonplace.kernel.auth import LOCAL_TENANT, Tenant, tenant_hash
from commonplace.kernel.clock import utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.storage.credentials.key_records import TENANT_NOT_FOUND, validate_tenant_name
from commonplace.storage.locks.data_folder import claim_data_folder

app = typer.Typer(help="Tenants: the owners of files and memory.", no_args_is_help=True)


@app.command("list")
def list_tenants(as_json: JsonFlag = False) -> None:
    """Show every tenant with its active keys and the identity of its data."""
    keys = session().app().services.keys.all()
    now = utc_now()
    names = sorted({LOCAL_TENANT, *(key.tenant for key in keys)})
    rows = [
        {
            "tenant": name,
            "keys": sum(key.tenant == name and key.state(now) == "active" for key in keys),
            "apikey_hash": tenant_hash(name),
        }
        for name in names
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


@app.command()
def move(
    old: Annotated[str, typer.Argument(help="Tenant whose keys and data are moved.")],
    new: Annotated[str, typer.Argument(help="New name; must not own data.")],
    as_json: JsonFlag = False,
) -> None:
    """Move a tenant's keys, files and memory to another name. Stop servers first.

    Example:
      commonplace tenants move team-a platform
    """
    source, target = Tenant(old), validate_tenant_name(new)
    if source == target:
        raise CommonplaceError(INVALID_ARGUMENT, "Old and new name are the same.")
    run = session()

    def move_all() -> dict[str, int]:
        import asyncio

        services = run.app().services
        moved = {
            "files": asyncio.run(services.files.move_tenant(source, target)),
            "memory": asyncio.run(services.memory.move_tenant(source, target)),
            "keys": services.keys.move_tenant(source, target),
        }
        if not any(moved.values()):
            raise CommonplaceError(
                TENANT_NOT_FOUND,
                f"Tenant {old[:64]!r} has no keys, files or memory.",
                hint="commonplace tenants list shows the tenants with keys.",
            )
        return moved

    with claim_data_folder(run.config().settings.data):
        moved = run.record_change("tenants_move", {"from": source, "to": target}, move_all)
    if as_json:
        print_json({"from": source, "to": target, "moved": moved})
    else:
        out.print(
            f"moved {', '.join(f'{count} {what}' for what, count in moved.items())} from "
            f"{source} to {target}"
        )
