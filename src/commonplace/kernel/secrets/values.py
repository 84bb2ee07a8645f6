"""Judge whether a value is a secret: neither a name, a path, a reference nor a placeholder."""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections import Counter
from dataclasses import dataclass

FILLER = re.compile(r"([xX*0.])\1{7,}")  # in keys of documentation, where digits should be
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PLACEHOLDER = re.compile(
    r"(?i)^(?:\$|%|<|\{|\[|\]|x{3,}|\*{3,}|\.{3}|your|my[-_]|my(?:pass|secret|token|key)|some|"
    r"string\b|test|dummy|fake|example|sample|"
    r"change|replace|redacted|none$|null$|true$|false$|os\.|process\.|env\.|settings\.|config\.|"
    r"getenv)|(?<![a-z])example(?![a-z])|placeholder|changeme|\*{3}"
)
HARMLESS_PASSWORDS = frozenset(
    {"password", "postgres", "pass", "root", "admin", "user", "guest", "pwd", "secret", "test"}
)
_REFERENCE = re.compile(
    r"(?i)^(?:\.{0,2}/|~/|[a-z]:\\|[a-z][a-z0-9+.-]{1,20}://|arn:|op:|vault:|secret/|projects/|"
    r"refs?/)"
)
# Words, numbers and short mixtures such as v2 or eu1, joined in any way: a name, not random.
NAME = re.compile(r"[A-Za-z]*\d{0,4}(?:[_./:@#-][A-Za-z]*\d{0,4})*")
_MINIMUM_ENTROPY = 3.0  # bits per character; words and repeated characters have less
_KEY_CHARACTERS = 12
_SIGNS = frozenset("!#$%&*+=?@^~")  # of chosen passwords; names have others


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential in a text."""

    kind: str
    start: int
    end: int


def is_secret_value(name: str, value: str) -> bool:
    """Tell whether a value after a name is a password, or random enough for an issued key."""
    if name.startswith(("pass", "pwd", "mdp", "mot")):
        return looks_like_password(value)
    return len(value) >= _KEY_CHARACTERS and looks_random(value)


def looks_like_password(value: str) -> bool:
    """Tell whether a value has letters and other characters, and is not harmless."""
    if _is_harmless(value) or len(set(value)) < 5:
        return False
    return any(map(str.isalpha, value)) and any(not char.isalpha() for char in value)


def looks_random(value: str) -> bool:
    """Tell whether a value has mixed characters and high entropy."""
    if _is_harmless(value) or len(set(value)) < 6:
        return False
    digits = any(char.isdigit() for char in value)
    letters = any(char.isalpha() for char in value)
    mixed = any(char.islower() for char in value) and any(char.isupper() for char in value)
    symbols = any(not char.isalnum() for char in value.strip("._-/"))
    return letters and (digits or (mixed and symbols)) and _entropy(value) >= _MINIMUM_ENTROPY


def _is_harmless(value: str) -> bool:
    return bool(
        " " in value.strip()
        or PLACEHOLDER.search(value)
        or _REFERENCE.match(value)
        or NAME.fullmatch(value)
    )


def looks_strong(value: str) -> bool:
    """Tell whether a word in a sentence is a password: digits, small letters, and other signs."""
    return (
        looks_like_password(value)
        and any(map(str.isdigit, value))
        and any(map(str.islower, value))
        and (any(map(str.isupper, value)) or not _SIGNS.isdisjoint(value))
    )


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())


def is_login(value: str) -> bool:
    """Tell whether a value is a user and a password in base64, as in Docker's config.json."""
    try:
        user, _, password = b64decode(value, validate=True).decode("ascii").partition(":")
    except ValueError:
        return False
    return user.isprintable() and password.isprintable() and bool(user and password)
