"""ULIDs: 26 Crockford characters, a millisecond clock and 80 random bits, increasing within a
process.
"""

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
    """Ids in the order they were made: within one millisecond the random part counts up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def next(self, moment: datetime) -> str:
        milliseconds = int(moment.timestamp() * 1000)
        with self._lock:
            stamp, number = self._last
            if milliseconds > stamp:
                stamp, number = (
                    milliseconds,
                    secrets.randbits(RANDOM_BITS - 1),
                )  # headroom to count up in
            else:
                number += 1
            self._last = (stamp, number)
        return encode(stamp << RANDOM_BITS | number)


def encode(value: int) -> str:
    return "".join(ALPHABET[value >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))


def is_ulid(text: str) -> bool:
    """A whole id as we write it. The first character holds three bits only."""
    return len(text) == LENGTH and text[0] <= "7" and _PREFIX.fullmatch(text) is not None


def read_prefix(text: str) -> str | None:
    """What a person typed, as ids are written; None when it cannot begin an id or is too short
    to name one.
    """
    prefix = text.strip().upper().translate(_READ)
    return prefix if _PREFIX.fullmatch(prefix) else None
