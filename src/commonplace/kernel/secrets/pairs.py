"""Find secrets whose name and value stand apart: cookies, fields of a record, arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from commonplace.kernel.secrets.names import CHOSEN, ISSUED, SCHEMES
from commonplace.kernel.secrets.values import (
    UUID,
    Secret,
    is_login,
    is_secret_value,
    looks_random,
    looks_strong,
)

# A name and a value as two fields: environments of containers, headers, cookies that were saved.
_TEXT = r"[\"']?(?P<value>(?<=[\"'])[^\"'\n]{8,8000}|[^\s\"',]{8,4000})"
_FIELDS = re.compile(
    r"\b(?:name|key)[\"']?[ \t]{0,3}:[ \t]{0,3}[\"']?(?P<named>[\w.-]{1,80})[\"']?[ \t]{0,3}"
    rf",?\s{{0,40}}[\"']?value[\"']?[ \t]{{0,3}}:[ \t]{{0,3}}{_TEXT}"
)
# The same with other fields between them, or the value first.
_NAME_FIELD = r"\"(?:name|key)\"\s{0,3}:\s{0,3}\"(?P<named>[\w.-]{1,80})\""
_VALUE_FIELD = r"\"value\"\s{0,3}:\s{0,3}\"(?P<value>[^\"\n]{8,8000})\""
_NAME_FIRST = re.compile(rf"{_NAME_FIELD},[^{{}}]{{1,400}}?{_VALUE_FIELD}")
_VALUE_FIRST = re.compile(rf"{_VALUE_FIELD},[^{{}}]{{0,400}}?{_NAME_FIELD}")
# Arguments: ("name", "value").
_ARGUMENT = r"\(\s{0,40}[\"'](?P<named>[\w.-]{1,80})[\"']\s{0,3},\s{0,40}"
_ARGUMENTS = re.compile(_ARGUMENT + r"[\"'](?P<value>[^\"'\n(){}<>]{8,8000})[\"']")
_FIELD_NAME = re.compile(
    rf"(?P<name>{CHOSEN}|{ISSUED}|(?:^|[._-])sid|"
    r"session(?:[._-]?(?:id|token|key|cookie))?|sessid)(?P<tail>[\w-]*)$"
)
# auth=("user", "password"), HTTPBasicAuth("user", "password")
_USER = r"auth[\"']?\s{0,3}[=:]?\s{0,3}[(\[]\s{0,3}[\"'][^\"'\n]{1,64}[\"']\s{0,3},\s{0,3}"
_BASIC_LOGIN = re.compile(_USER + r"[\"'](?P<value>[^\s\"'(){}<>]{6,200})[\"']")
_SCHEME = re.compile(rf"(?:{SCHEMES})\s{{1,3}}(?=\S{{16}})")
# Of Docker's config.json, or of npm.
_LOGIN = re.compile(
    r"(?:\"auth\"\s{0,3}:\s{0,3}\"|_auth\s{0,3}=\s{0,3}\"?)(?P<value>[a-z0-9+/]{8,2000}={0,2})"
)
# The pairs of a Cookie or Set-Cookie header, or of the option of curl.
_COOKIES = re.compile(
    r"(?:cookie[\"']?\s{0,3}[:=,]\s{0,3}\[?\s{0,3}|"
    r"\bcurl\b[^\n|]{0,300}?\s(?:-[a-z]{0,5}b|--cookie)[ =]?)[\"']?"
    r"(?P<pairs>[^\n\r\"']{8,8000})"
)
_COOKIE = re.compile(r"(?P<name>[\w.-]{1,80})=(?P<value>[^\s;,\"']{12,4000})")
# The lines of cookies.txt: domain, subdomains, path, secure, expiry, name, value.
_COOKIE_LINE = re.compile(
    r"\t(?:true|false)\t[^\t\n]{1,200}\t(?:true|false)\t\d{1,20}\t(?P<name>[^\t\n]{1,80})\t"
    r"(?P<value>[^\s]{12,4000})"
)
_SESSION_VALUE = r"[\"']?[ \t]{0,3}(?:=|:)[ \t]{0,3}[\"']?(?P<value>[^\s\"'`,;<>(){}\[\]]{16,4000})"
_SESSION = re.compile(
    r"(?:session(?:[._-]?(?:id|cookie|token|key))?|sessid|sessionid[a-z]{8}|connect\.sid|"
    rf"logged_in_[0-9a-f]{{32}}){_SESSION_VALUE}"
)
# Cookies without a secret.
_PUBLIC_COOKIE = re.compile(r"_g\w{1,20}|path|domain|expires|version|\w*(?:theme|lang|locale)\w*")
# Cookies of known products, by what their names contain.
_PRODUCT_SIGNS = ("cf_clearance", "_oauth2_proxy", "li_at", "keycloak_identity", ".asp")
_PRODUCT_SESSION = re.compile(
    r"(?:cf_clearance|_oauth2_proxy(?:_\d)?|\bli_at|keycloak_identity|\.aspxauth|"
    rf"\.aspnetcore\.[a-z.]{{1,40}}){_SESSION_VALUE}"
)


def find_cookies(text: str, lowered: str) -> Iterator[Secret]:
    """Find values of cookies, and of sessions outside them; UUIDs there may be mere labels."""
    has_header = "cookie" in lowered or "curl" in lowered
    for header in _COOKIES.finditer(lowered) if has_header else ():
        yield from _find_in_header(text, lowered, header.span("pairs"))
    for match in _COOKIE_LINE.finditer(lowered) if "\t" in lowered else ():
        start, end = match.span("value")
        value = unquote(text[start:end])
        if not _PUBLIC_COOKIE.fullmatch(match["name"]) and looks_random(value):
            yield Secret("session cookie", start, end)
    has_product = any(sign in lowered for sign in _PRODUCT_SIGNS)
    named = _PRODUCT_SESSION.finditer(lowered) if has_product else ()
    for match in (*_SESSION.finditer(lowered), *named):
        start, end = match.span("value")
        is_call = text[end : end + 1] in ("(", "[")
        if not is_call and not UUID.fullmatch(match["value"]) and looks_random(text[start:end]):
            yield Secret("session cookie", start, end)


def _find_in_header(text: str, lowered: str, span: tuple[int, int]) -> Iterator[Secret]:
    """Find secret values among the pairs of a cookie header."""
    for match in _COOKIE.finditer(lowered, *span):
        start, end = match.span("value")
        value = unquote(text[start:end])
        if not _PUBLIC_COOKIE.fullmatch(match["name"]) and looks_random(value):
            yield Secret("session cookie", start, end)


def find_in_fields(text: str, lowered: str) -> Iterator[Secret]:
    """Find values whose name stands in a field beside them, and logins in base64."""
    records = (_FIELDS, _NAME_FIRST, _VALUE_FIRST) if "value" in lowered else ()
    for pattern in (*records, _ARGUMENTS):
        for match in pattern.finditer(lowered):
            yield from _judge_pair(text, lowered, match["named"], match.span("value"))
    for match in _BASIC_LOGIN.finditer(lowered):
        start, end = match.span("value")
        if looks_strong(text[start:end]):
            yield Secret("assigned secret", start, end)
    for match in _LOGIN.finditer(lowered):
        start, end = match.span("value")
        if is_login(text[start:end]):
            yield Secret("login of a registry", start, end)


def _judge_pair(text: str, lowered: str, named: str, span: tuple[int, int]) -> Iterator[Secret]:
    """Find the secret in a value that has this name in lower case."""
    start, end = span
    if named in ("cookie", "set-cookie"):
        yield from _find_in_header(text, lowered, span)
        return
    if named.endswith("authorization"):
        scheme = _SCHEME.match(lowered, start, end)
        start = scheme.end() if scheme is not None else start
        if looks_random(text[start:end]):
            yield Secret("authorization header", start, end)
        return
    known = _FIELD_NAME.search(named)
    if known is None or known["tail"] not in ("", "s") or UUID.fullmatch(lowered, start, end):
        return
    if is_secret_value(known["name"], text[start:end]):
        yield Secret("assigned secret", start, end)
