"""No secret and no hidden character survives, and ordinary text does."""

from __future__ import annotations

import random
import string
from functools import partial

import pytest

from commonplace.context.capture.engine.cleaning import MASK, clean_text
from measuring import runs_within

WORD = string.ascii_letters + string.digits


def draw(count: int, letters: str = WORD) -> str:
    chance = random.Random(count)
    return "".join(chance.choice(letters) for _ in range(count))


@pytest.mark.parametrize(
    ("template", "secret"),
    [
        ("export TOKEN={}", draw(24)),
        ("password: {}", "Tulip7x#"),
        ("the password is {}", "hunter22"),
        ("my passwd={}", "abcd1234"),
        ("login with -u admin:{} please", "s3cret9x"),
        ("mysql -u root -p{} shop", "pw9abcde"),
        ("curl -H 'Authorization: Bearer {}' x", draw(40)),
        ("psql postgres://shop:{}@db:5432/shop", "Kr7abcdefg!"),
        ("the key {} leaked", draw(40)),
        ("id {} in the log", draw(64, "0123456789abcdef")),
        ("client_secret = '{}'", draw(32)),
        ("card {}", "4111 1111 1111 1111"),
        ("das Passwort lautet {}", "Sommer2026!"),
        ("la contraseña es {}", "Verano2026!"),
        ("docker login -u bob -p {} registry", "D0ckerPw1"),
        ("redis-cli -a {} ping", "Redis9pass"),
        ("--password '{}' is used", "my pass 9"),
        ("my password is {}", "opensesame"),
        ("the password {} works", "hunter2x9"),
        ("pw: {}", "Zk81mmx"),
        ("the pin is {}", "482193"),
        ("alter user x identified by '{}'", "Sql9pass"),
        ("db.prod:5432:shop:admin:{}", "Pgpass99x"),
        ("seed phrase: {}", "witch collapse practice feed shame open"),
        ("HEROKU_API_KEY={}", "9b2d6f1a-3c4e-4f5a-8b7c-1d2e3f4a5b6c"),
        ("license ABCDE-12345-{}", "FGHIJ-67890-KLMNO"),
        ("ssh {}", "AAAAB3NzaC1yc2EAAAADAQABAAABgQ" + draw(60)),
    ],
)
def test_secrets_are_masked(template: str, secret: str) -> None:
    cleaned = clean_text(template.format(secret))
    assert secret not in cleaned
    assert MASK in cleaned


def test_a_secret_split_by_hidden_characters_is_masked() -> None:
    secret = "ghp_" + draw(36)
    hidden = secret[:10] + "\u200b" + secret[10:20] + "\u2060" + secret[20:]
    assert clean_text(f"use {hidden} here") == f"use {MASK} here"


@pytest.mark.parametrize(
    "text",
    [
        "The token is refreshed every hour.",
        "pytest -q tests/api/test_invoices.py::test_total",
        "src/commonplace/context/capture/engine/cleaning.py line 120",
        "Set DATABASE_URL to use query macros online, or run cargo sqlx prepare",
        "commit 1a2b3c4 of 2026-11-18T10:00:00Z",
        "Passwords must be hashed with argon2.",
        "npx playwright install --with-deps chromium",
        "django.db.utils.ProgrammingError: column does not exist",
        "ImportError: cannot import name DjangoFilterConnectionField",
        "password: required",
        "docker run -p 8080:80 nginx",
        "docker compose -p shop up -d",
        "the secret is stored in vault",
        "uses: actions/checkout@v4",
        "redis-cli -p 6379 ping",
    ],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert clean_text(text) == text


def test_escape_sequences_and_hidden_characters_are_dropped() -> None:
    assert clean_text("\x1b[31mred\x1b[0m a\u202eb\u200bc\x00") == "red abc"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("The root password was rotated to hunter2-Blue-Horse yesterday.", "hunter2-Blue-Horse"),
        ("log in with admin / Winter2026! on the box", "Winter2026"),
        ("das Passwort für den Server heißt Geheim!2026xyz", "Geheim"),
        ("le mot de passe du serveur est Baguette#9981", "Baguette"),
        ("la contraseña del servidor es Sol_y_Luna_88", "Sol_y"),
        ("the wifi key is 4417-9023-llama", "4417"),
        ('{"auths": {"reg": {"auth": "dXNlcjpkb2NrZXJwYXNzMTIz"}}}', "dXNlcj"),
        ("the TOTP seed JBSWY3DPEHPK3PXP belongs to the admin", "JBSWY3"),
        ("the token for the registry is abc123XYZ789", "abc123"),
        ("Authorization: Bearer abcdef123456", "abcdef"),
        ("export STRIPE_KEY=abcdef123456", "abcdef"),
        ("Remember the passphrase: correct horse battery staple for signing", "horse"),
        ("kubectl create secret generic x --from-literal=value=My$ecret1", "ecret1"),
        ("echo 'My$ecret1' | sudo -S systemctl restart x", "ecret1"),
        ("htpasswd -bc users admin My$ecret1", "ecret1"),
        ("openssl enc -aes-256-cbc -k My$ecret1 -in x", "ecret1"),
        ("mongosh -u root -p My$ecret1 db", "ecret1"),
        ("git clone https://My5ecretTok3n@git.internal/a/b", "My5ecret"),
        ("the pin of the door is 4711", "4711"),
        ("The license key is ABCD-EFGH-1234-5678", "EFGH"),
    ],
)
def test_a_credential_is_masked_where_a_sentence_speaks_of_one(text: str, secret: str) -> None:
    assert secret not in clean_text(text)
    assert "[masked]" in clean_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "The token is signed with RS256 and SHA-256, see docs/auth2.md and issue AUTH-1234.",
        "The password policy of 2026-11-10 asks for a 90-day rotation on db1.internal:5432.",
        "The key of the table orders_2026 is read by getOAuth2Token() from STRIPE_KEY_2.",
        "**Keys**: run `ssh-keygen -t ed25519` with oauth2-proxy 7.6.0 and Python3.12.",
        "Keys are in [the guide](docs/keys-2.md); log in as dev2@example.org.",
    ],
)
def test_names_versions_and_paths_beside_such_words_stay(text: str) -> None:
    assert clean_text(text) == text


def test_masking_stays_fast_on_hostile_texts() -> None:
    for part in ("a_", "pin ", "://a1", "password. A", "openssl ", "KEY=1", "passphrase: a b "):
        assert runs_within(5, partial(clean_text, part * (400_000 // len(part))))
