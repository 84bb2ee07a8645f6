"""Finds credentials in text before it is kept: known key formats, private keys, and values assigned to secret-sounding names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

# Formats that vendors publish; each is specific enough to stand alone.
_KNOWN: tuple[tuple[str, str], ...] = (
    ("AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})\b"),
    ("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,64}\b"),
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}\b"),
    ("Slack webhook", r"https://hooks\.slack\.com/services/[A-Z0-9]{6,}/[A-Z0-9]{6,}/[A-Za-z0-9]{16,}"),
    ("Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{20,200}"),
    ("OpenAI key", r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,200}\b"),
    ("Stripe key", r"\b[rs]k_live_[A-Za-z0-9]{16,200}\b"),
    ("Google API key", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("Google OAuth secret", r"\bGOCSPX-[A-Za-z0-9_-]{20,40}\b"),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}\b"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,60}\b"),
    ("JSON Web Token", r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
    ("password in a URL", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@?#'\"]{1,100}:(?P<url>[^\s:/@?#'\"]{3,200})@"),
)
_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_ASSIGNED = re.compile(
    r"(?i)\b[\w.-]{0,40}(?:passw(?:or)?d|passwd|secret(?:[_-]?key)?|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|"
    r"client[_-]?secret|private[_-]?key|mot[_-]?de[_-]?passe)[\w-]{0,20}[\"']?[ \t]{0,3}(?:=>|:=|=|:)[ \t]{0,3}"
    r"(?:(?P<q>[\"'])(?P<quoted>[^\"'\n]{8,200})(?P=q)|(?P<bare>[^\s\"'`,;<>(){}\[\]]{12,200}))"
)
_BEARER = re.compile(r"(?i)\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}(?P<bare>[A-Za-z0-9._~+/=-]{16,500})")
# What every form above holds: most texts hold none of it and are not looked at further.
_TRIGGER = re.compile(
    r"PRIVATE KEY|A[KS]IA[0-9A-Z]{16}|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|hooks\.slack|sk-[a-zA-Z0-9]|[rs]k_live_|AIza|GOCSPX-|"
    r"SG\.|npm_|pypi-AgE|hf_|eyJ|://[^\s/@]{1,100}:[^\s/@]{1,200}@|"
    r"(?i:passw|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|private[_-]?key|mot[_-]?de[_-]?passe|authorization)"
)
# One of these is in every text that the trigger finds, letters folded: looking for them costs a tenth of the pattern.
_SIGNS = (
    *("private key", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "hooks.slack", "sk-"),
    *("k_live_", "aiza", "gocspx-", "sg.", "npm_", "pypi-age", "hf_", "eyj", "://", "passw", "secret", "key", "token", "passe", "author"),
)
_KNOWN_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _KNOWN)
# Values that documentation uses in place of the real one.
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\$|%|<|\{|x{3,}|\*{3,}|\.{3}|your|my[-_]|some|test|dummy|fake|example|sample|change|replace|redacted|secret|password|none$|null$|"
    r"true$|false$|os\.|process\.|env\.|settings\.|config\.|getenv)|example|placeholder|changeme|\*{3}"
)
_MINIMUM_ENTROPY = 3.0  # bits a character; words and repeated characters stay below
MASK = "[masked: {}]"


@dataclass(frozen=True, slots=True)
class Secret:
    kind: str
    start: int
    end: int


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Where credentials stand, in order, without overlaps."""
    folded = text.casefold()
    if not any(sign in folded for sign in _SIGNS) or not _TRIGGER.search(text):
        return ()
    found = list(_private_keys(text))
    for kind, pattern in _KNOWN_PATTERNS:
        for match in pattern.finditer(text):
            if "url" in pattern.groupindex:
                if not _PLACEHOLDER.search(match["url"]) and match["url"] not in _HARMLESS_PASSWORDS:
                    found.append(Secret(kind, match.start("url"), match.end("url")))
            else:
                found.append(Secret(kind, match.start(), match.end()))
    for match in _BEARER.finditer(text):
        if _random_looking(match["bare"]):
            found.append(Secret("authorization header", match.start("bare"), match.end("bare")))
    for match in _ASSIGNED.finditer(text):
        group = "quoted" if match["quoted"] else "bare"
        if _random_looking(match[group]):
            found.append(Secret("assigned secret", match.start(group), match.end(group)))
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda item: (item.start, -item.end)):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return tuple(kept)


def _private_keys(text: str) -> Iterator[Secret]:
    """From its BEGIN line to its END line, or to the end of a text that was cut off."""
    at = 0
    while begin := _KEY_BEGIN.search(text, at):
        end = _KEY_END.search(text, begin.end())
        at = end.end() if end else len(text)
        yield Secret("private key", begin.start(), at)


def mask_secrets(text: str, secrets: tuple[Secret, ...]) -> str:
    parts: list[str] = []
    at = 0
    for secret in secrets:
        parts += (text[at : secret.start], MASK.format(secret.kind))
        at = secret.end
    return "".join((*parts, text[at:]))


_HARMLESS_PASSWORDS = frozenset({"password", "postgres", "pass", "root", "admin", "user", "guest", "pwd"})


def _random_looking(value: str) -> bool:
    """Mixed characters and high entropy, or it is prose, a name or a placeholder."""
    if _PLACEHOLDER.search(value) or " " in value.strip() or len(set(value)) < 6:
        return False
    digits = any(char.isdigit() for char in value)
    letters = any(char.isalpha() for char in value)
    mixed = any(char.islower() for char in value) and any(char.isupper() for char in value)
    symbols = any(not char.isalnum() for char in value.strip("._-/"))
    return letters and (digits or (mixed and symbols)) and _entropy(value) >= _MINIMUM_ENTROPY


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
