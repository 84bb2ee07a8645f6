"""Clean what a session contains before anything is extracted: no hidden text, no secrets.

Masking comes before cutting, so that no half of a secret stays. It is stricter than elsewhere: a
proposal loses little by a masked word.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

from commonplace.context.capture.engine.nearby_secrets import (
    MASK,
    mask_arguments,
    mask_nearby,
)
from commonplace.kernel.hidden_characters import find_hidden
from commonplace.kernel.secrets.detection import find_secrets, mask_secrets

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[@-_])"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NAMED = re.compile(
    r"(?i)(?P<name>(?:passw(?:or)?(?:d|t)|passphrase|passcode|pwd|secret|token|"
    r"api[ _-]?key|access[ _-]?key|private[ _-]?key|signing[ _-]?key|client[ _-]?secret|"
    r"contrase[nñ]a|mot de passe|kennwort|credentials?|pin code|auth[_-]?key)[\w-]{0,20}[\"'`]?)"
    r"(?P<sign>\s{0,3}(?:=>|:=|==?|:)\s{0,3}|\s{1,3}(?:is|was|are|ist|lautet|est|es|to)[:\s]{1,3})"
    r"(?P<q>[\"'`]?)(?P<value>[^\s\"'`,;]{4,4000})"
)
_OPTION = re.compile(
    r"(?i)(?P<name>(?<!\S)(?:--?(?:password|passwd|passphrase|pass|token|secret|api-?key|auth|"
    r"key)(?=[= ])|"
    r"(?:-u|--user)[ =]['\"]?[\w.@-]{1,80}:|"
    r"(?:mysql|mysqldump|mysqladmin|mariadb|sshpass|redis-cli|smbclient|"
    r"ldapsearch|(?:docker|podman|helm)[^\n|;&]{0,40}\blogin)"
    r"\b[^\n|;&]{0,120}?\s-[paw](?=['\" ]|\S{6})))(?P<sign>[= ]?)"
    r"(?P<value>'[^'\n]{3,200}'|\"[^\"\n]{3,200}\"|[^\s\"'`;|&]{4,400})"
)
# A value that follows its name without a sign, or in a form of its own.
_SPOKEN = re.compile(
    r"(?i)(?P<before>\b(?:password|passwd|passphrase|passwort|kennwort|contraseña|"
    r"mot de passe)\s+[\"'`]?)"
    r"(?P<value>(?=[^\s]*\d)[^\s\"'`,;]{4,200})"
    r"|(?P<before2>\b(?:pin|otp|passcode|(?:2fa|one-time|verification|security) code)(?: code)?"
    r"(?: is| was|:|=)?\s+)(?P<value2>\d{4,8})\b"
    r"|(?P<before3>\b(?:pw|pass)\s?[:=]\s{0,3}[\"'`]?)(?P<value3>[^\s\"'`,;]{4,200})"
    r"|(?P<before4>\bidentified by\s+[\"'])(?P<value4>[^\"'\n]{3,200})"
    r"|(?P<before5>:\d{2,5}:[^:\s]{1,60}:[^:\s]{1,60}:)(?P<value5>[^\s:]{4,200})"
    r"|(?P<before6>\b[a-z]\w{1,30}/)(?P<value6>(?=[^\s/@]*\d)(?=[^\s/@]*[A-Za-z])[^\s/@]{6,40})(?="
    r"@\w)"
    r"|(?P<before7>\b(?:seed|recovery|mnemonic)(?: phrase| words)?(?:\s?[:=]|"
    r"\s+is\b)\s*)(?P<value7>[^\n]{8,400})"
    r"|(?P<before8>(?<![A-Z0-9-]))(?P<value8>[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3,8})(?![A-Z0-9-])"
)
_CHOSEN = re.compile(r"(?i)^[\w.-]{0,40}(?:passw|passphrase|secret|kennwort|contrase|mot de passe)")
_PREDICATE = re.compile(
    r"(?i)^(?:\w+(?:ed|ing|en|able|ible|ional|ory)|wrong|correct|incorrect|right|fine|ok|okay|too|"
    r"also|only|still|already|"
    r"now|never|always|long|short|weak|strong|empty|null|none|not|no|there|here|safe|unique|"
    r"public|private|"
    r"old|new|the|an?|in|on|at|from|part|what|where|when|how|why|which|missing|required|optional|"
    r"needed|"
    r"set|read|sent|kept|lost|known|valid|invalid|blank|plain|due|out|up|gone|just|really|usually)$"
)
_RUN = re.compile(r"[A-Za-z0-9+/_=.~-]{20,}")
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{3,40}-----[\s\S]{0,20000}?(?:-----END [A-Z0-9 ]{3,40}-----|\Z)"
)
_CARD = re.compile(r"(?<![\d.-])(?:\d[ -]?){15,16}(?![\d.-])")
_PLAIN_VALUE = re.compile(
    r"(?i)^(?:\$|<|\{|\[|%|\.\.\.|\*+$|x{3,}$|none$|null$|true$|false$|undefined$|required$|"
    r"missing$|invalid$|expired$|wrong$|incorrect$|empty$|not$|read$|set$|stored$|kept$|passed$|"
    r"required\b|string$|str$|optional|env\b|os\.|process\.|your|an?$|the$|in$|from$|used$|for$|"
    r"never$|always$|only$|too$|now$|still$|be$|use$|get$|[a-z_]{1,40}\(|vault|masked\b)"
)
_WORDY = re.compile(r"^[A-Za-z]+(?:[-_./=][A-Za-z]+|[-_./=]\d{1,4}|\d{1,4})*$")


def clean_text(text: str) -> str:
    """Return a text without escape sequences and hidden characters, with secrets masked."""
    return mask_strictly(strip_hidden(text))


def strip_hidden(text: str) -> str:
    """Drop what a reader would not see; then nothing splits a secret or a word."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    text = _CONTROLS.sub("", text)
    hidden = find_hidden(text)
    if not hidden:
        return text
    parts, at = [], 0
    for start, character in hidden:
        parts.append(text[at:start])
        at = start + len(character)
    return "".join((*parts, text[at:]))


