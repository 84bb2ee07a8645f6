"""Words, English and French, by which the detectors tell values from subjects: opposites,
negations, units, and what names a thing.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Each side of a row cannot be true together with the other.
_OPPOSITES: tuple[tuple[str, str], ...] = (
    ("on", "off"), ("enable", "disable"), ("enabled", "disabled"), ("enables", "disables"), ("true", "false"), ("always", "never"),
    ("allow", "deny"), ("allowed", "forbidden"), ("allows", "forbids"), ("required", "optional"), ("include", "exclude"),
    ("includes", "excludes"), ("accept", "refuse"), ("accepts", "refuses"), ("accepted", "refused"), ("supported", "unsupported"),
    ("safe", "unsafe"), ("synchronous", "asynchronous"), ("public", "private"), ("mutable", "immutable"), ("activé", "désactivé"),
    ("activée", "désactivée"), ("activer", "désactiver"), ("obligatoire", "facultatif"), ("autorisé", "interdit"), ("toujours", "jamais"),
    ("vrai", "faux"), ("can", "cannot"), ("once", "twice"), ("added", "removed"), ("works", "fails"), ("stable", "experimental"),
    ("old", "new"),
)  # fmt: skip
OPPOSITE_OF = {word: other for pair in _OPPOSITES for word, other in (pair, pair[::-1])}

NEGATIONS = _words("not no never cannot without nor ne pas jamais aucun aucune sans")
FILLERS = _words("since now currently anymore depuis désormais maintenant")  # say when, not what
PHASES = _words(
    "before after during until while when once avant après pendant jusqu quand lorsque"
)  # two of them: two moments

UNITS = {
    "ms": ("time", 0.001), "millisecond": ("time", 0.001), "s": ("time", 1.0), "sec": ("time", 1.0), "second": ("time", 1.0),
    "seconde": ("time", 1.0), "min": ("time", 60.0), "minut": ("time", 60.0), "minute": ("time", 60.0), "h": ("time", 3600.0),
    "hour": ("time", 3600.0), "heure": ("time", 3600.0), "day": ("time", 86400.0), "jour": ("time", 86400.0),
    "kb": ("size", 1e3), "mb": ("size", 1e6), "m": ("size", 1e6), "gb": ("size", 1e9), "ko": ("size", 1e3), "mo": ("size", 1e6),
    "go": ("size", 1e9), "kib": ("size", 1024.0), "mib": ("size", 1024.0**2), "mi": ("size", 1024.0**2), "gib": ("size", 1024.0**3),
    "gi": ("size", 1024.0**3),
}  # fmt: skip
# What is counted: a number before one of these is an amount.
_COUNTED = _words(
    "times requests workers connections replicas retries attempts threads pods nodes instances "
    "weeks months years characters items rows "
    "entries records messages backups percent bytes fois requêtes connexions réplicas essais "
    "tentatives semaines mois ans caractères "
    "lignes éléments copies octets"
)
# A number after one of these names a thing (a ticket, a build, a day); another number is another
# thing.
_NAMING = _words(
    "pr issue build ticket incident release page line bug case run job step commit rfc pep "
    "sprint ligne étape numéro anomalie"
)
_MONTHS = _words(
    "january february march april may june july august september october november december "
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
)
_STATES = _words("is are be use uses using prefer est sont utilise utilisent utiliser préférer")
_AMOUNTS = _STATES | _words(
    "to at of after than every only to most least max min maximum minimum à de après toutes tous au"
)


def names_a_thing(before: str, after: str) -> bool:
    """Whether a number between these words is a date, or the number of a ticket or a build."""
    return before in _NAMING or before in _MONTHS or after in _MONTHS


def is_amount(before: str, after: str, number: str) -> bool:
    """Whether a number of a title is a value.

    `timeout is 30`, `limit to 10`, `3 times` are; `Python 3.9`, `HTTP 502`, `12 May` are not.
    """
    if names_a_thing(before, after):
        return False
    return before in _AMOUNTS or (
        "." not in number and (after in _COUNTED or after.rstrip("s") in UNITS)
    )


def states_a_value(before: str) -> bool:
    """Whether what follows this word in a title is what was chosen: `Use tabs`, `the default
    branch is main`.
    """
    return before in _STATES
