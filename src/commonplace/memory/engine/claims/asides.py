"""Recognise sentences that set another thing apart from the one an entry speaks of."""

from __future__ import annotations

import re
from typing import Final

# "The dashboard has its own library", "This does not concern the dossiers": what such a sentence
# names is not the subject of the entry, and two entries do not share it.
_ASIDE: Final = re.compile(
    r"(?i)\b(?:(?:has|have|had|keeps?|follows?|uses?|with|by|under|on) (?:its|their|her|his|an?)"
    r" (?:own|separate|different)\b|(?:its|their) own (?!\w+ing\b)"
    r"|governed by|is (?:a )?(?:separate|another|different)|are (?:separate|different|another)"
    r"|separately|apart from (?:the|these|those|that|this|it)|another (?:matter|key|rule|setting)"
    r"|(?:not|n['\u2019]t|nothing|never) (?:\w+ )?(?:concern\w*|affect\w*|appl(?:y|ies) to)"
    r"|(?:no|any) bearing on|unrelated to|nothing to do with|unlike (?:the|its|these|those|on|in)"
    r"|concerne(?:nt)? (?:pas|que)|(?:n['\u2019]est|sont|est) pas concernée?s?"
    r"|ne (?:la|le|les) concerne(?:nt)? pas|rien à voir|contrairement (?:à|aux?)"
    r"|(?:un|une|d['\u2019])\s?autres? (?:règle|calendrier|rythme|clé|sujet|circuit|outil)"
    r"|^(?:outside|apart from|other than|en dehors d)|elsewhere|everywhere else|everyone else"
    r"|ailleurs"
    r"|^(?:all|the|les) (?:others|autres)|à part|séparément|indépendamment)\b"
)
# "Each service has its own repository" is what it says of all of them.
_EACH: Final = re.compile(r"(?i)(?:each|every|all|chaque|tous|toutes)\b")
_SAME: Final = re.compile(
    r"(?i)\b(?:no|any|nothing|aucun|aucune|nul) (?:\w+ )?(?:other|else|autre)\b|\binstead of\b"
)


def sets_another_apart(text: str) -> bool:
    """Tell whether a sentence is about something other than the subject of its entry."""
    return bool(_ASIDE.search(text)) and not _SAME.search(text) and not _EACH.match(text)
