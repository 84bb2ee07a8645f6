"""Who a request comes from: headers in, a frozen AuthContext out. Nobody else reads a credential."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from commonplace.dispatch.limiter import Buckets
from commonplace.kernel.auth import LOCAL_TENANT, AuthContext, Scope, Tenant, local_user, scopes_up_to
from commonplace.kernel.errors import CALL_RATE_LIMITED, INVALID_CONFIG, UNAUTHENTICATED, CommonplaceError
from commonplace.kernel.settings import AuthSettings

OUR_PREFIX = "cp_"
KEY_VARIABLE = "COMMONPLACE_KEY"
MODEL_KEY_HEADER = "x-model-key"
MAX_TOKEN = 4096
METADATA_PATH = "/.well-known/oauth-protected-resource"
LOOPBACK_NAMES = frozenset({"localhost", "::1", "[::1]"})
_TOKEN = re.compile(r"[\x21-\x7e]+")


class Key(Protocol):
    """What authentication needs of a stored key."""

    @property
    def id(self) -> str: ...
    @property
    def tenant(self) -> Tenant: ...
    @property
    def label(self) -> str: ...
    @property
    def scope(self) -> Scope: ...


class Keys(Protocol):
    def find(self, token: str) -> Key | None: ...

    def tenants(self) -> frozenset[Tenant]: ...


class Authenticator:
    """`authenticate(headers)` for HTTP (names in lower case), `stdio(environ)` for the process's own pipe."""

    def __init__(self, settings: AuthSettings, keys: Keys, failures_per_minute: int = 30) -> None:
        self._mode = settings.mode
        self._resource_url = settings.resource_url
        self._keys = keys
        self._failures = Buckets(failures_per_minute / 60, failures_per_minute)
        self.on_refusal: Callable[[CommonplaceError], None] = lambda error: None

    def authenticate(self, headers: Mapping[str, str]) -> AuthContext:
        """The caller, or UNAUTHENTICATED. In mode `none` everyone is the local user: the server then binds loopback only."""
        model_key = _header(headers.get(MODEL_KEY_HEADER))
        if self._mode == "none":
            user = local_user()
            return AuthContext(user.tenant, user.scopes, user.label, model_key=model_key) if model_key else user
        token = bearer(headers)
        key = self._keys.find(token) if token else None
        if key is not None:
            return _of_key(key, model_key)
        if token and self._mode == "passthrough" and not token.startswith(OUR_PREFIX) and token not in self._reserved():
            return passthrough(token)
        raise self._refuse(headers, token)

    def stdio(self, environ: Mapping[str, str]) -> AuthContext:
        """The local user, or the key in COMMONPLACE_KEY where an agent should have less."""
        token = environ.get(KEY_VARIABLE)
        if not token:
            return local_user()
        key = self._keys.find(token)
        if key is None:
            raise CommonplaceError(
                UNAUTHENTICATED, f"{KEY_VARIABLE} holds no valid key.", hint="commonplace keys list shows which keys are active."
            )
        return _of_key(key, None)

    def _reserved(self) -> frozenset[str]:
        """A bearer's hash is its tenant's identity, so a bearer may not be the name of a tenant that has a key."""
        return frozenset((LOCAL_TENANT, *self._keys.tenants()))

    def _refuse(self, headers: Mapping[str, str], token: str | None) -> CommonplaceError:
        wait = self._failures.wait("")
        if wait > 0:
            return CommonplaceError(
                CALL_RATE_LIMITED,
                "Too many requests without a valid key.",
                details={"retry_after_seconds": max(1, math.ceil(wait))},
                retryable=True,
            )
        self._failures.take("")
        error = CommonplaceError(
            UNAUTHENTICATED,
            "This key is not valid." if token else "This server needs a key.",
            hint="Send `Authorization: Bearer KEY`; the operator makes keys with `commonplace keys add`.",
            details={
                "resource_metadata": metadata_url(self._resource_url, headers),
                **({"oauth_error": "invalid_token"} if headers.get("authorization") else {}),
            },
        )
        self.on_refusal(error)
        return error


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token of an Authorization header, or None where it is absent or malformed."""
    scheme, _, rest = headers.get("authorization", "").strip().partition(" ")
    token = rest.strip()
    return token if scheme.lower() == "bearer" and len(token) <= MAX_TOKEN and _TOKEN.fullmatch(token) else None


def passthrough(token: str) -> AuthContext:
    """Contract 003: the bearer is its own tenant, and the caller's key for models. It is kept only as the latter."""
    hashed = hashlib.sha256(token.encode()).hexdigest()
    return AuthContext(
        tenant=Tenant(f"bearer-{hashed[:32]}"),
        scopes=scopes_up_to(Scope.WRITE),
        label=derive_user_identity(token),
        model_key=token,
        token_hash=hashed,
        configured=False,
    )


def derive_user_identity(token: str) -> str:
    """A name for logs and audit labels (contract 003 section 3). It decides nothing: two tokens may share one."""
    return f"user-{hashlib.sha256(token.encode()).hexdigest()[:8]}"


def challenge(error: CommonplaceError) -> str:
    """The WWW-Authenticate header of a 401, with the metadata address that MCP clients follow. Who sent nothing is told of no error
    (RFC 6750, section 3.1)."""
    metadata = str(error.details.get("resource_metadata", "")).replace("\\", "").replace('"', "")
    wrong = error.details.get("oauth_error")
    reason = f'error="{wrong}", error_description="{error.message}", ' if wrong else ""
    return f'Bearer realm="commonplace", {reason}resource_metadata="{metadata}"'


def protected_resource(settings: AuthSettings, headers: Mapping[str, str]) -> dict[str, object]:
    """RFC 9728 metadata of /mcp."""
    document: dict[str, object] = {
        "resource": f"{base_url(settings.resource_url, headers)}/mcp",
        "resource_name": "Commonplace",
        "bearer_methods_supported": ["header"],
        "scopes_supported": [scope.value for scope in Scope],
    }
    if settings.authorization_servers:
        document["authorization_servers"] = list(settings.authorization_servers)
    return document


def base_url(configured: str, headers: Mapping[str, str]) -> str:
    if configured:
        parts = urlsplit(configured)
        return f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/').removesuffix('/mcp')}"
    host = re.sub(r"[^A-Za-z0-9.:\[\]_-]", "", headers.get("host", "localhost"))
    return f"http://{host}"


def metadata_url(configured: str, headers: Mapping[str, str]) -> str:
    return f"{base_url(configured, headers)}{METADATA_PATH}/mcp"


def is_loopback(host: str) -> bool:
    return host in LOOPBACK_NAMES or host == "127.0.0.1" or (host.startswith("127.") and re.fullmatch(r"[0-9.]+", host) is not None)


def check_bind(host: str, settings: AuthSettings) -> None:
    """A server that others can reach needs keys."""
    if settings.mode == "none" and not is_loopback(host):
        raise CommonplaceError(
            INVALID_CONFIG,
            f"Refusing to listen on {host}: others could reach it, and auth mode `none` makes everyone the local user.",
            hint="Set settings.auth.mode to keys (commonplace keys add), or listen on 127.0.0.1.",
        )


def _of_key(key: Key, model_key: str | None) -> AuthContext:
    return AuthContext(key.tenant, scopes_up_to(key.scope), key.label, key_id=key.id, model_key=model_key)


def _header(value: str | None) -> str | None:
    """A model key as sent, unless it is one of ours: those never leave this server."""
    if value is None:
        return None
    value = value.strip()
    return value if value and len(value) <= MAX_TOKEN and not value.startswith(OUR_PREFIX) and _TOKEN.fullmatch(value) else None