def mask_strictly(text: str) -> str:
    """Mask credentials, and everything that could be one."""
    if "-----BEGIN " in text:
        text = _PEM.sub(MASK, text)
    found = find_secrets(text)
    if found:
        text = mask_secrets(text, found, MASK)
    text = _NAMED.sub(_mask_named, mask_arguments(text))
    text = _OPTION.sub(_mask_option, text)
    text = _SPOKEN.sub(_mask_spoken, text)
    text = mask_nearby(_RUN.sub(_mask_run, text))
    return _CARD.sub(_mask_card, text)


def _mask_named(match: re.Match[str]) -> str:
    value = match["value"]
    is_said = match["sign"].strip().isalpha()
    if _PLAIN_VALUE.match(value) or value.startswith(MASK):
        return match[0]
    word = value.rstrip(".!?:)")
    if is_said and word.isalpha() and word.islower():  # `the token is refreshed`
        is_chosen = _CHOSEN.match(match["name"]) and len(word) >= 6 and not _PREDICATE.match(word)
        if not is_chosen:
            return match[0]
    if value.startswith(("/", "./", "~/", "http://", "https://")) or "(" in value:
        return match[0]
    if value.isdigit() and len(value) < 4:
        return match[0]
    return f"{match['name']}{match['sign']}{match['q']}{MASK}"


def _mask_spoken(match: re.Match[str]) -> str:
    for name, before in match.groupdict().items():
        if before is not None and name.startswith("before"):
            value = match[name.replace("before", "value")]
            return match[0] if value.startswith(MASK) else f"{before}{MASK}"
    return match[0]


def _mask_option(match: re.Match[str]) -> str:
    value = match["value"]
    if _PLAIN_VALUE.match(value) or value.startswith(("-", "/", MASK)):
        return match[0]
    if re.match(r"(?i)-[paw]$", match["name"][-2:]) and re.match(r"\d{2,5}(?::\d+)?$", value):
        return match[0]  # a port of a container
    is_key = match["name"].lower().endswith("key")
    if is_key and _WORDY.match(value):
        return match[0]
    return f"{match['name']}{match['sign']}{MASK}"


def _mask_run(match: re.Match[str]) -> str:
    """Mask long random runs; paths, names and version numbers are none."""
    run = match[0]
    for part in re.split(r"[/.=~]|(?<=\w)-(?=\w)|_", run):
        if len(part) >= 16 and _is_random(part):
            return MASK
    if (
        len(run) >= 24
        and not re.search(r"[/.]", run)
        and _is_random(run.replace("-", "").replace("_", ""))
    ):
        return MASK
    if len(run) >= 40 and re.search(r"\d", run) and _entropy(run) > 4.3 and not _is_path(run):
        return MASK
    return run


def _is_path(run: str) -> bool:
    parts = [part for part in re.split(r"[/._=~-]", run) if part]
    return all(_WORDY.match(part) and len(part) < 24 for part in parts)


def _is_random(part: str) -> bool:
    digits = sum(map(str.isdigit, part))
    if digits < 2 or _WORDY.match(part):
        return False
    is_hex = re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", part) is not None
    if is_hex:
        return len(part) >= 32
    changes = sum(_kind(a) != _kind(b) for a, b in itertools.pairwise(part))
    return changes >= max(4, len(part) // 5) and _entropy(part) >= 3.2


def _kind(character: str) -> int:
    return (
        0 if character.isdigit() else 1 if character.isupper() else 2 if character.islower() else 3
    )


def _mask_card(match: re.Match[str]) -> str:
    digits = [int(character) for character in match[0] if character.isdigit()]
    doubled = [
        digit if at % 2 else (digit * 2 - 9 if digit > 4 else digit * 2)
        for at, digit in enumerate(reversed(digits), start=1)
    ]
    return match[0] if sum(doubled) % 10 or len(set(digits)) < 2 else MASK


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
