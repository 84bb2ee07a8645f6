"""Values of one kind, of which a thing has one at a time: branches, encodings, regions, tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from commonplace.memory.engine.claims.people import find_people
from commonplace.memory.engine.claims.phrases import find_statements
from commonplace.memory.engine.claims.synonyms import read_word
from commonplace.memory.engine.claims.tables.alternatives import CLASSES, JOINED, NAMES
from commonplace.memory.engine.claims.tables.methods import METHOD_NAMES, METHODS
from commonplace.memory.engine.claims.tables.products import PRODUCT_NAMES, PRODUCTS
from commonplace.memory.engine.lexicon import names_a_thing
from commonplace.memory.engine.terms import terms_of_name

_BRANCH_SIGNS: Final = ("branch", "pull request", "merge request", " pr ", " prs", "repo")
# Kinds of which a thing often has several, so that more must be the same.
NOON: Final = 12
_MANY: Final = frozenset(
    (
        "path",
        "variable",
        "clock",
        "weekday",
        "status",
        "exit",
        "channel",
        "header",
        "day of month",
        "deadline",
    )
)

_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
)
_PATTERNS: Final = {
    "region": re.compile(
        r"\b((?:us|eu|ap|sa|ca|me|af|il)-[a-z]+-\d|(?:europe|us|asia)-[a-z]+\d"
        r"|(?:west|north)europe|(?:east|west|central)us\d?)\b"
    ),
    "branch": re.compile(r"\b(?:branch (?:called|named) |la branche )`?([a-z][\w/-]*)"),
    "weekday": re.compile(
        r"\b((?:mon|tues|wednes|thurs|fri|satur|sun)day|lundi|mardi|mercredi|jeudi|vendredi"
        r"|samedi|dimanche)s?\b"
    ),
    "status": re.compile(
        r"\b(?:answers?|returns?|gives?|status|code|http|gets?|renvoie|répond)"
        r"(?: with| a| an| un| par)? ([1-5]\d\d)\b(?! [a-z]+s\b)"
    ),
    "exit": re.compile(r"\bexits?(?: with)?(?: code| status)? (\d+)\b"),
    "deadline": re.compile(
        rf"\b(?:before|by|until|no later than|due(?: on)?|avant le|jusqu['\u2019]au"
        r"|au plus tard le)"
        rf" (?:the )?(\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTHS})|(?:{_MONTHS}) \d{{1,2}})\b"
    ),
    "channel": re.compile(r"(?<![\w/&])#([a-zà-ÿ][\w-]{2,})"),
    "day of month": re.compile(
        r"\b(?:on|by|after|le)(?: the)? (\d{1,2})(?:st|nd|rd|th| du mois| de chaque mois"
        r"| of (?:the|each|every) month)\b"
    ),
    "clock": re.compile(
        r"\b(?:at|à|around|vers|until|jusqu['\u2019]à) "
        r"((?:half past )?(?:midnight|noon|minuit|midi)\b"
        r"|\d{1,2}(?::\d\d| ?h(?:eures?\b)?(?: ?\d\d)?| ?[ap]m\b))"
    ),
}
# These are read with their capitals.
_WRITTEN: Final = {
    "variable": re.compile(
        r"\b(?i:from|in|by|reads?|sets?|export|at|through|called|named|to|variable|is"
        r"|dans|par|lit)\s+(?:the |la variable )?`?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
    ),
    "header": re.compile(
        r"\b((?:[A-Z][a-z]*-)+[A-Z][A-Za-z]*)(?= header)"
        r"|header (?:[\w/]+ ){0,6}(?:is |named |called )?((?:[A-Z][a-z]*-)+[A-Z][A-Za-z]*)"
    ),
    "path": re.compile(
        r"\b(?i:from|in|by|at|to|into|under|dans|edit|open|read|loads?|is|sur|de|depuis)\s+`?"
        r"((?:[\w.-]+/)+[\w.-]+|[\w-]+\.(?:ya?ml|json|toml|ini|conf|cfg|xml|properties|env)"
        r"|\.env(?:\.\w+)?)\b"
    ),
}
_NAMED_TIMES: Final = {
    "midnight": "00:00",
    "minuit": "00:00",
    "half past midnight": "00:30",
    "noon": "12:00",
    "midi": "12:00",
    "half past noon": "12:30",
}
_BRANCH: Final = re.compile(r"(?:release|releases|hotfix|support)/")
_VERSION: Final = re.compile(
    r"\b([A-Z][A-Za-z.+#]*[a-z.+#]|PHP|WCAG|RGAA|CUDA|USB|OpenAPI|HTML|FHIR|GPT|iOS|iPadOS|macOS"
    r"|JDK|\.NET)"
    r"\s+(?:version\s+)?(\d+(?:\.\d+)*)\b"
)
_DENIED_BEFORE: Final = re.compile(
    r"(?i)(?:\bnot|\bno|\bnever|n['\u2019]t|\bwithout|\binstead of|\brather than|\bunlike"
    r"|\b(?:took|taken|dropped|removed|retired|ditched|abandoned|replaced(?! by| with)|replaces"
    r"|gave up|given up|got rid of|uninstalled|left"
    r"|abandonné(?! au)|retiré|supprimé|remplacé(?! par)|désinstallé|quitté)"
    r"|\b(?:ignor|reject|refus|forbid|ban|block)\w*|\b(?:prefer|chose|chosen|picked)\w* \w+ over"
    r"|\b(?:away|moved|switched|migrated) from|\bpas|\bplus|\bjamais|\bsans|\baucun|\bau lieu d[eu]"
    r"|\bplutôt qu[e'\u2019])\s+(?:[\w'\u2019-]+\s+){0,2}$"
)
_DENIED_BEHIND: Final = re.compile(
    r"(?i)^ (?:retirée?s?|supprimée?s?|abandonnée?s?|removed|retired|dropped|decommissioned)\b"
    r"|^[\w\s'\u2019-]{0,30}?\b(?:(?:is|are|was|were|has been|have been) (?:gone|removed|dropped"
    r"|replaced|retired|abandoned|ignored|forbidden|banned|uninstalled|switched off|turned off"
    r"|disabled|deleted|closed|cancelled|terminated|shut down|taken out|not\b|no longer|never)"
    r"|isn['\u2019]t|aren['\u2019]t|n['\u2019]est (?:plus|pas)"
    r"|(?:a|ont) été (?:essayé|abandonné|remplacé|retiré|supprimé|désinstallé|arrêté|résilié"
    r"|fermé|désactivé|coupé)"
    r"|has no effect|is not used|est (?:abandonné|interdit|ignoré))"
)
_PLAIN_VERSION: Final = re.compile(
    r"\b(node|node\.js|python|java|jdk|go|php|ruby|postgres|postgresql|mysql|kubernetes|angular"
    r"|react|django|rails|symfony|laravel|\.net|debian|ubuntu) (\d+(?:\.\d+)*)\b"
)
_WITHOUT: Final = re.compile(
    r"\b(?:(?:there is|there's|has|have|uses?|needs?|with|runs?) no|without(?: an?| any)?"
    r"|no longer an?|aucune?|pas de|sans) (?:separate |external |dedicated |other |distinct )?("
    + "|".join(sorted(CLASSES, key=len, reverse=True))
    + r")\b"
)
_OF_PRODUCT: Final = re.compile(
    r"(?:'s)? (?:connectors?|adapters?|integrations?|drivers?|plugins?|extensions?|importers?"
    r"|exporters?|imports?|exports?|feeds?|webhooks?)\b"
)
_PRODUCT_OF: Final = re.compile(
    r"\b(?:connecteurs?|adaptateurs?|intégrations?|greffons?|extensions?|flux|imports?|exports?"
    r"|connectors?|adapters?|integrations?)(?: (?:of|for|to|de|du|vers|pour))? $"
)
_PAST: Final = re.compile(
    r"(?i)\b(?:used to|until (?:20\d\d|last)|formerly|previously|back then|in 20[01]\d"
    r"|jusqu['\u2019]en|autrefois|avant 20\d\d)\b"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A value of a kind in a sentence; denied as in "instead of Celery" or "ESLint is gone"."""

    kind: str
    value: str
    denied: bool
    said: str = field(default="", compare=False)  # where the value is not what was written


