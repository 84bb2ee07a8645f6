"""Mask what looks like a credential in a sentence that speaks of one.

People name passwords in passing ("was rotated to ...", "log in with bob / ..."). Next to such words
everything that could be a credential is masked, because a proposal loses little by a masked word.
"""

from __future__ import annotations

import re

MASK = "[masked]"
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s+[A-ZÀ-Þ¿¡])|(?=\n)|\Z)")
_PASSWORD = re.compile(
    r"(?i)passw|pgpass|passphrase|passcode|passwd|\bpwd?\b|_pwd\b|_pass\b|kennwort|contrase[nñ]a|"
    r"mot de passe|\bcred(?:ential)?s?\b|\blog(?:ged)?[ -]?in\b|/user:"
)
_KEY = re.compile(
    r"(?i)\b(?:\w+_)?(?:tokens?|secrets?|keys?|auth|authorization|bearer|otp|totp|2fa|mfa|seed|"
    r"cookies?|jwt|licen[sc]e|clave|schl[uü]ssel|cl[eé])\b"
)
_WORD = re.compile(r"[^\s\"'`,;<>|]{5,200}")
_EDGE = ".,:;!?()[]{}\"'*_"
_TECHNICAL = re.compile(
    r"(?:[$%\-/~.@<\[{]|https?:|\w+://)|"  # a variable, an option, a path, an address
    r"[a-z][a-z0-9]*(?:[-_.:][a-z0-9]+)*$|"  # kebab-case, snake_case, a host, sha256
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|"  # a variable of the environment
    r"[A-Z]{2,10}-\d+$|"  # a ticket
    r"\d+[-_]?[a-z]{1,8}$|\d+(?:[-_.:/]\d+)*(?:[a-z]\w{0,4})?$|[\dTZ:.+-]+$|"  # 90-day, a version
    r"[\w.+-]+@[\w.-]+$|"  # a person
    r"[\w./-]*\.[A-Za-z]{1,5}(?::\d+)*$|"  # a file
    r"[\w.]*\(|.*\]\(|"  # a call, a link
    r"(?i:AES|SHA|RSA|[REHP]S|MD|UTF|ISO|TLS|SSL|HTTP|HMAC|PBKDF|EC(?:DSA|DH)?|BASE|IPV|RFC|CVE|"
    r"PKCS|OAUTH|ARGON)[-_]?\d[\w-]*$|"  # an algorithm or a standard
    r"\d+(?:-[a-z]+)+$|[A-Z][a-z]+\d+(?:\.\d+)+$"  # Python3.12
)
_CAMEL_CASE = re.compile(r"[a-z]*(?:[A-Z]+[a-z]{2,}|\d{1,2})+$")
_LOWER_RUN = re.compile(r"[a-z0-9]{8,}$")
_SYMBOLS = frozenset("!#$%&*^?+~@=")
_IN_PLACE = re.compile(
    r"(?P<before>\becho\s+(?:-n\s+)?['\"]?)(?P<value>[^\s'\"|]{4,200})(?=['\"]?\s*\|\s*"
    r"(?:sudo\s+-S|docker|podman|chpasswd|passwd|cryptsetup|gpg|helm))"
    r"|(?P<before2>\bopenssl\b[^\n|;&]{0,120}?\s-k\s+)(?P<value2>\S{4,200})"
    r"|(?P<before3>\bmongo(?:sh|dump|restore)?\b[^\n|;&]{0,120}?\s-p\s+)(?P<value3>\S{4,200})"
    r"|(?P<before4>--from-literal=[\w.-]{1,80}=)(?P<value4>\S{4,200})"
    r"|(?P<before5>://)(?P<value5>(?=[^\s/@:]*\d)(?=[^\s/@:]*[A-Za-z])[^\s/@:]{10,200})(?=@[\w.-])"
    r"|(?P<before6>(?i:\bbearer|\bauthorization:\s*\w+)\s+)(?P<value6>(?=\S*\d)[\w.~+/=-]{8,4000})"
    r"|(?P<before7>\b(?:\w+_)?(?:KEY|PASS|PWD|AUTH|CREDS)\s?[=: ]\s?['\"]?)"
    r"(?P<value7>(?=\S*\d)[^\s'\"$<{,;]{6,400})"
    r"|(?P<before8>(?i:\"?\bauth\"?\s*[:=]\s*\"))(?P<value8>[A-Za-z0-9+/]{8,400}={0,2}(?=\"))"
    r"|(?P<before9>(?i:\bpin\b)[^.\n]{0,30}?(?:\bis|\bwas|\bist|:|=)\s+)(?P<value9>\d{4,8})\b"
    r"|(?P<before10>(?i:\bpassphrase)(?:\s?[:=]\s*|\s+(?:is|was)\s+)['\"]?)"
    r"(?P<value10>(?:[a-z]+[ -]){2,9}?[a-z]+)(?=['\".,;\n]|\s+(?:for|of|in|on|and|to)\b|\Z)"
)


def mask_arguments(text: str) -> str:
    """Return a text without credentials whose place in a command or a header tells."""
    return _IN_PLACE.sub(_mask_value, text)


def mask_nearby(text: str) -> str:
    """Return a text without what looks like a credential beside words for one."""
    if _PASSWORD.search(text) is None and _KEY.search(text) is None:
        return text
    return _SENTENCE.sub(_mask_sentence, text)


def _mask_value(match: re.Match[str]) -> str:
    for name, before in match.groupdict().items():
        if before is not None and name.startswith("before"):
            value = match[name.replace("before", "value")]
            return match[0] if value.startswith(("$", MASK)) else f"{before}{MASK}"
    return match[0]


def _mask_sentence(match: re.Match[str]) -> str:
    sentence = match[0]
    if _PASSWORD.search(sentence):
        return _WORD.sub(lambda word: _mask_word(word[0], 5), sentence)
    if _KEY.search(sentence):
        return _WORD.sub(_mask_beside_key, sentence)
    return sentence


def _mask_beside_key(match: re.Match[str]) -> str:
    """Mask a word that could be a key; a name in camelCase is none, but could be a password."""
    is_name = _CAMEL_CASE.match(match[0].strip(_EDGE)) is not None
    return match[0] if is_name else _mask_word(match[0], 8)


def _mask_word(word: str, least: int) -> str:
    core = word.strip(_EDGE)
    start = word.find(core)
    name, sign, value = core.rpartition("=")
    if not sign or "://" in name:
        name, sign, value = "", "", core
    if len(value) < least or value in MASK or not _could_be_secret(value):
        return word
    return f"{word[:start]}{name}{sign}{MASK}{word[start + len(core) :]}"


def _could_be_secret(value: str) -> bool:
    """Tell whether a word has digits or symbols as a credential has, and no technical form."""
    has_letter = any(map(str.isalpha, value))
    has_digit = any(map(str.isdigit, value))
    if not has_letter or not (has_digit or _SYMBOLS & set(value)):
        return False
    if _TECHNICAL.match(value) is None:
        return True
    # a run without separators whose digits are not only at its end is no name
    changes = len(re.findall(r"\d(?=[a-z])", value))
    return _LOWER_RUN.match(value) is not None and changes >= 3
