"""The entry that a client needs to start this server or to reach one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from commonplace.cli.connect.clients import CLIENT_FILES, Client, ClientFile, KeyForm
from commonplace.cli.connect.merging import PROMPT
from commonplace.cli.program import executable
from commonplace.cli.session import session
from commonplace.edge.authenticate import KEY_VARIABLE
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """The options of `connect` that shape a client's entry."""

    http: str | None
    key: str | None
    key_in_file: bool
    mutation: bool
    attach: bool = False


def make_entry(client: Client, options: ConnectOptions) -> JsonObject:
    """Return the entry. Raises INVALID_ARGUMENT for options that the client cannot have."""
    file = CLIENT_FILES[client]
    if options.http is not None:
        return _http_entry(file, client, options, options.http)
    entry: JsonObject = {"type": file.types[0]} if file.types else {}
    attach = ["--attach"] if options.attach else []
    entry |= {"command": str(executable().absolute()), "args": ["serve", *attach, *same_state()]}
    variables = {"MCP_ENABLE_MUTATION": "1"} if options.mutation else {}
    if options.key and file.form is KeyForm.NAMED and not options.key_in_file:
        entry["env_vars"] = [KEY_VARIABLE]
    elif options.key:
        variables[KEY_VARIABLE] = _reference(file, options.key, options)
    return entry | ({"env": variables} if variables else {}) | dict(file.fields)


def _http_entry(
    file: ClientFile, client: Client, options: ConnectOptions, address: str
) -> JsonObject:
    if options.mutation:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "--mutation cannot open the catalogue of a server that runs elsewhere.",
            hint="Start that server with MCP_ENABLE_MUTATION=1 instead.",
        )
    if options.attach:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "--attach is for clients on this machine; --http names a server that they share.",
            hint="Leave one of them out.",
        )
    url = endpoint(address)
    if file.address is None:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "Claude Desktop starts the servers of its file itself and skips entries with an "
            "address.",
            hint=f"Leave out --http to let it start one on this data folder. For {url} add a "
            f"custom connector under Settings > Connectors; "
            "that needs an https address that can be reached from the internet.",
        )
    entry: JsonObject = {"type": file.types[1]} if file.types else {}
    entry[file.address] = url
    if options.key and file.form is KeyForm.NAMED and not options.key_in_file:
        entry["bearer_token_env_var"] = KEY_VARIABLE
    elif options.key:
        name = "http_headers" if client is Client.CODEX else "headers"
        entry[name] = {"Authorization": f"Bearer {_reference(file, options.key, options)}"}
    return entry | dict(file.fields)


def _reference(file: ClientFile, key: str, options: ConnectOptions) -> str:
    if options.key_in_file:
        return key
    return file.form.value % (PROMPT["id"] if file.form is KeyForm.PROMPT else KEY_VARIABLE)


def endpoint(url: str) -> str:
    """Return the MCP endpoint; the address of a server without a path means its /mcp."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{url!r} is not an http or https address.",
            hint="For example http://127.0.0.1:8787/mcp.",
        )
    return urlunsplit(parts._replace(path="/mcp")) if parts.path in ("", "/") else url


def same_state() -> list[str]:
    """Return flags that give a server started by a client the state of this command."""
    run = session()
    config = run.config()
    flags = []
    if config.file is not None and (
        run.config_file is not None or config.file.parent == Path.cwd()
    ):
        flags += ["--config", str(config.file)]
    if config.sources["data"] != "default":
        flags += ["--data", str(config.settings.data)]
    return flags
