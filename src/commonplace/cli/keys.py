"""`commonplace keys`: the keys that callers of this server use."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.auth import Scope
from commonplace.kernel.clock import utc_now
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.storage.credentials.key_records import KeyRecord, KeyRegistry, parse_expiry

app = typer.Typer(help="Keys of callers: stored as hashes, shown once.", no_args_is_help=True)

COLUMNS = ("id", "tenant", "label", "scope", "created_at", "state")
# Shown where a key has one.
OPTIONAL_COLUMNS = ("expires_at", "last_used_at", "may_read", "description")
KeyId = Annotated[str, typer.Argument(help="Id of the key, as `keys list` shows it.")]


@app.command()
def add(
    tenant: Annotated[
        str, typer.Option(help="Tenant whose data the key sees. Several keys may share one.")
    ],
    label: Annotated[str, typer.Option(help="Who uses the key, for logs and audit.")],
    scope: Annotated[
        Scope, typer.Option(help="read; write includes read; admin includes both.")
    ] = Scope.WRITE,
    expires: Annotated[
        str | None,
        typer.Option(help="Expiry: 90d, 12h, 4w or a date; default: never."),
    ] = None,
    description: Annotated[str, typer.Option(help="What the key is for, for `keys list`.")] = "",
    may_read: Annotated[
        list[str] | None,
        typer.Option(
            help="Classification that the key may read although governance.restrict_reads is on: "
            "restricted."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Create a key and print it once.

    Examples:
      commonplace keys add --tenant team-a --label alice --scope write
      commonplace keys add --tenant team-a --label nightly --scope read --expires 90d
      commonplace keys add --tenant team-a --label auditor --scope read --may-read restricted
    """
    given: JsonObject = {"tenant": tenant, "label": label, "scope": scope.value}
    until = parse_expiry(expires, utc_now()) if expires is not None else None
    if until is not None:
        given["expires_at"] = until
    if may_read:
        given["may_read"] = may_read

    def make() -> tuple[KeyRecord, str]:
        record, token = _registry().add(
            tenant,
            label,
            scope,
            description=description,
            expires_at=until,
            may_read=may_read or (),
        )
        given["id"] = record.id
        return record, token

    _show_token(*session().record_change("keys_add", given, make), as_json)


@app.command("list")
def list_keys(
    all_keys: Annotated[
        bool, typer.Option("--all", help="Include revoked and expired keys.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the keys, without their secrets.

    Example:
      commonplace keys list --all
    """
    rows = [_public(record) for record in _registry().all()]
    rows = [row for row in rows if all_keys or row["state"] == "active"]
    if as_json:
        print_json({"keys": rows})
    elif rows:
        shown = (name for name in OPTIONAL_COLUMNS if any(row[name] for row in rows))
        columns = (*COLUMNS, *shown)
        out.print(table(columns, [[_cell(row[column]) for column in columns] for row in rows]))
    else:
        say("There are no keys. Create one: commonplace keys add --tenant NAME --label WHO")


@app.command()
def revoke(key_id: KeyId, as_json: JsonFlag = False) -> None:
    """Revoke a key. Running servers refuse it within a second; data is kept.

    Example:
      commonplace keys revoke v5phswss
    """
    record = session().record_change(
        "keys_revoke", {"id": key_id}, lambda: _registry().revoke(key_id)
    )
    if as_json:
        print_json(_public(record))
    else:
        out.print(f"{record.id} is revoked")


@app.command()
def rotate(key_id: KeyId, as_json: JsonFlag = False) -> None:
    """Give a key a new secret and print it once; the old one stops working at once.

    Example:
      commonplace keys rotate v5phswss
    """
    _show_token(
        *session().record_change("keys_rotate", {"id": key_id}, lambda: _registry().rotate(key_id)),
        as_json,
    )


def _registry() -> KeyRegistry:
    return session().app().services.keys


def _show_token(record: KeyRecord, token: str, as_json: bool) -> None:
    if as_json:
        print_json({**_public(record), "key": token})
        return
    typer.echo(token)
    say(
        f"Key {record.id} of tenant {record.tenant}, scope {record.scope.value}. It is not shown "
        f"again."
    )
    mode = session().config().settings.auth.mode
    if mode == "none":
        say("Keys are checked once the server runs with --auth keys (settings.auth.mode: keys).")


def _cell(value: Json) -> Json:
    return ", ".join(value) if isinstance(value, list) else value or ""


def _public(record: KeyRecord) -> JsonObject:
    return {
        "id": record.id,
        "tenant": record.tenant,
        "label": record.label,
        "scope": record.scope.value,
        "created_at": record.created_at,
        "rotated_at": record.rotated_at,
        "revoked_at": record.revoked_at,
        "expires_at": record.expires_at,
        "last_used_at": record.last_used_at,
        "may_read": list(record.may_read),
        "description": record.description,
        "state": record.state(utc_now()),
    }
