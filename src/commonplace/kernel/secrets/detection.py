"""Find credentials in text: known formats, passwords in URLs, values assigned to secret names.

A masked text is lost, so names, paths, references and placeholders after such a name are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from commonplace.kernel.secrets.formats import SIGNS, URL_PASSWORD, URL_TOKEN, private_keys
from commonplace.kernel.secrets.manifests import SIGN as MANIFEST_SIGN
from commonplace.kernel.secrets.manifests import find_in_manifests
from commonplace.kernel.secrets.names import ABOUT, CHOSEN, ISSUED, SCHEMES
from commonplace.kernel.secrets.pairs import find_cookies, find_in_fields
from commonplace.kernel.secrets.values import (
    FILLER,
    HARMLESS_PASSWORDS,
    PLACEHOLDER,
    UUID,
    Secret,
    is_secret_value,
    looks_random,
    looks_strong,
)

# NAME = value, "name": "value", name => value, --name value; `q` is the quote around the value.
_ASSIGNED = re.compile(
    rf"(?P<name>{CHOSEN}|{ISSUED})(?P<tail>[\w-]{{0,20}})[\"']?"
    r"(?:[ \t\u00a0]{0,3}(?:=>|:=|=|:)[ \t]{0,3}|(?P<space>[ \t]))"
    r"(?:(?:[bruf]{1,2}(?=[\"']))?(?P<q>[\"'])(?P<quoted>[^\"'\n]{6,4000})(?P=q)|"
    r"(?P<bare>[^\s\"'`,;<>(){}\[\]]{8,4000}))"
)
_IS = r"(?:is|was|est|était|valait|vaut|c['\u2019]est)(?:[ \t\u00a0]{0,2}:)?"
# "The password is …", "the password of the staging admin is …", "avec le mot de passe …".
_OF = r"[ \t](?:(?:of|for|to|du|de|des|pour)[ \t]|d['\u2019])"
_NOW = r"(?:[ \t](?:now|still|désormais|maintenant|toujours))?"
_SAID = re.compile(
    rf"(?:(?:{CHOSEN})(?:{_OF}[^.,;:\n]{{1,50}}?)?(?:[ \t]{_IS}{_NOW}[ \t]|[ \t]{{0,2}}:[ \t])|"
    r"(?:mots?[ -]de[ -]passe|mdp)(?:[ \t][\w'\u2019-]{1,20}){1,3}[ \t\u00a0]{0,2}:[ \t]|"
    rf"\b(?:with|using|avec)[ \t](?:(?:the|le)[ \t])?(?:{CHOSEN})[ \t])"
    r"[\"'`]?(?P<value>[^\s\"'`,;<>(){}\[\]]{8,200})"
)
# "The auth token is …", "le cookie de session valait …", "auth token …": a long word, and before it
# what says that it is a secret.
_LONG_WORD = re.compile(
    rf"(?:{_IS}|token|key|cookie)[ \t][\"'`]?"
    r"(?P<value>[^\s\"'`,;:<>(){}\[\]]{24,400})"
)
_SAYS_SECRET = re.compile(
    rf"(?:(?:{ISSUED}|session|cookie)(?:[ \t](?:(?:of|for|de|du|pour)[ \t]|d['\u2019])"
    rf"[^\s,;:]{{1,30}}(?:[ \t][^\s,;:]{{1,30}})?|(?<=cookie)[ \t][\w.-]{{1,40}})?[ \t]{_IS}|"
    r"(?:auth|access|api|bearer|refresh|session)[ _-](?:token|key|cookie))[ \t][\"'`]?$"
)
_HEADER = re.compile(
    rf"(?:authorization[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?(?:{SCHEMES})\s{{1,3}}"
    r"(?P<value>[a-z0-9._~+/=-]{16,2000})|"
    r"\bbearer\s{1,3}(?P<alone>[a-z0-9._~+/-]{20,2000}={0,2})(?![\w=])|"
    r"authorization[\"']\s{0,3}[:=]\s{0,3}[\"'](?P<raw>[^\s\"']{32,2000})[\"'])"
)
# "Credentials of the staging: admin / …".
_LOGIN_SAID = re.compile(
    r"(?:identifiants?|credentials?|creds)\b[^:\n]{0,40}:\s{0,3}[\"'`]?[\w.@+-]{1,64}[\"'`]?"
    r"(?:\s{1,3}[/|:]\s{1,3}|[/:])[\"'`]?(?P<value>[^\s\"'`,;<>(){}\[\]]{8,200})"
)
_PUBLIC = re.compile(r"(?i)public(?:[_-]?key)?[_-]?$")
_OPTION = re.compile(r"(?<!\S)--?[\w-]*$")
SHORTEST = 12  # characters: a name, a sign and a value
MASK = "[masked: {}]"


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the credentials in a text, in order, without overlaps."""
    if len(text) < SHORTEST:
        return ()
    found = [*_find_by_format(text), *_find_in_addresses(text), *_find_by_name(text)]
    if MANIFEST_SIGN in text:
        found += find_in_manifests(text)
    if not found:
        return ()
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda item: (item.start, -item.end)):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
        elif secret.end > kept[-1].end:
            kept[-1] = replace(kept[-1], end=secret.end)
    return tuple(kept)


