"""Secrets are found by their form; documentation, placeholders and code are not taken for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.kernel.settings import MemorySettings
from commonplace.memory.engine.secrets import find_secrets, mask_secrets
from memory_calls import Calls

LETTERS = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
SECRETS = {
    "AWS access key": "aws key AKIA" + "QX7ZPL2MVN4TRB9D in the log",
    "GitHub token": "token ghp_" + LETTERS + "abcd",
    "Slack token": "xoxb-" + "123456789012-abcdefGHIJ",
    "Stripe key": "sk_live_" + LETTERS[:24],
    "Anthropic key": "sk-ant-" + "api03-" + LETTERS,
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N",
    "password in a URL": "postgres://app:" + "Tr0ub4dor3" + "@db.internal/app",
    "assigned secret": "DB_PASSWORD=" + "hV9x2LqP7rTz4KwN",
    "authorization header": "Authorization: Bearer " + LETTERS,
}
HARMLESS = [
    "Set POSTGRES_PASSWORD=postgres in the compose file",
    "password: <your password here>",
    "api_key = os.environ['API_KEY']",
    "the secret is to warm the cache first",
    "client_secret: ${CLIENT_SECRET}",
    "https://user@example.com/path and postgres://user:password@localhost/db",
    "The token_endpoint_auth_method on the client object determines auth behavior.",
    "MCP_EXTERNAL_EMBEDDING_API_KEY selects the key; password_hash = bcrypt(password)",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
    "sk-learn and sk_learn are not keys",
]


@pytest.mark.parametrize(("kind", "text"), SECRETS.items())
def test_a_secret_is_found_and_masked_whole(kind: str, text: str) -> None:
    found = find_secrets(text)
    assert [secret.kind for secret in found] == [kind]
    masked = mask_secrets(text, found)
    assert f"[masked: {kind}]" in masked
    assert text[found[0].start : found[0].end] not in masked


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert find_secrets(text) == ()


def test_finding_secrets_takes_linear_time_on_hostile_text() -> None:
    for piece in ("password=", "a:b@", "-----BEGIN PRIVATE KEY-----", "eyJ", "x://y:"):
        find_secrets(piece * 20_000)


def test_masked_secrets_are_reported_and_never_stored(memory: Calls) -> None:
    added = memory("rekall_add", type="config", title="Deploy key", content=SECRETS["GitHub token"], context=SECRETS["Stripe key"])
    assert added["secrets_masked"] == ["GitHub token", "Stripe key"]
    assert memory("rekall_show", id=added["id"])["content"] == "token [masked: GitHub token]"


def test_refused_secrets_leave_nothing_behind(tmp_path: Path) -> None:
    memory = Calls(tmp_path, MemorySettings(secrets="refuse"))
    error = memory.error("rekall_add", type="config", title="Deploy key", content=SECRETS["GitHub token"])
    assert error.code.name == "SECRET_REFUSED"
    assert LETTERS not in str(error.as_dict())
    assert memory("memory_list")["total"] == 0
    memory.close()


def test_secrets_in_a_project_are_masked_or_refused_like_any_other(memory: Calls, tmp_path: Path) -> None:
    secret = SECRETS["GitHub token"]
    added = memory("rekall_add", type="config", title="Deploy key", project=secret)
    assert added["secrets_masked"] == ["GitHub token"]
    assert memory("rekall_show", id=added["id"])["project"] == "token [masked: GitHub token]"
    other = memory.add("Another")
    memory("memory_update", id=other, project=secret)
    assert memory("rekall_show", id=other)["project"] == "token [masked: GitHub token]"
    strict = Calls(tmp_path / "strict", MemorySettings(secrets="refuse"))
    kept = strict.add("Another")
    assert strict.error("rekall_add", type="config", title="Deploy key", project=secret).code.name == "SECRET_REFUSED"
    assert strict.error("memory_update", id=kept, project=secret).code.name == "SECRET_REFUSED"
    strict.close()
