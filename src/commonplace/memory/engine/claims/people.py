"""Read who owns, decides or may do something: teams, roles and people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from commonplace.memory.engine.claims.synonyms import read_word
from commonplace.memory.engine.lexicon import words

_ARTICLE: Final = r"(?i:the |our |an? |your |their |l['\u2019]|la |le |les |un |une |notre )?"
_KIND: Final = r"(?i:équipe |team |squad |guild )?"
_NAME: Final = r"((?:[A-ZÉ][\w&-]*)(?: (?:and |& )?[A-ZÉ][\w&-]*){0,2})"
# A role, such as "a team lead" or "two backend engineers": up to three words.
_ROLE: Final = r"((?:[\w-]+)(?: (?:d[eu] |of |d['\u2019])?[\w-]+){0,2})"
# What a person or a team is of a thing.
_OWNER: Final = (
    r"(?i:(?:co-|code |main |sole |technical |product )?"
    r"(?:owners?|maintainers?|leads?|responsible|in charge|accountable|contact|contact person"
    r"|point of contact|go-to person|caretaker|steward|custodian|responsables?|propriétaires?"
    r"|mainteneu(?:r|se)|référente?|pilote|interlocut(?:eur|rice)|contacts?))"
)
_OF: Final = r"(?i:technique |product |principale? |fonctionnel(?:le)? )?"
_GOES: Final = (
    r"(?i:questions?|requests?|bugs?|tickets?|issues?|problems?|incidents?|changes?|demandes?"
    r"|anomalies)"
)

_MAY: Final = (
    r"(?i:can|may|is allowed|are allowed|is permitted|are permitted|ha(?:s|ve) the right"
    r"|peu(?:t|vent)|(?:a|ont) le droit)\b"
)
MAY: Final = "who may"
ONLY: Final = "who alone may"
ALONE: Final = "only"
_ACT_TERMS: Final = 2  # a verb and its object
_ALONE: Final = words("only seul seule seuls seules")
_MAY_DO: Final = re.compile(_MAY)
_RESERVED: Final = re.compile(
    r"(?i)\b(?:is |are |est |sont )?(?:reserved (?:for|to)|restricted to|limited to"
    r"|réservée?s? (?:à|aux?))\b"
)
_CLAUSE: Final = re.compile(r"[.,;:]")
_WORD: Final = re.compile(r"[^\W_][\w-]*")
_PATTERNS: Final = (
    (
        "owner",
        re.compile(
            r"\b(?i:owned by|maintained by|belongs? to|responsibility of|looked after by|run by"
            r"|operated by|handed over to|taken over by|in the hands of|carried by|managed by"
            r"|taken care of by|cared for by|led by|kept up by|administered by|lies with"
            r"|rests with|sits with|falls to|is up to|handled by|in the care of"
            r"|maintenue?s? par|tenue?s? par|appartient à|appartiennent à|gérée?s? par"
            r"|reprise?s? par|confiée?s? à|portée?s? par|assurée?s? par|revient à|vont à|va à"
            r"|pilotée?s? par|suivie?s? par|administrée?s? par|entre les mains de"
            r"|sous la responsabilité de|du ressort de|prise?s? en charge par"
            r"|c['\u2019]est)\s+" + _ARTICLE + _KIND + _NAME
        ),
    ),
    (
        "owner",
        re.compile(
            r"\b" + _ARTICLE + _KIND + _NAME + r"(?: (?i:team|squad|guild|crew|group|desk))?,? "
            r"(?i:now )?(?i:owns?\b|maintains?\b|looks? after|takes? care of|leads? the\b"
            r"|runs? the\b"
            r"|answers? for|is on call|carries the pager|took over|has taken over"
            r"|(?:who |qui |en )?(?:is|are|est|sont) (?:now |the |our |its |l['\u2019]|la |le |les "
            r"|désormais |en )?" + _OWNER + r"\b|who (?:owns?|maintains?|looks? after|runs?)\b"
            r"|a la charge|a en charge|(?:qui )?(?:maintient|gère|tient|pilote|administre"
            r"|prend en charge|assure|suit)\b|a repris|(?:qui )?s['\u2019](?:en )?occupe)"
        ),
    ),
    (
        "owner",
        re.compile(
            r"\b(?i:ask|contact|ping|talk to|write to|questions to|reach|reach out to"
            r"|get in touch with"
            r"|escalate to|s['\u2019]adresser à|adressez-vous à|demandez à|demander à|turn to"
            r"|voir avec|contacter|prévenir|contactez|prévenez|écrivez à|écrire à|parlez à"
            r"|voyez avec)\s+" + _ARTICLE + _KIND + _NAME
        ),
    ),
    (
        "owner",
        re.compile(
            r"\b(?:go(?:es)? to the "
            + _NAME
            + r" (?:team|squad|guild)\b|"
            + _GOES
            + r" [^.;:,]{0,60}?\b(?:goe?s? to|should go to|vont à|sont à adresser à|to) "
            + _ARTICLE
            + _KIND
            + _NAME
            + ")"
        ),
    ),
    (
        "owner",
        re.compile(
            r"(?:\b(?i:the|our|its|le|la|l['\u2019]|son|notre) |^|: )"
            + _OF
            + _OWNER
            + r"(?: (?i:of|for|du|de|des) [^.;:,]{1,50}?)?(?: (?i:is|est|sont|are)| ?:|,) "
            + _ARTICLE
            + _KIND
            + _NAME
        ),
    ),
    (
        "owner",
        re.compile(
            _NAME + r" ?[:,;-]{1,2} ?(?i:c['\u2019]est (?:lui|elle)|he is|she is|who is|qui est)"
            r" (?:qui (?:en )?(?:est )?)?(?:the |our |its |le |la |l['\u2019])?"
            r"(?:" + _OWNER + r"|gère|s['\u2019]en occupe|maintient)\b"
        ),
    ),
    (
        "approver",
        re.compile(
            r"\b(?i:(?:approved|validated|signed off|authori[sz]ed|decided|accepted|granted"
            r"|confirmed|released|cleared)"
            r" (?:in advance |first )?by"
            r"|(?:approval|sign-?off|agreement|consent|go-ahead|permission)"
            r" (?:of (?=an? |the )|from|by)|validation (?:from|by)|signs? off with"
            r"|(?:validée?s?|approuvée?s?|autorisée?s?|décidée?s?|arrêtée?s?|accordée?s?|signée?s?)"
            r" par|(?:accord|aval|contresignature|feu vert) (?:de|du|d['\u2019]))\s+"
            + _ARTICLE
            + _KIND
            + _ROLE
        ),
    ),
    (
        "approver",
        re.compile(
            r"\b(?i:approbation|validation) (?i:de |du |d['\u2019])" + _ARTICLE + _KIND + _NAME
        ),
    ),
    (
        "approver",
        re.compile(
            r"(?:^|[,;:] |\b(?i:only|is|that|needs?|requires?|without|it is|est) "
            r"|\b[cC]['\u2019]est )" + _ARTICLE + _KIND + _ROLE + r" (?i:team |who |that )?"
            r"(?i:(?:must |can |may |has to |have to |alone )?(?:approves?|signs? off"
            r"|authori[sz]es?|validates?|decides?)\b|has the last word|gives? the go-ahead"
            r"|(?:qui )?(?:doit )?(?:valide(?:r|nt)?|approuve(?:r|nt)?|arrête|tranche|arbitre"
            r"|autorise|décide)\b)"
        ),
    ),
    (
        ONLY,
        re.compile(
            r"\b(?i:only|seuls?|seules?) "
            + _ARTICLE
            + _KIND
            + r"((?:[\w-]+)(?: (?!can\b|may\b|peu)[\w-]+){0,2}) "
            + _MAY
        ),
    ),
    (
        ONLY,
        re.compile(
            r"\b(?i:reserved (?:for|to)|restricted to|limited to|réservée?s? (?:à|aux?))"
            r" (?i:the |la |le |les |l['\u2019])?((?:[\w-]+)(?: [\w-]+)?)"
        ),
    ),
    (
        MAY,
        re.compile(
            r"(?:^|[,;:] )"
            + _ARTICLE
            + r"((?:[\w'\u2019-]+)(?: (?!can\b|may\b|peu)[\w-]+){0,3}) "
            + _MAY
            + r"(?! not|not| pas)"
        ),
    ),
)
_NOT_NAMES: Final = words(
    "i we you it they he she this that these those there here who what which if when then before "
    "after always never only please don do not no every each all any on in at by as for from "
    "nobody anyone someone everyone je tu il elle nous vous ils elles ce cela qui que si quand "
    "équipe team squad équipes teams guild avant après toujours jamais ne pas chaque tout toute "
    "tous toutes personne the le la les un une a an ask contact to and or et ou "
    "questions question it's its c'est c est can may must is are est sont her him them"
)


def find_people(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield who owns, approves or may do something: kind, who, start and end.

    Who alone may do something is "only" them.
    """
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            group = match.lastindex or 1
            who = match[group].split()
            if kind == MAY:
                if who[0].casefold() in _ALONE:
                    continue
            else:
                while who and who[0].casefold() in _NOT_NAMES:
                    who.pop(0)
                while who and who[-1].casefold() in _NOT_NAMES:
                    who.pop()
            if not who:
                continue
            name = " ".join(who).casefold()
            if kind == ONLY:
                kind, name = MAY, f"{ALONE} {name}"
            yield kind, name, match.start(group), match.end(group)


def may_do_the_same(text_a: str, text_b: str) -> bool:
    """Say whether two sentences about who may do something speak of the same act."""
    act_a, act_b = _find_act(text_a), _find_act(text_b)
    first_a, first_b = set(act_a[:_ACT_TERMS]), set(act_b[:_ACT_TERMS])
    return bool(first_a and first_b) and (first_a <= set(act_b) or first_b <= set(act_a))


def _find_act(text: str) -> list[str]:
    """Return the terms of what somebody may do."""
    if match := _RESERVED.search(text):
        act = text[: match.start()]
    elif match := _MAY_DO.search(text):
        act = _CLAUSE.split(text[match.end() :])[0]
    else:
        return []
    return [term for word in _WORD.findall(act.casefold()) for term in read_word(word)[:1]]