def mask_secrets(text: str, secrets: tuple[Secret, ...], mask: str = MASK) -> str:
    """Replace credentials in a text."""
    parts: list[str] = []
    at = 0
    for secret in secrets:
        parts += (text[at : secret.start], mask.format(secret.kind))
        at = secret.end
    return "".join((*parts, text[at:]))


def _find_by_format(text: str) -> Iterator[Secret]:
    if "PRIVATE KEY" in text:
        yield from (Secret("private key", start, end) for start, end in private_keys(text))
    for known in dict.fromkeys([known for sign, known in SIGNS if sign in text]):
        group = "value" if "value" in known.pattern.groupindex else 0
        yield from (
            Secret(known.kind, match.start(group), match.end(group))
            for match in known.pattern.finditer(text)
            if known.kind == "private key" or not FILLER.search(match[group])
        )


def _find_in_addresses(text: str) -> Iterator[Secret]:
    if "://" in text:
        for match in URL_PASSWORD.finditer(text):
            if (
                not PLACEHOLDER.search(match["value"])
                and match["value"].casefold() not in HARMLESS_PASSWORDS
            ):
                yield Secret("password in a URL", match.start("value"), match.end("value"))
        for match in URL_TOKEN.finditer(text) if "@" in text else ():
            if looks_random(match["value"]):
                yield Secret("token in a URL", match.start("value"), match.end("value"))


def _find_by_name(text: str) -> Iterator[Secret]:
    # U+0130 is the one letter whose lower case is longer: offsets must stay the same.
    lowered = text.replace("\u0130", "i").lower()
    has_header = "authorization" in lowered or "bearer" in lowered
    for match in _HEADER.finditer(lowered) if has_header else ():
        start, end = match.span(match.lastgroup or 0)
        if looks_random(text[start:end]):
            yield Secret("authorization header", start, end)
    for match in _ASSIGNED.finditer(lowered):
        start, end = match.span("quoted" if match["quoted"] else "bare")
        if _is_secret_name(text, match) and is_secret_value(match["name"], text[start:end]):
            yield Secret("assigned secret", start, end)
    yield from find_cookies(text, lowered)
    yield from find_in_fields(text, lowered)
    for match in _LONG_WORD.finditer(lowered):
        start, end = match.span("value")
        before = lowered[max(0, start - 100) : start]
        is_secret = looks_random(text[start:end]) and not UUID.fullmatch(match["value"])
        if is_secret and _SAYS_SECRET.search(before):
            yield Secret("assigned secret", start, end)
    has_password = any(name in lowered for name in ("pass", "pwd", "mdp"))
    said = _SAID.finditer(lowered) if has_password else ()
    has_login = "identifiant" in lowered or "cred" in lowered
    logins = _LOGIN_SAID.finditer(lowered) if has_login else ()
    for match in (*said, *logins):
        value = text[match.start("value") : match.end("value")]
        if looks_strong(value):
            yield Secret("assigned secret", match.start("value"), match.end("value"))


def _is_secret_name(text: str, match: re.Match[str]) -> bool:
    """Tell whether the whole name, and the text between it and the value, mean a secret."""
    before, tail = (
        text[max(0, match.start() - 40) : match.start()],
        text[match.start("tail") : match.end("tail")],
    )
    if match["name"] in ("pass", "pwd", "mdp") and before[-1:].islower():
        return False  # `bypass`
    if _PUBLIC.search(before):
        return False  # `publicKeyToken`
    if match["bare"] and text[match.end() : match.end() + 1] in ("(", "["):
        return False  # a call in a program
    if match["space"] and not _OPTION.search(before):
        return False  # only a command-line option is followed by its value without a sign
    # `tokenizer` and `passwordless` are other words, unlike `tokenValue`, `password_prod` and
    # `secrets`.
    return not tail or not ((tail[0].islower() and tail not in ("s", "base")) or ABOUT.match(tail))
