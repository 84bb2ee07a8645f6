"""ULIDs: 26 Crockford characters of a millisecond clock and 80 random bits."""

from __future__ import annotations

import re
import secrets
import threading
from datetime import datetime

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 26
MINIMUM_PREFIX = 5
RANDOM_BITS = 80
_READ = str.maketrans("ILO", "110")
_PREFIX = re.compile(f"[{ALPHABET}]{{{MINIMUM_PREFIX},{LENGTH}}}")


class Ulids:
    """Makes increasing ids: within a millisecond the random part counts up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def next(self, moment: datetime) -> str:
        """Return an id for a moment, greater than all before."""
        milliseconds = int(moment.timestamp() * 1000)
        with self._lock:
            stamp, number = self._last
            if milliseconds > stamp:
                stamp = milliseconds
                number = secrets.randbits(RANDOM_BITS - 1)  # leaves room to count up
            else:
                number += 1
            self._last = (stamp, number)
        return encode(stamp << RANDOM_BITS | number)


def encode(value: int) -> str:
    """Write a number as an id."""
    return "".join(ALPHABET[value >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))


def is_ulid(text: str) -> bool:
    """Say whether a text is a whole id; its first character has three bits only."""
    return len(text) == LENGTH and text[0] <= "7" and _PREFIX.fullmatch(text) is not None


def read_prefix(text: str) -> str | None:
    """Normalise what a person typed; returns None if it cannot begin an id or is too short."""
    prefix = text.strip().upper().translate(_READ)
    return prefix if _PREFIX.fullmatch(prefix) else None
