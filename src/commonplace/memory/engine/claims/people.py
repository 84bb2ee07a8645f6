"""Read who owns, decides or does something: teams, roles and people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from commonplace.memory.engine.lexicon import words

_ARTICLE: Final = r"(?i:the |our |an? |your |their |l['\u2019]|la |le |les |un |une |notre )?"
_KIND: Final = r"(?i:équipe |team |squad |guild )?"
_NAME: Final = r"((?:[A-ZÉ][\w&-]*)(?: (?:and |& )?[A-ZÉ][\w&-]*){0,2})"
# A role, such as "a team lead" or "two backend engineers": up to three words.
_ROLE: Final = r"((?:[\w-]+)(?: (?:d[eu] |of )?[\w-]+){0,2})"

_PATTERNS: Final = (
    (
        "owner",
        re.compile(
            r"\b(?i:owned by|maintained by|belongs? to|responsibility of|looked after by|run by"
            r"|operated by|handed over to|taken over by|in the hands of|carried by|managed by"
            r"|maintenue?s? par|tenue?s? par|appartient à|appartiennent à|gérée?s? par"
            r"|reprise?s? par|confiée?s? à|portée?s? par|assurée?s? par|revient à|vont à|va à"
            r"|c['\u2019]est)\s+" + _ARTICLE + _KIND + _NAME
        ),
    ),
    (
        "owner",
        re.compile(
            r"\b" + _ARTICLE + _KIND + _NAME + r"(?: (?i:team|squad|guild|crew|group|desk))?,? "
            r"(?i:now )?(?i:owns?\b|maintains?\b|looks? after|is responsible|are responsible"
            r"|is in charge|est responsable|a la charge|a en charge|maintient|gère|took over"
            r"|has taken over"
            r"|prend en charge|tient|a repris|s['\u2019]occupe|is on call|carries the pager)"
        ),
    ),
    (
        "owner",
        re.compile(
            r"\b(?i:ask|contact|ping|talk to|write to|questions to|reach"
            r"|escalate to|s['\u2019]adresser à|adressez-vous à|demandez à|demander à"
            r"|voir avec|contacter|prévenir)\s+" + _ARTICLE + _KIND + _NAME
        ),
    ),
    (
        "owner",
        re.compile(r"\bgo(?:es)? to the " + _NAME + r" (?:team|squad|guild)\b"),
    ),
    (
        "approver",
        re.compile(
            r"\b(?i:(?:approved|validated|signed off|authori[sz]ed|decided|accepted|granted)"
            r" (?:in advance |first )?by"
            r"|(?:approval|sign-?off|agreement|consent|go-ahead|validation|permission)"
            r" (?:of (?=an? |the )|from|by)|signs? off with"
            r"|(?:validée?s?|approuvée?s?|autorisée?s?|décidée?s?|arrêtée?s?|accordée?s?) par"
            r"|(?:accord|approbation|validation|aval|contresignature) (?:de|du|des|d['\u2019]))\s+"
            + _ARTICLE
            + _KIND
            + _ROLE
        ),
    ),
    (
        "approver",
        re.compile(
            r"(?:^|[,;:] |\b(?i:only|is|that|needs?|requires?|without) )"
            + _ARTICLE
            + _KIND
            + _ROLE
            + r" (?i:team )?(?i:(?:must |can |may |has to |have to )?(?:approves?|signs? off"
            r"|authori[sz]es?|validates?|decides?)\b|has the last word"
            r"|(?:qui )?(?:doit )?(?:valide(?:r|nt)?|approuve(?:r|nt)?|arrête|tranche|arbitre"
            r"|décide)\b)"
        ),
    ),
)
_NOT_NAMES: Final = words(
    "i we you it they he she this that these those there here who what which if when then before "
    "after always never only please don do not no every each all any on in at by as for from "
    "nobody anyone someone everyone je tu il elle nous vous ils elles ce cela qui que si quand "
    "équipe team squad équipes teams guild avant après toujours jamais ne pas chaque tout toute "
    "tous toutes personne the le la les un une a an ask contact to and or et ou "
)


def find_people(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield who owns or approves what a sentence speaks of: kind, who, start and end."""
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            who = match[1].split()
            while who and who[0].casefold() in _NOT_NAMES:
                who.pop(0)
            while who and who[-1].casefold() in _NOT_NAMES:
                who.pop()
            if who:
                yield kind, " ".join(who).casefold(), match.start(1), match.end(1)
