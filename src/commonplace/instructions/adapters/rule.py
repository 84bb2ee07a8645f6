"""A rule without a client: what it says, and when it applies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import orjson

from commonplace.kernel.json_types import Json

HASH_LENGTH = 16


class RuleActivation(StrEnum):
    """When a client gives a rule to its model."""

    ALWAYS = "always"
    GLOB = "glob"
    DESCRIPTION = "description"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class PortableRule:
    """A rule that every format can be read into and written from.

    `globs` are over paths of the repository; `!` takes back. `header` has the fields of the
    format (`dialect`) that mean nothing elsewhere, such as Copilot's `excludeAgent`.
    """

    text: str
    activation: RuleActivation = RuleActivation.ALWAYS
    globs: tuple[str, ...] = ()
    title: str = ""
    description: str = ""
    header: Mapping[str, Json] = field(default_factory=dict)
    dialect: str = ""

    @property
    def hash(self) -> str:
        """Hash of everything that a rule file can say."""
        said = [
            self.text,
            self.activation.value,
            self.globs,
            self.title,
            self.description,
            self.header,
        ]
        return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def hash_text(text: str) -> str:
    """Return the short hash that ownership markers carry."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
