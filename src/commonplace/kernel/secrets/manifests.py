"""Find the values of Kubernetes secrets: in base64 below `data`, plain below `stringData`."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator

from commonplace.kernel.secrets.formats import URL_PASSWORD
from commonplace.kernel.secrets.values import PLACEHOLDER, Secret, looks_random, looks_strong

SIGN = "Secret"
_KIND = re.compile(r"^\s{0,20}[\"']?kind[\"']?:[ \t]{1,3}[\"']?Secret[\"']?,?[ \t]{0,9}$", re.M)
_DOCUMENT_END = re.compile(r"^---", re.M)
_BLOCK = re.compile(
    r"(?P<indent>\s{0,40})[\"']?(?P<block>data|stringData)[\"']?:\s{0,9}\{?\s{0,9}$"
)
_VALUE = re.compile(
    r"\s{1,60}[\"']?(?P<named>[\w.-]{1,100})[\"']?:[ \t]{1,9}"
    r"[\"']?(?P<value>[^\s\"',|>&*]{8,})[\"']?,?\s{0,9}$"
)
# What a secret names beside the password: users, hosts, certificates.
_PUBLIC = re.compile(
    r"(?i)(?:\w{1,40}[_.-])?(?:user(?:_?name)?|login|e?mail|host(?:name)?|port|database|db_?name|"
    r"namespace|region|bucket|crt|cert|pem)"
)
_SHORTEST = 6  # characters of a password


def find_in_manifests(text: str) -> Iterator[Secret]:
    """Find the secret values of each document of kind `Secret`."""
    start = 0
    ends = [match.start() for match in _DOCUMENT_END.finditer(text)]
    for end in (*ends, len(text)):
        if _KIND.search(text, start, end):
            yield from _find_in_document(text, start, end)
        start = end


def _find_in_document(text: str, start: int, end: int) -> Iterator[Secret]:
    block, indent = "", 0
    for line in text[start:end].splitlines(keepends=True):
        opened = _BLOCK.match(line)
        if opened is not None:
            block, indent = opened["block"], len(opened["indent"])
        elif line.strip() and len(line) - len(line.lstrip()) <= indent:
            block = ""
        found = _VALUE.match(line) if block else None
        if found is not None and _is_secret(found["named"], found["value"], block):
            yield Secret(
                "Kubernetes secret", start + found.start("value"), start + found.end("value")
            )
        start += len(line)


def _is_secret(name: str, value: str, block: str) -> bool:
    if PLACEHOLDER.search(value):
        return False
    if block == "stringData":
        return not _PUBLIC.fullmatch(name) and (looks_random(value) or looks_strong(value))
    try:
        plain = b64decode(value, validate=True).decode(errors="replace").strip()
    except ValueError:
        return False
    if "://" in plain:
        return URL_PASSWORD.search(plain) is not None
    if _PUBLIC.fullmatch(name) or plain.startswith("-----BEGIN CERT"):
        return False
    return len(plain) >= _SHORTEST and not plain.isalpha() and not PLACEHOLDER.search(plain)