Names = dict[str, tuple[tuple[str, str, str], ...]]
_ROWS: Final = [row for table in (NAMES, PRODUCTS, METHODS) for row in table.strip().splitlines()]
_JOINED: Final = JOINED | PRODUCT_NAMES | METHOD_NAMES


def _build() -> tuple[Names, dict[str, frozenset[str]]]:
    """Return the kinds of each name, with the name they are compared by and a needed sign."""
    names: Names = {}
    related: dict[str, frozenset[str]] = {}
    for row in _ROWS:
        kind, signs, values = (part.strip() for part in row.split(" | "))
        terms = frozenset(term for word in signs.split() for term in read_word(word))
        related[kind] = related.get(kind, frozenset()) | terms
        for value in values.split():
            written, _, needed = value.replace("_", " ").partition("~")
            found = (kind, _JOINED.get(written, written), needed)
            names[written] = (*names.get(written, ()), found)
    for written, name in _JOINED.items():
        names.setdefault(written, names.get(name, ()))
    return names, related


_KINDS, _RELATED = _build()
_ROLES: Final = {
    kind: frozenset(term for word in listed.split() for term in read_word(word))
    for kind, listed in {
        "owner": "owner owners code maintainer maintainers maintains lead responsible charge "
        "contact ask question questions responsable référent mainteneur pilote gère maintenu",
        "approver": "approved approves validated signed decided validé",
    }.items()
}
_MOST_WORDS: Final = max(name.count(" ") + 1 for name in _KINDS)
_FIRST_WORDS: Final = frozenset(name.partition(" ")[0] for name in _KINDS)
# "gzip-compressed", "AWS-hosted" and "Redis-backed" name what was used.
_MADE: Final = re.compile(
    r"-(?:compressed|encoded|encrypted|signed|formatted|backed|hosted|managed|licensed|powered)$"
)
_PIECE: Final = re.compile(r"[^\W_][\w+#/&-]*(?:\.[\w+#-]+)*")


