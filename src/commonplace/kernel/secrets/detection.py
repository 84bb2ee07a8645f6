"""Find credentials in text: known formats, passwords in URLs, values assigned to secret names.

A masked text is lost, so names, paths, references and placeholders after such a name are kept.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from commonplace.kernel.secrets.formats import SIGNS, URL_PASSWORD, private_keys

# Names of passwords and of issued keys, in lower case: patterns that ignore case are ten times
# slower.
_CHOSEN = r"passw(?:or)?d|passphrase|passcode|pass(?![a-z])|pwd(?![a-z])|mots?[ _-]?de[ _-]?passe"
_ISSUED = (
    r"secret(?:[_-]?key)?|credential|token|api[_-]?key|access[_-]?key|auth[_-]?key|"
    r"private[_-]?key|signing[_-]?key|encryption[_-]?key|"
    r"master[_-]?key|account[_-]?key|deploy[_-]?key|license[_-]?key|"
    r"jeton(?: d['\u2019]acc[eè]s)?|cl[eé]s?[ _-](?:d['\u2019])?(?:api|secr[eè]te|priv[eé]e)"
)
# NAME = value, "name": "value", name => value, --name value; `q` is the quote around the value.
_ASSIGNED = re.compile(
    rf"(?P<name>{_CHOSEN}|{_ISSUED})(?P<tail>[\w-]{{0,20}})[\"']?"
    r"(?:[ \t\u00a0]{0,3}(?:=>|:=|=|:)[ \t]{0,3}|(?P<space>[ \t]))"
    r"(?:(?P<q>[\"'])(?P<quoted>[^\"'\n]{6,4000})(?P=q)|(?P<bare>[^\s\"'`,;<>(){}\[\]]{8,4000}))"
)
# "The password is …", "the password of the staging admin is …".
_SAID = re.compile(
    rf"(?:{_CHOSEN})(?:[ \t](?:(?:of|for|to|du|de|des|pour)[ \t]|d['\u2019])[^.,;:\n]{{1,50}}?)?"
    r"[ \t](?:is|was|est|était)[ \t]"
    r"[\"'`]?(?P<value>[^\s\"'`,;<>(){}\[\]]{8,200})"
)
# "The auth token is …", "le cookie de session valait …", "auth token …": a long word, and before it
# what says that it is a secret.
_LONG_WORD = re.compile(
    r"(?:is|was|est|était|valait|token|key|cookie)[ \t][\"'`]?"
    r"(?P<value>[^\s\"'`,;:<>(){}\[\]]{24,400})"
)
_SAYS_SECRET = re.compile(
    rf"(?:(?:{_ISSUED}|session|cookie)[ \t](?:is|was|est|était|valait)|"
    r"(?:auth|access|api|bearer|refresh|session)[ _-](?:token|key|cookie))[ \t][\"'`]?$"
)
# A name and a value as two fields: environments of containers, cookies that a browser saved.
_FIELDS = re.compile(
    r"name[\"']?[ \t]{0,3}:[ \t]{0,3}[\"']?(?P<named>[\w.-]{1,80})[\"']?[ \t]{0,3},?\s{0,40}"
    r"[\"']?value[\"']?[ \t]{0,3}:[ \t]{0,3}[\"']?(?P<value>[^\s\"',]{8,4000})"
)
_FIELD_NAME = re.compile(
    rf"(?P<name>{_CHOSEN}|{_ISSUED}|(?:^|[._-])sid|session(?:[._-]?id)?|sessid)(?P<tail>[\w-]*)$"
)
# The lines of cookies.txt: domain, subdomains, path, secure, expiry, name, value.
_COOKIE_LINE = re.compile(
    r"\t(?:true|false)\t[^\t\n]{1,200}\t(?:true|false)\t\d{1,20}\t(?P<name>[^\t\n]{1,80})\t"
    r"(?P<value>[^\s]{12,4000})"
)
_LOGIN = re.compile(r"\"auth\"\s{0,3}:\s{0,3}\"(?P<value>[a-z0-9+/]{8,2000}={0,2})\"")
_HEADER = re.compile(
    r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}"
    r"(?P<value>[a-z0-9._~+/=-]{16,2000})"
)
# The pairs of a Cookie or Set-Cookie header, or of the option of curl.
_COOKIES = re.compile(
    r"(?:cookie[\"']?\s{0,3}[:=]\s{0,3}|\bcurl\b[^\n|]{0,300}?\s(?:-b|--cookie)[ =]?)[\"']?"
    r"(?P<pairs>[^\n\r\"']{8,8000})"
)
_COOKIE = re.compile(r"(?P<name>[\w.-]{1,80})=(?P<value>[^\s;,\"']{12,4000})")
_PUBLIC_COOKIE = re.compile(r"_g\w{1,20}|path|domain|expires|version|\w*(?:theme|lang|locale)\w*")
_SESSION_VALUE = r"[\"']?[ \t]{0,3}(?:=|:)[ \t]{0,3}[\"']?(?P<value>[^\s\"'`,;<>(){}\[\]]{16,4000})"
_SESSION = re.compile(
    r"(?:session(?:[._-]?(?:id|cookie|token|key))?|sessid|sessionid[a-z]{8}|connect\.sid|"
    rf"logged_in_[0-9a-f]{{32}}){_SESSION_VALUE}"
)
# Cookies of known products, by what their names contain.
_PRODUCT_SIGNS = ("cf_clearance", "_oauth2_proxy", "li_at", "keycloak_identity", ".asp")
_PRODUCT_SESSION = re.compile(
    r"(?:cf_clearance|_oauth2_proxy(?:_\d)?|\bli_at|keycloak_identity|\.aspxauth|"
    rf"\.aspnetcore\.[a-z.]{{1,40}}){_SESSION_VALUE}"
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The rest of a name whose value is about a secret, not the secret itself.
_ABOUT = re.compile(
    r"(?i)[_-]?(?:path|file|dir|ur[li]|id|name|arn|ref|header|field|hash(?:er|ers|ed)?|length|len|"
    r"size|min|max|count|type|policy|ttl|expir\w*|"
    r"lifetime|age|timeout|seconds|manager|provider|version|rotation|prefix|suffix|format|"
    r"algorithm|endpoint|method|store|backend|class|"
    r"scope|limit|usage|budget|env|var|stdin|command|less|protected|generator|validators?)s?"
    r"(?-i:(?![a-z]))"
)
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\$|%|<|\{|\[|\]|x{3,}|\*{3,}|\.{3}|your|my[-_]|my(?:pass|secret|token|key)|some|"
    r"string\b|test|dummy|fake|example|sample|"
    r"change|replace|redacted|none$|null$|true$|false$|os\.|process\.|env\.|settings\.|config\.|"
    r"getenv)|(?<![a-z])example(?![a-z])|placeholder|changeme|\*{3}"
)
_HARMLESS_PASSWORDS = frozenset(
    {"password", "postgres", "pass", "root", "admin", "user", "guest", "pwd", "secret", "test"}
)
_REFERENCE = re.compile(
    r"(?i)^(?:\.{0,2}/|~/|[a-z]:\\|[a-z][a-z0-9+.-]{1,20}://|arn:|op:|vault:|secret/|projects/|"
    r"refs?/)"
)
# Words, numbers and short mixtures such as v2 or eu1, joined in any way: a name, not random.
_NAME = re.compile(r"[A-Za-z]*\d{0,4}(?:[_./:@#-][A-Za-z]*\d{0,4})*")
_OPTION = re.compile(r"(?<!\S)--?[\w-]*$")
_MINIMUM_ENTROPY = 3.0  # bits per character; words and repeated characters have less
_KEY_CHARACTERS = 12
SHORTEST = 12  # characters: a name, a sign and a value
MASK = "[masked: {}]"


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential in a text."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the credentials in a text, in order, without overlaps."""
    if len(text) < SHORTEST:
        return ()
    found = [*_find_by_format(text), *_find_in_addresses(text), *_find_by_name(text)]
    if not found:
        return ()
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda item: (item.start, -item.end)):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
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
        )


