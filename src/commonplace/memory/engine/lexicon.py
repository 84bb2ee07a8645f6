"""English and French words by which the detectors tell values from subjects."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# The two sides of a pair cannot both be true. A word may be in several pairs.
_OPPOSITES = """
on/off enable/disable enabled/disabled enables/disables true/false always/never allow/deny
allowed/forbidden allows/forbids required/optional include/exclude includes/excludes
accept/refuse accepts/refuses accepted/refused supported/unsupported safe/unsafe
synchronous/asynchronous public/private mutable/immutable activé/désactivé activée/désactivée
activer/désactiver obligatoire/facultatif autorisé/interdit toujours/jamais vrai/faux can/cannot
once/twice added/removed works/fails stable/experimental old/new synchronously/asynchronously
optimistic/pessimistic manually/automatically inclusive/exclusive ascending/descending
publicly/privately verbose/quiet synchrone/asynchrone manuellement/automatiquement public/privé
permitted/forbidden allowed/prohibited permitted/prohibited allowed/denied allowed/banned
mandatory/optional autorisée/interdite autorisés/interdits autorisées/interdites permis/interdit
permise/interdite obligatoires/facultatifs activés/désactivés activées/désactivées
synchrones/asynchrones publics/privés publique/privée publiques/privées oui/non
facultative/obligatoire facultatives/obligatoires
"""
_PAIRS = [pair.split("/") for pair in _OPPOSITES.split()]
OPPOSITES_OF = {
    word: frozenset(b if a == word else a for a, b in _PAIRS if word in (a, b))
    for pair in _PAIRS
    for word in pair
}

NEGATIONS = words("not no never cannot without nor ne pas jamais aucun aucune sans")
FILLERS = words("yes since now currently anymore depuis désormais maintenant")  # say when, not what
# Two different ones in two sentences mean two moments.
PHASES = words("before after during until while when once avant après pendant jusqu quand lorsque")

FREQUENCIES = words(
    "hourly daily nightly weekly monthly quarterly yearly annually continuously quotidiennement "
    "mensuellement"
)

_SECONDS = {
    **dict.fromkeys(("ms", "millisecond"), 0.001),
    **dict.fromkeys(("s", "sec", "second", "seconde"), 1.0),
    **dict.fromkeys(("min", "minut", "minute"), 60.0),
    **dict.fromkeys(("h", "hour", "heure"), 3600.0),
    **dict.fromkeys(("day", "jour"), 86400.0),
}
_BYTES = {
    **dict.fromkeys(("kb", "ko"), 1e3),
    **dict.fromkeys(("mb", "m", "mo"), 1e6),
    **dict.fromkeys(("gb", "go"), 1e9),
    "kib": 1024.0,
    **dict.fromkeys(("mib", "mi"), 1024.0**2),
    **dict.fromkeys(("gib", "gi"), 1024.0**3),
}
# What a unit measures, and its factor to the base unit.
UNITS = {unit: ("time", factor) for unit, factor in _SECONDS.items()} | {
    unit: ("size", factor) for unit, factor in _BYTES.items()
}
# A number before one of these is an amount.
_COUNTED = words(
    "times requests workers connections replicas retries attempts threads pods nodes instances "
    "weeks months years characters items rows "
    "entries records messages backups percent bytes fois requêtes connexions réplicas essais "
    "tentatives semaines mois ans caractères "
    "lignes éléments copies octets partitions shards approvals reviewers approvers days hours "
    "calls orders users tokens vouchers codes digits letters columns entrées appels chiffres "
    "relecteurs personnes jours heures colonnes approbations commandes utilisateurs"
)
# A number after one of these names a thing: a ticket, a build, a page.
_NAMING = words(
    "pr issue build ticket incident release page line bug case run job step commit rfc pep "
    "cl changelist mr revision sprint ligne étape numéro anomalie"
)
_MONTHS = words(
    "january february march april may june july august september october november december "
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
)
_STATES = words("is are be use uses using prefer est sont utilise utilisent utiliser préférer")
_AMOUNTS = _STATES | words(
    "to at of after than every only to most least max min maximum minimum à de après toutes tous au"
)


def names_a_thing(before: str, after: str) -> bool:
    """Say whether a number between these words is a date or the number of a ticket or build."""
    return before in _NAMING or before in _MONTHS or after in _MONTHS


def is_amount(before: str, after: str, number: str) -> bool:
    """Say whether a number in a title is a value.

    `timeout is 30`, `limit to 10`, `3 times` are; `Python 3.9`, `HTTP 502`, `12 May` are not.
    """
    if names_a_thing(before, after):
        return False
    return before in _AMOUNTS or (
        "." not in number and (after in _COUNTED or after.rstrip("s") in UNITS)
    )


def is_counted(unit: str) -> bool:
    """Say whether a number before this word is an amount."""
    return unit in _COUNTED or unit + "s" in _COUNTED


def states_a_value(before: str) -> bool:
    """Say whether a value follows this word in a title: `Use tabs`, `the branch is main`."""
    return before in _STATES
