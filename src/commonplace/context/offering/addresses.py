"""Addresses of resources, such as `file:///demo/notes/a.md`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, unquote

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

MAX_ADDRESS = 4_096
EMPTY_HOST = ":///"


class ResourceKind(StrEnum):
    """What an address points to, by its scheme."""

    INSTRUCTION = "instruction"
    MEMORY = "memory"
    FILE = "file"
    OPENAPI = "openapi"
    CONTEXT = "context"


IN_PROJECTS = (ResourceKind.FILE, ResourceKind.OPENAPI)


@dataclass(frozen=True, slots=True)
class Address:
    """An address. `key` is an id, a task, or with a project the path of a file."""

    kind: ResourceKind
    key: str
    project: str = ""

    def __str__(self) -> str:
        if self.kind in IN_PROJECTS:
            return f"{self.kind}:///{quote(self.project, safe='')}{quote(self.key)}"
        return f"{self.kind}:///{quote(self.key, safe='')}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse an address. Raises INVALID_ARGUMENT."""
        scheme, found, rest = text.partition(EMPTY_HOST)
        if not found or not rest or len(text) > MAX_ADDRESS or scheme not in set(ResourceKind):
            raise not_an_address(text)
        kind = ResourceKind(scheme)
        if kind not in IN_PROJECTS:
            return cls(kind, unquote(rest))
        project, slash, path = rest.partition("/")
        if not project or not slash or not path:
            raise not_an_address(text)
        return cls(kind, f"/{unquote(path)}", unquote(project))


def not_an_address(text: str) -> CommonplaceError:
    """Return the error of an address that cannot be read."""
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"{text[:120]!r} is not the address of a resource.",
        hint="Use one of the templates that resources/templates/list returns, such as "
        "file:///PROJECT/PATH.",
        details={"field": "uri"},
    )