def _find_in_addresses(text: str) -> Iterator[Secret]:
    if "://" in text:
        for match in URL_PASSWORD.finditer(text):
            if (
                not _PLACEHOLDER.search(match["value"])
                and match["value"].casefold() not in _HARMLESS_PASSWORDS
            ):
                yield Secret("password in a URL", match.start("value"), match.end("value"))


def _find_by_name(text: str) -> Iterator[Secret]:
    # U+0130 is the one letter whose lower case is longer: offsets must stay the same.
    lowered = text.replace("\u0130", "i").lower()
    for match in _HEADER.finditer(lowered):
        if _looks_random(text[match.start("value") : match.end("value")]):
            yield Secret("authorization header", match.start("value"), match.end("value"))
    for match in _ASSIGNED.finditer(lowered):
        start, end = match.span("quoted" if match["quoted"] else "bare")
        if _is_secret_name(text, match) and _is_secret_value(match["name"], text[start:end]):
            yield Secret("assigned secret", start, end)
    yield from _find_cookies(text, lowered)
    yield from _find_in_fields(text, lowered)
    for match in _LONG_WORD.finditer(lowered):
        start, end = match.span("value")
        before = lowered[max(0, start - 40) : start]
        is_secret = _looks_random(text[start:end]) and not _UUID.fullmatch(match["value"])
        if is_secret and _SAYS_SECRET.search(before):
            yield Secret("assigned secret", start, end)
    for match in _SAID.finditer(lowered):
        value = text[match.start("value") : match.end("value")]
        if _is_mixed(value) and not _NAME.fullmatch(value):
            yield Secret("assigned secret", match.start("value"), match.end("value"))


