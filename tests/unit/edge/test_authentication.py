"""Headers to AuthContext: every mode, every refusal."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from commonplace.edge.authenticate import (
    Authenticator,
    challenge,
    check_bind,
    derive_user_identity,
    is_loopback,
    protected_resource,
)
from commonplace.kernel.auth import LOCAL_TENANT, AuthContext, Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import AuthMode, AuthSettings
from commonplace.storage.credentials.keys import KeyStore


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "keys.json")


def authenticate(
    store: KeyStore, mode: AuthMode, token: str | None = None, **headers: str
) -> AuthContext:
    sent = dict(headers) if token is None else {"authorization": f"Bearer {token}", **headers}
    return Authenticator(AuthSettings(mode=mode), store).authenticate(sent)


def refusal(store: KeyStore, mode: AuthMode, **headers: str) -> CommonplaceError:
    with pytest.raises(CommonplaceError) as caught:
        Authenticator(AuthSettings(mode=mode), store).authenticate(headers)
    return caught.value


def test_without_auth_everyone_is_the_local_user(store: KeyStore) -> None:
    caller = authenticate(store, "none", "anything")
    assert (caller.tenant, caller.scopes, caller.configured) == (
        LOCAL_TENANT,
        frozenset(Scope),
        True,
    )
    assert caller.apikey_hash == hashlib.sha256(b"local").hexdigest()
    assert caller.model_key is None


@pytest.mark.parametrize(
    ("scope", "granted"),
    [
        (Scope.READ, {"read"}),
        (Scope.WRITE, {"read", "write"}),
        (Scope.ADMIN, {"read", "write", "admin"}),
    ],
)
def test_a_key_has_its_tenant_and_every_scope_up_to_its_own(
    scope: Scope, granted: set[str], store: KeyStore
) -> None:
    record, token = store.add("team-a", "alice", scope)
    caller = authenticate(store, "keys", token)
    assert (caller.tenant, caller.label, caller.key_id) == ("team-a", "alice", record.id)
    assert {scope.value for scope in caller.scopes} == granted
    assert caller.apikey_hash == hashlib.sha256(b"team-a").hexdigest()
    assert caller.model_key is None


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic abc",
        "Bearer wrong",
        "Bearer a b",
        "Bearer \x00",
        "Bearer " + "x" * 5000,
        "Bearer é",
    ],
)
def test_keys_mode_refuses_anything_but_a_key(header: str | None, store: KeyStore) -> None:
    store.add("a", "b", Scope.READ)
    error = refusal(store, "keys", **({} if header is None else {"authorization": header}))
    assert error.code.name == "UNAUTHENTICATED"


def test_a_revoked_key_is_refused_in_every_mode_that_has_keys(store: KeyStore) -> None:
    record, token = store.add("a", "b", Scope.READ)
    store.revoke(record.id)
    assert refusal(store, "keys", authorization=f"Bearer {token}").code.name == "UNAUTHENTICATED"
    assert (
        refusal(store, "passthrough", authorization=f"Bearer {token}").code.name
        == "UNAUTHENTICATED"
    )


def test_passthrough_makes_each_bearer_a_tenant_without_the_token_in_its_name(
    store: KeyStore,
) -> None:
    one, two = (
        authenticate(store, "passthrough", "sk-user-one"),
        authenticate(store, "passthrough", "sk-user-two"),
    )
    assert one.tenant != two.tenant
    assert one.apikey_hash == hashlib.sha256(b"sk-user-one").hexdigest()
    assert "sk-user-one" not in f"{one.tenant} {one.label} {one!r}"
    assert one.model_key == "sk-user-one"
    assert one.scopes == {Scope.READ, Scope.WRITE}
    assert not one.configured
    assert authenticate(store, "passthrough", "sk-user-one") == one


@pytest.mark.parametrize("header", [None, "Basic abc", "Bearer ", "Bearer cp_abcdefgh_" + "x" * 43])
def test_passthrough_needs_a_bearer_that_is_not_one_of_our_keys(
    header: str | None, store: KeyStore
) -> None:
    assert (
        refusal(
            store, "passthrough", **({} if header is None else {"authorization": header})
        ).code.name
        == "UNAUTHENTICATED"
    )


def test_passthrough_accepts_a_configured_key_and_never_gives_it_to_a_model(
    store: KeyStore,
) -> None:
    _, token = store.add("team-a", "alice", Scope.ADMIN)
    caller = authenticate(store, "passthrough", token)
    assert (caller.tenant, caller.model_key, caller.configured) == ("team-a", None, True)


def test_a_bearer_cannot_take_the_identity_of_a_named_tenant(store: KeyStore) -> None:
    store.add("team-a", "alice", Scope.READ)
    for name in ("local", "team-a"):
        assert (
            refusal(store, "passthrough", authorization=f"Bearer {name}").code.name
            == "UNAUTHENTICATED"
        )


def test_the_model_key_header_is_the_callers_and_never_one_of_ours(store: KeyStore) -> None:
    _, token = store.add("a", "b", Scope.READ)
    assert authenticate(store, "keys", token, **{"x-model-key": "sk-mine"}).model_key == "sk-mine"
    assert authenticate(store, "none", None, **{"x-model-key": "sk-mine"}).model_key == "sk-mine"
    assert authenticate(store, "keys", token, **{"x-model-key": token}).model_key is None
    assert authenticate(store, "keys", token, **{"x-model-key": "a b"}).model_key is None


def test_the_derived_identity_is_only_a_label(store: KeyStore) -> None:
    """Two bearers with one derived identity are still two tenants (files contract, section 3)."""
    token = "sk-user-one"
    caller = authenticate(store, "passthrough", token)
    assert caller.label == derive_user_identity(token)
    relabelled = AuthContext(
        caller.tenant, caller.scopes, "user-somebody-else", token_hash=caller.token_hash
    )
    assert (relabelled.tenant, relabelled.apikey_hash, relabelled.scopes) == (
        caller.tenant,
        caller.apikey_hash,
        caller.scopes,
    )
    impostor = authenticate(store, "passthrough", caller.label)
    assert impostor.tenant != caller.tenant
    assert impostor.apikey_hash != caller.apikey_hash


def test_wrong_keys_are_rate_limited_and_valid_ones_are_not(store: KeyStore) -> None:
    _, token = store.add("a", "b", Scope.READ)
    seen: list[str] = []
    authenticator = Authenticator(AuthSettings(mode="keys"), store, failures_per_minute=5)
    authenticator.on_refusal = lambda error, address: seen.append(error.code.name)
    codes = []
    for _ in range(8):
        with pytest.raises(CommonplaceError) as caught:
            authenticator.authenticate({"authorization": "Bearer wrong"})
        codes.append(caught.value.code.name)
    assert codes == ["UNAUTHENTICATED"] * 5 + ["CALL_RATE_LIMITED"] * 3
    assert seen == ["UNAUTHENTICATED"] * 5
    assert authenticator.authenticate({"authorization": f"Bearer {token}"}).tenant == "a"


def test_stdio_is_the_local_user_unless_a_key_is_set(store: KeyStore) -> None:
    _, token = store.add("a", "b", Scope.READ)
    authenticator = Authenticator(AuthSettings(), store)
    assert authenticator.stdio({}).tenant == LOCAL_TENANT
    limited = authenticator.stdio({"COMMONPLACE_KEY": token})
    assert (limited.tenant, limited.scopes) == ("a", {Scope.READ})
    with pytest.raises(CommonplaceError, match="COMMONPLACE_KEY"):
        authenticator.stdio({"COMMONPLACE_KEY": "wrong"})


def test_a_request_without_a_key_is_challenged_after_any_number_of_wrong_keys(
    store: KeyStore,
) -> None:
    authenticator = Authenticator(AuthSettings(mode="keys"), store, failures_per_minute=3)
    recorded: list[str] = []
    authenticator.on_refusal = lambda error, address: recorded.append(error.code.name)

    def told(headers: dict[str, str]) -> CommonplaceError:
        with pytest.raises(CommonplaceError) as caught:
            authenticator.authenticate(headers)
        return caught.value

    wrong = [told({"authorization": "Bearer wrong"}).code.name for _ in range(10)]
    assert wrong == ["UNAUTHENTICATED"] * 3 + ["CALL_RATE_LIMITED"] * 7
    keyless = [told({}) for _ in range(10)]
    assert {error.code.name for error in keyless} == {"UNAUTHENTICATED"}
    assert {challenge(error) for error in keyless} == {'Bearer realm="commonplace"'}
    assert (
        len(recorded) == 6
    )  # of each kind as many as the rate allows: a flood cannot fill the audit trail


def test_a_401_names_metadata_only_where_there_is_an_authorization_server(store: KeyStore) -> None:
    for settings in (
        AuthSettings(mode="keys"),
        AuthSettings(mode="keys", resource_url="https://mcp.example.org/mcp"),
    ):
        with pytest.raises(CommonplaceError) as caught:
            Authenticator(settings, store).authenticate({"host": "evil.example"})
        assert challenge(caught.value) == 'Bearer realm="commonplace"'
        assert "evil" not in str(caught.value.as_dict())
    settings = AuthSettings(
        mode="keys",
        resource_url="https://mcp.example.org/base/mcp",
        authorization_servers=("https://login.example.org",),
    )
    with pytest.raises(CommonplaceError) as caught:
        Authenticator(settings, store).authenticate({"host": "evil.example"})
    assert (
        'resource_metadata="https://mcp.example.org/base/.well-known/oauth-protected-resource/mcp"'
        in challenge(caught.value)
    )
    document = protected_resource(settings)
    assert document["resource"] == "https://mcp.example.org/base/mcp"
    assert document["authorization_servers"] == ["https://login.example.org"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("127.evil.org", False),
    ],
)
def test_only_loopback_may_be_bound_without_auth(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    if loopback:
        check_bind(host, AuthSettings())
    else:
        with pytest.raises(CommonplaceError, match="Refusing to listen"):
            check_bind(host, AuthSettings())
        check_bind(host, AuthSettings(mode="keys"))
        check_bind(host, AuthSettings(mode="passthrough"))
