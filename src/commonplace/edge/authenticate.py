"""Authentication: headers in, a frozen AuthContext out. No other module reads a credential."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol
from urllib.parse import urlsplit

from commonplace.kernel.auth import (
    LOCAL_TENANT,
    AuthContext,
    Scope,
    Tenant,
    bearer_tenant,
    local_user,
    scopes_up_to,
)
from commonplace.kernel.errors import (
    CALL_RATE_LIMITED,
    INVALID_CONFIG,
    UNAUTHENTICATED,
    CommonplaceError,
)
from commonplace.kernel.settings import AuthSettings
from commonplace.kernel.token_bucket import TokenBuckets

OUR_PREFIX = "cp_"
KEY_VARIABLE = "COMMONPLACE_KEY"
MODEL_KEY_HEADER = "x-model-key"
MAX_TOKEN = 4096
METADATA_PATH = "/.well-known/oauth-protected-resource"
LOOPBACK_NAMES = frozenset({"localhost", "::1", "[::1]"})
_UNQUOTED = str.maketrans({'"': "'", "\\": None})
_TOKEN = re.compile(r"[\x21-\x7e]+")


class StoredKey(Protocol):
    """What authentication needs to know of a key."""

    @property
    def id(self) -> str: ...
    @property
    def tenant(self) -> Tenant: ...
    @property
    def label(self) -> str: ...
    @property
    def scope(self) -> Scope: ...
    @property
    def may_read(self) -> tuple[str, ...]: ...


class KeyDirectory(Protocol):
    """The keys of this server."""

    def find(self, token: str) -> StoredKey | None: ...

    def tenants(self) -> frozenset[Tenant]: ...


class Authenticator:
    """Authenticates requests over HTTP by their headers, and the client of stdio by a variable.

    Header names are in lower case. `on_refusal` is called for refused requests, at a bounded rate.
    """

    def __init__(
        self, settings: AuthSettings, keys: KeyDirectory, failures_per_minute: int = 30
    ) -> None:
        self._mode = settings.mode
        self._metadata_url = metadata_url(settings)
        self._keys = keys
        self._failures = TokenBuckets(failures_per_minute / 60, failures_per_minute)
        self.on_refusal: Callable[[CommonplaceError, str | None], None] = lambda error, address: (
            None
        )

    def authenticate(self, headers: Mapping[str, str], address: str | None = None) -> AuthContext:
        """Return the caller. Raises UNAUTHENTICATED and CALL_RATE_LIMITED.

        In mode `none` everyone is the local user: the server then binds loopback only. `address`
        is where the request came from, for the audit trail.
        """
        model_key = _model_key(headers)
        if self._mode == "none":
            user = local_user()
            if not model_key and not address:
                return user
            return replace(user, model_key=model_key, address=address)
        token = bearer(headers)
        key = self._keys.find(token) if token else None
        if key is not None:
            return _context_of(key, model_key, address)
        if (
            token
            and self._mode == "passthrough"
            and not token.startswith(OUR_PREFIX)
            and token not in self._reserved()
        ):
            return passthrough(token, address)
        raise self._refuse(headers, token, address)

    def stdio(self, environ: Mapping[str, str]) -> AuthContext:
        """Return the local user, or the owner of the key in COMMONPLACE_KEY, which may do less."""
        token = environ.get(KEY_VARIABLE)
        if not token:
            return local_user()
        key = self._keys.find(token)
        if key is None:
            raise CommonplaceError(
                UNAUTHENTICATED,
                f"The key in {KEY_VARIABLE} is not valid.",
                hint="commonplace keys list shows which keys are active.",
            )
        return _context_of(key, None)

    def beside_stdio(
        self, headers: Mapping[str, str], environ: Mapping[str, str], address: str | None = None
    ) -> AuthContext:
        """Return the caller of a stdio server's dashboard, who may do at most what stdio may.

        Raises UNAUTHENTICATED once the key in COMMONPLACE_KEY is revoked.
        """
        own = self.stdio(environ)
        if self._mode == "none":
            return replace(own, model_key=_model_key(headers), address=address)
        caller = self.authenticate(headers, address)
        if own.key_id is None:
            return caller
        if caller.tenant != own.tenant:
            raise CommonplaceError(
                UNAUTHENTICATED,
                "This dashboard serves the tenant of its own process only.",
                hint=f"Use a key of the tenant whose key is in {KEY_VARIABLE}.",
            )
        return replace(
            caller, scopes=caller.scopes & own.scopes, may_read=caller.may_read & own.may_read
        )

    def _reserved(self) -> frozenset[str]:
        """Return the tokens that are refused as bearers: names of tenants that have a key.

        The hash of a bearer identifies its tenant, as the hash of its name does for others.
        """
        return frozenset((LOCAL_TENANT, *self._keys.tenants()))

    def _refuse(
        self, headers: Mapping[str, str], token: str | None, address: str | None
    ) -> CommonplaceError:
        """Return the error, and record the refusal while their rate allows it.

        The rate bounds guessing, and what refusals write to the disk. A request without
        credentials guesses nothing and always gets its 401, by which clients discover how to
        authenticate.
        """
        metadata = {"resource_metadata": self._metadata_url} if self._metadata_url else {}
        is_keyless = not headers.get("authorization")
        bucket = "keyless" if is_keyless else "wrong"
        wait = self._failures.wait(bucket)
        if wait > 0 and not is_keyless:
            return CommonplaceError(
                CALL_RATE_LIMITED,
                "Too many requests with a wrong key.",
                hint="Wait, then send a valid key; the operator makes keys with `commonplace "
                "keys add`.",
                details={"retry_after_seconds": max(1, math.ceil(wait)), **metadata},
                retryable=True,
            )
        error = CommonplaceError(
            UNAUTHENTICATED,
            "This key is not valid." if token else "This server needs a key.",
            hint="Send `Authorization: Bearer KEY`; the operator makes keys with `commonplace "
            "keys add`.",
            details={**metadata, **({} if is_keyless else {"oauth_error": "invalid_token"})},
        )
        if wait == 0:
            self._failures.take(bucket)
            self.on_refusal(error, address)
        return error


def bearer(headers: Mapping[str, str]) -> str | None:
    """Return the token of the Authorization header, or None where it is absent or malformed."""
    scheme, _, rest = headers.get("authorization", "").strip().partition(" ")
    token = rest.strip()
    return (
        token
        if scheme.lower() == "bearer" and len(token) <= MAX_TOKEN and _TOKEN.fullmatch(token)
        else None
    )


def passthrough(token: str, address: str | None = None) -> AuthContext:
    """Return the caller whose bearer is its own tenant and its key for models.

    See docs/reference/contracts/files.md, section 3.
    """
    hashed = hashlib.sha256(token.encode()).hexdigest()
    return AuthContext(
        tenant=bearer_tenant(hashed),
        scopes=scopes_up_to(Scope.WRITE),
        label=derive_user_identity(token),
        model_key=token,
        token_hash=hashed,
        configured=False,
        address=address,
    )


def derive_user_identity(token: str) -> str:
    """Return a name for logs and audit, not unique (docs/reference/contracts/files.md, 3)."""
    return f"user-{hashlib.sha256(token.encode()).hexdigest()[:8]}"


def challenge(error: CommonplaceError) -> str:
    """Return the WWW-Authenticate header of a 401.

    It has the metadata address where an authorization server is configured. Omit the `error`
    attribute when no credentials were sent (RFC 6750, section 3.1).
    """
    attributes = {"realm": "commonplace"}
    if "oauth_error" in error.details:
        attributes |= {"error": error.details["oauth_error"], "error_description": error.message}
    if "resource_metadata" in error.details:
        attributes["resource_metadata"] = error.details["resource_metadata"]
    return "Bearer " + ", ".join(
        f'{name}="{str(value).translate(_UNQUOTED)}"' for name, value in attributes.items()
    )


def has_metadata(settings: AuthSettings) -> bool:
    """Tell whether metadata is served; clients that find it use OAuth, not a configured key."""
    return settings.mode != "none" and bool(
        settings.authorization_servers and settings.resource_url
    )


def protected_resource(settings: AuthSettings) -> dict[str, object]:
    """Return the RFC 9728 metadata of /mcp, made of settings alone: a client chooses its Host."""
    return {
        "resource": f"{_base_url(settings.resource_url)}/mcp",
        "resource_name": "Commonplace",
        "bearer_methods_supported": ["header"],
        "scopes_supported": [scope.value for scope in Scope],
        "authorization_servers": list(settings.authorization_servers),
    }


def metadata_url(settings: AuthSettings) -> str | None:
    return (
        f"{_base_url(settings.resource_url)}{METADATA_PATH}/mcp" if has_metadata(settings) else None
    )


def _base_url(resource_url: str) -> str:
    parts = urlsplit(resource_url)
    return f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/').removesuffix('/mcp')}"


def is_loopback(host: str) -> bool:
    return (
        host in LOOPBACK_NAMES
        or host == "127.0.0.1"
        or (host.startswith("127.") and re.fullmatch(r"[0-9.]+", host) is not None)
    )


def check_bind(host: str, settings: AuthSettings) -> None:
    """Refuse to listen where others can reach a server without keys."""
    if settings.mode == "none" and not is_loopback(host):
        raise CommonplaceError(
            INVALID_CONFIG,
            f"Refusing to listen on {host}: others could reach it, and auth mode `none` makes "
            f"everyone the local user.",
            hint="Set settings.auth.mode to keys (commonplace keys add), or listen on 127.0.0.1.",
        )


def _context_of(key: StoredKey, model_key: str | None, address: str | None = None) -> AuthContext:
    return AuthContext(
        key.tenant,
        scopes_up_to(key.scope),
        key.label,
        key_id=key.id,
        model_key=model_key,
        may_read=frozenset(key.may_read),
        address=address,
    )


def _model_key(headers: Mapping[str, str]) -> str | None:
    """Return the caller's key for models; a key of this server is dropped and never leaves it."""
    value = headers.get(MODEL_KEY_HEADER, "").strip()
    return (
        value
        if value
        and len(value) <= MAX_TOKEN
        and not value.startswith(OUR_PREFIX)
        and _TOKEN.fullmatch(value)
        else None
    )
