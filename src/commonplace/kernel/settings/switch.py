"""A setting that can be changed while the product runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Switch:
    """A boolean that is read at every call, so that a change takes effect at once."""

    on: bool

    def __call__(self) -> bool:
        return self.on
