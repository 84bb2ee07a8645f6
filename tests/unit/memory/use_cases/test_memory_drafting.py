"""Secrets in drafts."""

from __future__ import annotations

from pathlib import Path

from commonplace.kernel.settings import MemorySettings
from memory_calls import Calls

LETTERS = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"


SECRETS = {
    "AWS access key": "aws key AKIA" + "QX7ZPL2MVN4TRB9D in the log",
    "GitHub token": "token ghp_" + LETTERS + "abcd",
    "Slack token": "xoxb-" + "123456789012-abcdefGHIJ",
    "Stripe key": "sk_live_" + LETTERS[:24],
    "Anthropic key": "sk-ant-" + "api03-" + LETTERS,
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "password in a URL": "postgres://app:" + "Tr0ub4dor3" + "@db.internal/app",
    "assigned secret": "DB_PASSWORD=" + "hV9x2LqP7rTz4KwN",
    "authorization header": "Authorization: Bearer " + LETTERS,
    "Azure key": "AccountName=a;AccountKey=" + LETTERS * 2 + "==;EndpointSuffix=core.windows.net",
    "Discord webhook": "https://discord.com/api/webhooks/123456789012345678/" + LETTERS * 2,
    "password on a command line": "curl -u admin:" + "Tr0ub4dor3 https://build.internal",
    "package registry token": "dckr_pat_" + LETTERS[:27],
    "model service key": "gsk_" + LETTERS + LETTERS[:20],
}


def test_masked_secrets_are_reported_and_never_stored(memory: Calls) -> None:
    added = memory(
        "rekall_add",
        type="config",
        title="Deploy key",
        content=SECRETS["GitHub token"],
        context=SECRETS["Stripe key"],
    )
    assert added["secrets_masked"] == ["GitHub token", "Stripe key"]
    assert memory("rekall_show", id=added["id"])["content"] == "token [masked: GitHub token]"


def test_refused_secrets_are_not_stored(tmp_path: Path) -> None:
    memory = Calls(tmp_path, MemorySettings(secrets="refuse"))
    error = memory.error(
        "rekall_add", type="config", title="Deploy key", content=SECRETS["GitHub token"]
    )
    assert error.code.name == "SECRET_REFUSED"
    assert LETTERS not in str(error.as_dict())
    assert memory("memory_list")["total"] == 0
    memory.close()


def test_secrets_in_a_project_are_masked_or_refused(memory: Calls, tmp_path: Path) -> None:
    secret = SECRETS["GitHub token"]
    added = memory("rekall_add", type="config", title="Deploy key", project=secret)
    assert added["secrets_masked"] == ["GitHub token"]
    assert memory("rekall_show", id=added["id"])["project"] == "token [masked: GitHub token]"
    other = memory.add("Another")
    memory("memory_update", id=other, project=secret)
    assert memory("rekall_show", id=other)["project"] == "token [masked: GitHub token]"
    strict = Calls(tmp_path / "strict", MemorySettings(secrets="refuse"))
    kept = strict.add("Another")
    assert (
        strict.error("rekall_add", type="config", title="Deploy key", project=secret).code.name
        == "SECRET_REFUSED"
    )
    assert strict.error("memory_update", id=kept, project=secret).code.name == "SECRET_REFUSED"
    strict.close()