def _find_cookies(text: str, lowered: str) -> Iterator[Secret]:
    """Find values of cookies, and of sessions outside them; UUIDs there may be mere labels."""
    for header in _COOKIES.finditer(lowered):
        for match in _COOKIE.finditer(lowered, *header.span("pairs")):
            start, end = match.span("value")
            value = unquote(text[start:end])
            if not _PUBLIC_COOKIE.fullmatch(match["name"]) and _looks_random(value):
                yield Secret("session cookie", start, end)
    for match in _COOKIE_LINE.finditer(lowered) if "\t" in lowered else ():
        start, end = match.span("value")
        value = unquote(text[start:end])
        if not _PUBLIC_COOKIE.fullmatch(match["name"]) and _looks_random(value):
            yield Secret("session cookie", start, end)
    has_product = any(sign in lowered for sign in _PRODUCT_SIGNS)
    named = _PRODUCT_SESSION.finditer(lowered) if has_product else ()
    for match in (*_SESSION.finditer(lowered), *named):
        start, end = match.span("value")
        is_call = text[end : end + 1] in ("(", "[")
        if not is_call and not _UUID.fullmatch(match["value"]) and _looks_random(text[start:end]):
            yield Secret("session cookie", start, end)


def _find_in_fields(text: str, lowered: str) -> Iterator[Secret]:
    """Find values whose name stands in a field beside them, and logins in base64."""
    for match in _FIELDS.finditer(lowered):
        named = _FIELD_NAME.search(match["named"])
        start, end = match.span("value")
        if named is None or named["tail"] not in ("", "s") or _UUID.fullmatch(match["value"]):
            continue
        if _is_secret_value(named["name"], text[start:end]):
            yield Secret("assigned secret", start, end)
    for match in _LOGIN.finditer(lowered):
        start, end = match.span("value")
        if _is_login(text[start:end]):
            yield Secret("login of a registry", start, end)


def _is_login(value: str) -> bool:
    """Tell whether a value is a user and a password in base64, as in Docker's config.json."""
    try:
        user, _, password = b64decode(value, validate=True).decode("ascii").partition(":")
    except ValueError:
        return False
    return user.isprintable() and password.isprintable() and bool(user and password)


def _is_secret_name(text: str, match: re.Match[str]) -> bool:
    """Tell whether the whole name, and the text between it and the value, mean a secret."""
    before, tail = (
        text[max(0, match.start() - 40) : match.start()],
        text[match.start("tail") : match.end("tail")],
    )
    if match["name"] in ("pass", "pwd") and before[-1:].islower():
        return False  # `bypass`
    if before.casefold().endswith("public"):
        return False  # `publicKeyToken`
    if match["bare"] and text[match.end() : match.end() + 1] in ("(", "["):
        return False  # a call in a program
    if match["space"] and not _OPTION.search(before):
        return False  # only a command-line option is followed by its value without a sign
    # `tokenizer` and `passwordless` are other words, unlike `tokenValue`, `password_prod` and
    # `secrets`.
    return not tail or not ((tail[0].islower() and tail not in ("s", "base")) or _ABOUT.match(tail))


def _is_secret_value(name: str, value: str) -> bool:
    if name.startswith(("pass", "pwd", "mot")):
        return _looks_like_password(value)
    return len(value) >= _KEY_CHARACTERS and _looks_random(value)


def _looks_like_password(value: str) -> bool:
    """Tell whether a value has letters and other characters, and is not harmless."""
    if _is_harmless(value) or len(set(value)) < 5:
        return False
    return any(map(str.isalpha, value)) and any(not char.isalpha() for char in value)


def _looks_random(value: str) -> bool:
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
        or _PLACEHOLDER.search(value)
        or _REFERENCE.match(value)
        or _NAME.fullmatch(value)
    )


def _is_mixed(value: str) -> bool:
    return (
        any(map(str.isdigit, value))
        and any(map(str.islower, value))
        and (any(map(str.isupper, value)) or not value.isalnum())
    )


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
