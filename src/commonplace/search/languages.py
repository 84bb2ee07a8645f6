"""Which language a text in Latin script is written in, judged by its commonest words.

A text must have several words that are common in one language, more than it has English ones and
more than it has of any other language; otherwise the detector stays out. That costs little: words
get their English stems in any case, so a text and a query meet even if only one of them was judged.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

import Stemmer

MIN_SIGNS = 2  # distinct common words; one could be a name, or a word of English or of code
FRENCH = "french"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH_SIGNS = _set(
    """
    and are as be by can do does for from has have how if in is it of that the this to was were
    what when where which who why will with you
    """
)
# Accents are not folded here. Single letters are left out, because code is full of them.
SIGNS = {
    FRENCH: _set(
        """
        au aux avec ce ces cette comment dans de des du elle en est et il je la le les leur mais
        ne nous ou où par pas pour pourquoi quand que quel quelle qui se ses sont sur un une
        vous à été être l d qu
        """
    ),
    "german": _set(
        """
        aber alle als am auch auf aus bei beim bis das dass dem den der des die dürfen ein eine
        einem einen einer er es für geht gibt hat ich ihr im ist kann kein keine man mehr mit
        muss nach nicht nie noch nur oder ohne sein sich sie sind so über um und uns unter vom
        von vor wann war warum was weil welche welchem welchen welcher wenn wer werden wie wieso
        wir wird wo wohin zu zum zur zwischen
        """
    ),
    "spanish": _set(
        """
        al antes aquí como con cómo cuando cuándo cuánto cuántos cuál de del desde después donde
        dónde el ella en entre es esta este está están fue hace hasta hay la las lo los más me
        mi muy nunca para pero por porque pueden puede qué que quien quién se según ser sin
        sobre son su sus también tiene todo todos tras un una uno unos ya
        """
    ),
    "portuguese": _set(
        """
        ao aos até as com como da das de depois do dos ela ele em entre essa esse esta está foi
        há isso já mais mas mesmo muito na não nas no nos nunca onde ou os para pela pelo pode
        por porque quando qual que quem são se sem ser seu seus sobre sua também tem têm um uma
        você
        """
    ),
    "italian": _set(
        """
        agli ai al alla alle anche che chi come con cosa cui da dal dalla degli dei del della
        delle deve di dopo dove gli ha hanno il in io la le loro ma mai nei nel nella non
        ogni per perché più può prima quale quali quando quanto quello questa questo se senza si
        sono su sul sulla suo tra tutti un una uno
        """
    ),
    "dutch": _set(
        """
        aan als bij dat de deze die dit door een en er geen gaat haar heeft hebben het hij hoe
        hun ik is kan kunnen maar mag meer met moet na naar niet nog om onder ook op over te tot
        tussen uit van veel voor waar waarom wanneer wat we welke wel werd wie wij worden wordt
        ze zijn zonder
        """
    ),
    "swedish": _set(
        """
        aldrig alla att av bara blir den det dem denna dessa du där efter eller en ett från får
        för ha har hur här inte innan kan man med men mellan måste nej ni när och om på sedan
        ska som så till under upp utan vad var varför vem vi vid vilka vilken än är över
        """
    ),
    "danish": _set(
        """
        af aldrig alle at blev bliver da de den denne der det dette du efter eller en er et for
        fra få ham har hun hvad hvem hvis hvor hvordan hvorfor hvornår ikke inden jeg kan man
        med mellem men mod må når og også om op over på skal som så til uden ud under var ved vi
        """
    ),
    "norwegian": _set(
        """
        av aldri alle at ble blir da de den denne der det dette du eller en er et etter for fra
        få før ham har hun hva hvem hvis hvor hvordan hvorfor ikke jeg kan man med mellom men
        mot må nå når og også om opp over på skal som så til uten ut under var ved vi
        """
    ),
    "finnish": _set(
        """
        ei eivät ennen että heidän hän ja jälkeen joka jos kanssa koska kuin kuinka kun kuka me
        mikä miksi milloin missä miten mitä mutta mukaan myös ne niin nyt ole oli olla on ovat
        sekä se siitä sitä tai tämä vain vielä voi
        """
    ),
    "romanian": _set(
        """
        acest această aceste care când către ce cine cu cum de din după este fără fi fost iar în
        între la mai nu ori pe pentru poate prin sau să se sunt și trebuie unde unei unui
        """
    ),
    "polish": _set(
        """
        aby ale bez być był była było co czy dla do gdy gdzie ich ile jak jaka jaki jakie jest
        jeśli już kiedy kto która które który lub ma może można na nad nie niż od po pod przed
        przez przy są się tak także tego ten to tylko tym we wszystkie za że
        """
    ),
    "hungarian": _set(
        """
        az azt csak egy és ez ezt hogy hogyan hol kell lehet mert mely miért mikor mint minden
        mit nem pedig szerint után vagy van volt
        """
    ),
    "turkish": _set(
        """
        ama bir bu çok çünkü da daha de değil en gibi hangi her için ile ise kadar kim m\u0131
        mi ne neden nas\u0131l nerede olan olarak olur önce sadece sonra şu tüm var ve veya ya
        yok
        """
    ),
}
_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}
for _language, _words in SIGNS.items():
    for _word in _words:
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)
# Letters that decide between languages with the same common words.
_LETTERS = {
    FRENCH: re.compile(r"[àâçéèêëîïôùûœ]", re.IGNORECASE),
    "german": re.compile(r"[äöüß]", re.IGNORECASE),
    "spanish": re.compile(r"[ñ¿¡]", re.IGNORECASE),
    "portuguese": re.compile(r"[ãõ]", re.IGNORECASE),
    "swedish": re.compile(r"[äö]", re.IGNORECASE),
    "danish": re.compile(r"[æø]", re.IGNORECASE),
    "finnish": re.compile(r"ää|yy|öö", re.IGNORECASE),
    "romanian": re.compile(r"[șță]", re.IGNORECASE),
    "polish": re.compile(r"[łąęśżź]", re.IGNORECASE),
    "hungarian": re.compile(r"[őű]", re.IGNORECASE),
    "turkish": re.compile(r"[ğ\u0131şİ]", re.IGNORECASE),
}


def detect_language(text: str, words: Collection[str]) -> str | None:
    """Return the language of a text other than English; None if it is English or not clear.

    `words` are those of the text, as written.
    """
    seen = set("\n".join(words).lower().split("\n"))
    counts: dict[str, int] = {}
    for word in _LANGUAGES_OF.keys() & seen:
        for language in _LANGUAGES_OF[word]:
            counts[language] = counts.get(language, 0) + 1
    if not text.isascii():
        for language, letters in _LETTERS.items():
            if (language in counts or language == FRENCH) and letters.search(text):
                counts[language] = counts.get(language, 0) + 1
    if not counts:
        return None
    english = len(ENGLISH_SIGNS & seen)
    best = max(counts.values())
    leaders = [language for language, count in counts.items() if count == best]
    if FRENCH in leaders:  # French was stemmed before the others, and one sign was enough
        return FRENCH if best > english else None
    clear = len(leaders) == 1 and best >= MIN_SIGNS and best > english
    return leaders[0] if clear else None


@cache
def stemmer_of(language: str) -> Stemmer.Stemmer:
    """Return the stemmer of a language. Without a cache, so that it holds no state."""
    return Stemmer.Stemmer(language, 0)
