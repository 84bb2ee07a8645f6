"""A setting that can be turned while the product runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Switch:
    """Read at every call, so that turning it takes effect at once."""

    on: bool

    def __call__(self) -> bool:
        return self.on