def _find_names(text: str, entry: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the known names of a text, the longest ones first where they overlap."""
    pieces = [
        (_MADE.sub("", piece[0]).replace("_", " "), piece.start(), piece.end())
        for piece in _PIECE.finditer(text)
    ]
    at = 0
    while at < len(pieces):
        step = 1
        if pieces[at][0].partition(" ")[0] not in _FIRST_WORDS:
            at += 1
            continue
        for length in range(min(_MOST_WORDS, len(pieces) - at), 0, -1):
            written = " ".join(piece for piece, _, _ in pieces[at : at + length])
            if written not in _KINDS and length > 1:
                written = written.removesuffix("s")  # "rolling updates"
            if written in _KINDS:
                step = length
                for kind, name, needed in _KINDS[written]:
                    signs = _BRANCH_SIGNS if kind == "branch" else (needed,)
                    if any(sign in entry for sign in signs):
                        yield kind, name, pieces[at][1], pieces[at + length - 1][2]
                break
        at += step


def terms_of_kind(kind: str) -> frozenset[str]:
    """Return the terms that say nothing but the kind: "encoding", "file encoded"."""
    return _RELATED.get(kind) or _ROLES.get(kind, frozenset())


def terms_of_value(mention: Mention) -> frozenset[str]:
    """Return the terms of a value that say nothing of its subject: not those of a path."""
    kind, value = mention.kind, mention.value
    if mention.said:
        return frozenset(term for word in mention.said.split() for term in read_word(word))
    return frozenset() if kind in _WRITTEN else terms_of_name(value)


def is_named(kind: str) -> bool:
    """Say whether the values of a kind are known names."""
    return kind in _RELATED


def often_has_several(kind: str) -> bool:
    """Say whether a thing often has several values of a kind."""
    return kind in _MANY


def find_mentions(text: str, entry: str) -> tuple[Mention, ...]:
    """Return the values that a sentence of an entry states or denies; nothing of the past."""
    if _PAST.search(text):
        return ()
    values = tuple(
        Mention(kind, value, _is_denied(text, start, end))
        for kind, value, start, end in _find_values(text, entry.casefold())
    )
    statements = find_statements(text.casefold().replace("\u2019", "'"))
    values += tuple(Mention(kind, "none", False) for kind in _find_absent_kinds(text.casefold()))
    return values + tuple(Mention(f"~{k}", value, False, said) for k, value, said in statements)


def _find_absent_kinds(text: str) -> Iterator[str]:
    """Yield the kinds of tools that a sentence says are not used: "there is no linter"."""
    for match in _WITHOUT.finditer(text):
        yield from (kind.replace("_", " ") for kind in CLASSES[match[1]].split())


def _find_values(text: str, entry: str) -> Iterator[tuple[str, str, int, int]]:
    lowered = text.casefold()
    if len(lowered) != len(text):
        return  # places would not agree
    for kind, name, start, end in _find_names(lowered, entry):
        # "The GLS connector": one of several things of that name, not what a thing uses
        if not (_OF_PRODUCT.match(lowered, end) or _PRODUCT_OF.search(lowered[:start])):
            yield kind, name, start, end
    for patterns, read in ((_PATTERNS, lowered), (_WRITTEN, text)):
        for kind, pattern in patterns.items():
            for match in pattern.finditer(read):
                group = match.lastindex or 0
                value = match[group].strip()
                value = _read_clock(value) if kind == "clock" else value
                if kind == "path" and _BRANCH.match(value) and "." not in value:
                    kind = "branch"
                yield kind, value, match.start(group), match.end(group)
    yield from find_people(text)
    for match in _PLAIN_VERSION.finditer(lowered):
        yield f"version of {match[1]}", match[2], match.start(), match.end()
    for match in _VERSION.finditer(text):
        if not names_a_thing(match[1].casefold(), ""):
            yield f"version of {match[1].casefold()}", match[2], match.start(), match.end()


def _read_clock(text: str) -> str:
    """Return a time of the day as 24 hours: "2 am" and "2 h" as "02:00"."""
    if named := _NAMED_TIMES.get(text):
        return named
    digits = re.findall(r"\d+", text)
    hour, minute = int(digits[0]), int(digits[1]) if len(digits) > 1 else 0
    if text.endswith("pm") and hour < NOON:
        hour += NOON
    return f"{hour:02}:{minute:02}"


def _is_denied(text: str, start: int, end: int) -> bool:
    return bool(_DENIED_BEFORE.search(text[:start]) or _DENIED_BEHIND.search(text[end:]))
